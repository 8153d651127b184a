package intra

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// ErrRollback means that the job goes back to its last backup. Every call that blocks
// returns an error that wraps it, and sections panic with one. The program
// returns it from run; Main and Run then call run again, with Restored() true
// and the state of the backup.
var ErrRollback = engine.ErrRollback

// SafePoint declares that the registered state is all that this process needs
// to continue from here: no request and no section is open. Here replicas join,
// backups are taken, and a restored process takes up the program. It costs next
// to nothing while nothing is due.
//
// Every replica of every rank calls it equally often, at the same place: once
// in each pass of the outermost loop, say. A message that is sent behind a
// safe point is not received before the same one; receives, synchronous sends
// and collective requests are waited for in front of it; communicators are
// made and freed on the same side of it by all members; and no other goroutine
// communicates meanwhile.
//
// The first call ends the registration of state and returns what was wrong
// with it. An error that wraps ErrRollback is to be returned from run.
func (p *Process) SafePoint() error {
	if p == nil {
		return nil
	}
	if err := p.refuse(); err != nil {
		return err
	}
	if p.section != nil {
		return fmt.Errorf("intra.SafePoint in the section opened at %s: call it before or after", p.section.position())
	}
	if !p.run.Called() {
		var at callsite.Site
		at.Mark(0)
		p.run.CalledAt(at)
	}
	var check func(point uint64) error
	if p.trial != nil {
		var at callsite.Site
		at.Mark(0)
		check = func(point uint64) error { return p.trial.SafePoint(point, &at) }
	}
	return p.run.SafePoint(check)
}

// Restored reports whether this process began with saved state: Protect fills
// variables in, the initialisation they would get otherwise is skipped, and
// the program goes on from the safe point at which the state was taken.
// Before its first SafePoint such a process has no peers: sections run all
// tasks here, communicators that are made are those of the saved state, and
// other communication and Once are errors. It is what NR_Get_state is in [NR],
// and SafePoint, which ends that time, is NR_Set_state. Which ranks were lost a
// program does not ask, since their state comes back too and replicas may not
// differ: the report says it.
func (p *Process) Restored() bool { return p != nil && p.run.Restored() }

// resuming: the process is restored, and has not come to its first safe point.
func (p *Process) resuming() bool { return p != nil && p.run.Resuming() }
