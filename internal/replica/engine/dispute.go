package engine

import (
	"errors"

	"github.com/intrahpc/intra/internal/job"
)

// errStands means that the job does not roll back although the program has failed.
var errStands = errors.New("the job does not roll back for this error")

// dispute records that this process cannot continue because of f, which silent corruption
// may have caused. Only the first such failure is kept. It returns false if the job has no
// backup to roll back to. The caller holds the lock.
func (v *verifier) dispute(f job.Failure) bool {
	if v == nil || !v.backups || v.setup.Check {
		return false
	}
	if v.counts.Dispute == nil {
		v.counts.Dispute = job.NewDispute(f, v.at()+1, v.sharing.generation)
	}
	return true
}

// disputeSince replaces the recorded failure by an error from before safe point below,
// unless the recorded one is from earlier. The caller holds the lock.
func (v *verifier) disputeSince(below uint64, f job.Failure) {
	if d := v.counts.Dispute; d.Below == 0 || below < d.Below {
		v.counts.Dispute = job.NewDispute(f, d.Point, d.Generation)
		v.counts.Dispute.Below = below
	}
}

// at returns the number of the last safe point that the program has reached.
func (v *verifier) at() uint64 {
	if p := v.passed.Load(); p != nil {
		return p.points.Load()
	}
	return 0
}

// disputeFailure reports a failure of the program that a wrong result may have caused. It waits
// until the head decides whether the job rolls back or fails.
func (e *Engine) disputeFailure(err error) error {
	e.mu.Lock()
	disputes := !e.recovering.back.Pending() && e.ctx.Err() == nil && e.verifier.dispute(e.failure(err))
	e.mu.Unlock()
	if !disputes {
		return err
	}
	e.head.Tell(e.Snapshot)
	for {
		seen := e.changes.Load()
		e.mu.Lock()
		back, fails, wrong := e.recovering.back.Pending(), e.recovering.fails, e.err
		e.mu.Unlock()
		switch {
		case back:
			return errBack
		case fails && errors.Is(err, errStands) && wrong != nil: // err only means that fail has ended a wait of the program
			return diverged(wrong)
		case fails:
			return err
		}
		if ended := e.poller.Wait(e.ctx, func() bool { return e.changedSince(seen) }); ended != nil {
			return e.ended(ended)
		}
	}
}

// stands returns the error for which the head has decided not to roll back. It is called
// in a process whose program has returned. That process starts no more operations, and
// other processes may wait for one.
func (e *Engine) stands() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.recovering.fails {
		return nil
	}
	return diverged(e.err)
}

// fail makes the program fail, or confirms its failure. Every wait of the program ends.
// The caller holds the lock.
func (r *recovering) fail(o job.Order) {
	if o.Generation != r.member.Generation() || r.back.Pending() {
		return
	}
	if r.fails = true; r.program != nil {
		r.endRun(errStands)
		if m := r.messages.Load(); m != nil {
			m.Abort(errStands)
		}
	}
}
