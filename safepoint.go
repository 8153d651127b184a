package intra

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// ErrRollback means that the job rolls back to its last backup. Every call that blocks
// returns an error that wraps it, and sections panic with one. The program must return it
// from run. Main and Run then call run again, with Restored() true and the state of the
// backup.
var ErrRollback = engine.ErrRollback

// SafePoint declares that the registered state is complete: with it a process can continue
// the program from here. No request and no section may be open. At safe points replicas
// join, backups are taken, and a restored process resumes the program. SafePoint costs
// almost nothing while none of these is due.
//
// Every replica of every rank must call it equally often, at the same place, such as once
// in each pass of the outermost loop. A message that is sent after a safe point must not be
// received before the same safe point. Before it the program must wait for receives,
// synchronous sends and collective requests. All members make and free communicators on the
// same side of it. No other goroutine may communicate during the call.
//
// The first call ends the registration of state and returns the first error in it. If the
// error of a call wraps ErrRollback, run must return it.
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

// Restored reports whether this process began with saved state. Then Protect sets the
// registered variables, the program skips their initialisation, and it continues from the
// safe point at which the state was saved.
//
// Before its first SafePoint such a process has no peers. Sections run all tasks in this
// process. Constructors of communicators return those of the saved state. Other
// communication and Once return errors.
//
// Restored corresponds to NR_Get_state in [NR], and the first SafePoint to NR_Set_state. A
// program cannot query which ranks were lost: their state is restored as well, and replicas
// must not differ. The report names these ranks.
func (p *Process) Restored() bool { return p != nil && p.run.Restored() }

// resuming reports whether the process is restored and has not reached its first safe
// point.
func (p *Process) resuming() bool { return p != nil && p.run.Resuming() }
