package engine

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// holding is a link that keeps updates, which refer to memory of the program, until the
// first poll after sections have begun to fail.
type holding struct {
	transport.Link
	fails func() error
	mu    sync.Mutex
	held  []*transport.Frame
	sent  chan struct{} // closed when the first update is sent
}

func (l *holding) Send(f *transport.Frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !f.Droppable {
		l.Link.Send(f)
		return
	}
	if l.held = append(l.held, f); len(l.held) == 1 {
		close(l.sent)
	}
}

func (l *holding) Progress() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) == 0 || l.fails() == nil {
		return l.Link.Progress()
	}
	for _, f := range l.held {
		l.Link.Send(f)
	}
	l.held = nil
	return true
}

func (l *holding) holds() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

// A section that fails because the job rolls back has released the memory of the program
// before it returns. The program may overwrite that memory, and a replica that does not
// know of the rollback would apply its contents as results.
func TestSectionReleasesMemoryInARollback(t *testing.T) {
	peer := job.Process{Replica: 1}
	link, done := &holding{sent: make(chan struct{})}, make(chan struct{})
	g := newGroup(t, 2, func(s *job.Setup, c *Config) {
		if s.Self != peer {
			link.Link = c.Links[peer]
			c.Links[peer] = link
		}
	})
	back := errors.New("back")
	e := g.replicas[0].engine
	link.fails = e.Err
	go func() {
		<-link.sent
		e.mu.Lock()
		e.endRun(back)
		e.mu.Unlock()
		e.changed()
	}()
	held := -1
	g.run(func(r *replica, p *Program) error {
		if r.setup.Self == peer {
			<-done // this replica never reaches the section
			return nil
		}
		defer close(done)
		x := make([]float64, 2)
		err := runSection(p, sched.Static, 2, func(task int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.Out, "x", x[task:task+1])}, Body: func() { x[task] = 1 }}
		})
		held = link.holds()
		return err
	})
	require.ErrorIs(t, g.replicas[0].err, back)
	require.Zero(t, held, "a link still reads memory of the program")
}
