package job

import (
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// World says how a process has joined MPI_COMM_WORLD.
type World struct {
	Rank    int    `json:"rank"`
	Library string `json:"library,omitempty"` // what it says of itself
	File    string `json:"file,omitempty"`    // what it was found by
	Level   string `json:"level,omitempty"`   // of threads
	Error   string `json:"error,omitempty"`   // why it could not
}

// world is a process's part in MPI_COMM_WORLD.
type world interface {
	Link(peer, channel int) (transport.Link, error)
	Mourn()       // somebody has died
	Close() error // all links have ended
}

// joinWorld makes this process one of MPI_COMM_WORLD. It waits for all others,
// and nothing but a signal ends that.
func (s *Session) joinWorld() error {
	w, said, err := joinMPI()
	if err != nil {
		said = World{Error: clip(err.Error())}
	}
	s.world = w
	if told := s.conn.Write(&Message{Kind: KindWorld, World: &said}); told != nil && err == nil {
		return told
	}
	return err
}

// Leave leaves MPI_COMM_WORLD if this process is in it. All links have ended
// before, and so has the program in all processes that live.
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
