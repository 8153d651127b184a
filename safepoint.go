package intra

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// ErrRollback means that the job rolls back to its last backup. Every call that blocks
// returns an error that wraps it, and sections panic with one. The program returns it
// from run; Main and Run then call run again, with Restored() true and the state of the
// backup.
var ErrRollback = engine.ErrRollback

// SafePoint declares that the registered state is all that this process needs to
// continue from here: no request and no section is open. Here replicas join, backups
// are taken, and a restored process resumes the program. It costs almost nothing while
// nothing is due.
//
// Every replica of every rank calls it equally often, at the same place, such as once
// in each pass of the outermost loop. A message sent after a safe point is not received
// before the same safe point. The program waits for receives, synchronous sends and
// collective requests before it. All members make and free communicators on the same
// side of it. No other goroutine communicates during the call.
//
// The first call ends the registration of state and returns the first error in it. If
// the error wraps ErrRollback, run has to return it.
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
	if p.varied != nil {
		check = p.vary
	}
	return p.run.SafePoint(check)
}

// Restored reports whether this process began with saved state. Then Protect fills in
// variables, the program skips their initialisation, and it continues from the safe
// point at which the state was taken. Before its first SafePoint such a process has no
// peers: sections run all tasks here, communicators that are made are those of the
// saved state, and other communication and Once are errors. Restored corresponds to
// NR_Get_state in [NR], and SafePoint, which ends that time, to NR_Set_state. A program
// cannot ask which ranks were lost, since their state is restored too and replicas may
// not differ; the report names them.
func (p *Process) Restored() bool { return p != nil && p.run.Restored() }

// resuming reports whether the process is restored and has not reached its first safe
// point.
func (p *Process) resuming() bool { return p != nil && p.run.Resuming() }
