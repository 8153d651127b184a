package engine

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// recovering restores a process after a loss, and helps other processes to recover: safe
// points, state transfers, backups, files. The lock of the node guards all fields.
type recovering struct {
	*node
	sharing *sharing
	bury    func(job.Process) // removes the dead process of a slot from the live ones

	member    *recovery.Member
	program   *Program          // nil before the program runs, and after it was ordered to roll back
	image     *checkpoint.Image // image with which the next run of the program begins
	inside    *Program          // the program, while it is in a safe point with steps to perform
	startAt   *rankPosition     // position at which the last run began; nil: the start of the job
	oldest    uint64            // Program.oldest for the next run, as known at the last cut that this process left
	joins     bool              // the run is that of a joiner, and begins at startAt
	outbound  map[job.Process]*outbound
	stopDrain context.CancelFunc
	cutAt     *rankPosition // position in the cut in which joiners were admitted
	slots     recovery.Slots[stateCopy]
	streams   uint32 // number of states sent so far
	arriving  arriving
	back      recovery.Return[stateCopy]
	fails     bool // the program has to fail, because the job does not roll back for its error
	second    secondRuns

	writer *checkpoint.Writer // writes files; nil before the first one
	saving atomic.Int64       // number of files that are being written
}

func newRecovering(n *node, h *sharing, bury func(job.Process)) *recovering {
	return &recovering{node: n, sharing: h, bury: bury,
		member: recovery.NewMember(n.setup.Self, 0, n.setup.Next), outbound: make(map[job.Process]*outbound), second: secondRuns{due: n.setup.Again}}
}

// dead records that a process has died.
func (r *recovering) dead(p job.Process) {
	r.member.Died(p)
	delete(r.outbound, p)
}

// newProgram begins a run of the program.
func (r *recovering) newProgram(e *Engine) (*Program, error) {
	world, err := newWorld(r.messages.Load())
	if err != nil {
		return nil, fmt.Errorf("make the world communicator: %w", err)
	}
	p := &Program{Self: r.setup.Self, Degrees: r.setup.Degrees, World: world, Context: r.runCtx,
		engine: e, stop: r.safePoint, resumed: r.reached}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.startAt != nil {
		p.restore(r.image, r.startAt.Point)
		p.joined, p.oldest = r.joins, r.oldest
		r.image = nil
	}
	if r.back.Pending() {
		return nil, errBack
	}
	switch {
	case len(r.setup.Again) > 0:
		p.goAgain, p.settle = r.goAgain, r.settle
	case r.sharing.keeper != nil:
		p.settle = r.sharing.keeper.safePoint
	}
	r.beginAlone(p)
	if r.sharing.verifier.compares() || r.sharing.flips != nil || r.sharing.watch != nil {
		p.compare = r.compareState
	}
	if w := r.sharing.watch; w != nil {
		w.program.Store(p)
	}
	if v := r.sharing.verifier; v != nil {
		v.passed.Store(p)
	}
	r.program = p
	p.due.Store(r.member.Due())
	return p, nil
}
