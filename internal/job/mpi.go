package job

import (
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// World describes how a process has joined MPI_COMM_WORLD.
type World struct {
	Rank    int    `json:"rank"`
	Library string `json:"library,omitempty"` // name and version that the library reports
	File    string `json:"file,omitempty"`    // file name under which the library was loaded
	Level   string `json:"level,omitempty"`   // level of thread support
	Error   string `json:"error,omitempty"`   // the reason why the process could not join
}

// world is the membership of a process in MPI_COMM_WORLD.
type world interface {
	Link(peer, channel int, suspect func(error)) (transport.Link, error)
	Mourn()       // a process has died
	Close() error // to be called when all links have ended
}

// joinWorld makes this process join MPI_COMM_WORLD. It waits for all other processes. Only
// a signal ends the wait.
func (s *Session) joinWorld() error {
	w, said, err := joinMPI()
	if err != nil {
		said = World{Error: clip(err.Error())}
	}
	s.world = w
	if failed := s.conn.Write(&Message{Kind: KindWorld, World: &said}); failed != nil && err == nil {
		return failed
	}
	return err
}

// Leave leaves MPI_COMM_WORLD if this process has joined it. It must be called after all
// links have ended and the program has returned in all live processes.
func (s *Session) Leave() error {
	s.mu.Lock()
	w := s.world
	s.world = nil
	s.mu.Unlock()
	if w == nil {
		return nil
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("leave the job: %w", err)
	}
	return nil
}
