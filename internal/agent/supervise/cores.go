package supervise

import (
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
)

// takeSlot gives a process a slot on the board of this host until it has ended. It does not if
// the user lets the kernel place the processes.
func (a *Agent) takeSlot(c *child, in *job.Inheritance) error {
	if a.plan.Bind == affinity.None {
		return nil
	}
	b, err := a.boardOfHost()
	if err != nil {
		return err
	}
	if slot, ok := b.Take(); ok {
		in.Board, in.Slot = b.File(), slot // the board keeps ownership of the file
		c.leave = func() { b.Free(slot) }
	}
	return nil
}

// boardOfHost returns the board, and creates it for the first process.
func (a *Agent) boardOfHost() (*affinity.Board, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.board == nil {
		b, err := affinity.NewBoard()
		if err != nil {
			return nil, err
		}
		a.board = b
	}
	return a.board, nil
}

// bind records the processors that a launcher has given to a process. They also count for its
// replacements. The agent itself is bound to the processors of only one process.
func (a *Agent) bind(p job.Process, cpus []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cpus == nil {
		a.cpus = make(map[job.Process][]int)
	}
	a.cpus[p] = cpus
}
