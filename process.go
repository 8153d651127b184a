package intra

import (
	"context"
	"fmt"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/checked"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/reduce"
	"github.com/intrahpc/intra/internal/vary"
	"github.com/intrahpc/intra/update"
)

// Process is one replica of one rank. A nil *Process is a single rank without replicas:
// every method works, and each task runs at its launch.
type Process struct {
	run    *engine.Program
	engine *engine.Engine // nil for a process that no launcher has started

	section  *section       // the open section
	spare    *section       // memory for the next section
	sites    callsite.Sites // places of sections and launches
	launches *callsite.Site // launches of the last section that was opened by hand and had tasks
	checker  update.Checker
	slots    launches
	parts    reduce.Pool    // partial results of the open section
	trial    *checked.Trial // nil unless in checked mode
	varied   *vary.Recorder // disturbs this process for intravary; nil: not used
}

func init() {
	bridge.Run = func(process any) any { return process.(*Process).program() }
	bridge.Section = func(process any) string {
		if p := process.(*Process); p != nil && p.section != nil {
			return p.section.position()
		}
		return ""
	}
}

// program returns the run of p, or nil for a nil *Process.
func (p *Process) program() *engine.Program {
	if p == nil {
		return nil
	}
	return p.run
}

func newProcess(run *engine.Program) *Process {
	if bridge.Files != nil {
		if err := run.UseFiles(bridge.Files(run).(engine.Files)); err != nil {
			run.Fail(fmt.Errorf("the positions of output files: %w", err))
		}
	}
	return &Process{run: run, engine: run.Engine(), parts: reduce.NewPool(Alloc[uint64])}
}

// tasks is the number of tasks that Tasks proposes. It is large enough to overlap updates
// with computation and to balance replicas of unequal speed, and small enough for the
// overhead to be negligible. It is the same everywhere, since results may depend on it.
const tasks = 16

// Rank returns the logical rank of this process, 0 to Size()-1.
func (p *Process) Rank() int {
	if p == nil {
		return 0
	}
	return p.run.Self.Rank
}

// Size returns the number of ranks.
func (p *Process) Size() int {
	if p == nil {
		return 1
	}
	return len(p.run.Degrees)
}

// Replica returns the number of this replica among those of its rank. Results
// must not depend on it.
func (p *Process) Replica() int {
	if p == nil {
		return 0
	}
	return p.run.Self.Replica
}

// World returns the communicator of all ranks.
func (p *Process) World() *comm.Comm {
	if p == nil {
		return comm.Self()
	}
	return p.run.World
}

// Context returns a context that is cancelled when the job ends.
func (p *Process) Context() context.Context {
	if p == nil {
		return context.Background()
	}
	return p.run.Context
}

// Progress reports that done of total passes, steps or other units are complete. total is 0
// if their number is not known. intrarun shows the progress of the rank that is furthest
// behind, with the remaining time. Each rank may count its own units, or report nothing. A
// program that counts each of its parts separately starts again from 0 with each part. The
// call costs almost nothing, and no result depends on it.
func (p *Process) Progress(done, total int) {
	if p != nil {
		p.run.Progress(done, total)
	}
}

// Tasks returns the number of tasks into which a program should cut a section. It is the
// same in every build, job and degree.
func (p *Process) Tasks() int { return tasks }

// alone reports whether each task runs at its launch, because there are neither other
// replicas nor other workers.
func (p *Process) alone() bool { return p.local() || p.engine.Serial() }

// local reports whether sections concern only this process, and are not counted.
func (p *Process) local() bool { return p == nil || p.engine == nil || p.run.Alone() }

// runAlone runs task i of s at its launch.
func (p *Process) runAlone(s *engine.Section, i int) {
	if p.local() {
		if p == nil || p.run == nil {
			s.Guard(&s.Tasks[i], s.Tasks[i].Body)
			return
		}
		p.run.RunTask(s, i)
		return
	}
	p.engine.RunAlone(s, i)
}

// refuse returns an error if it is called in the body of a task or in the function of Once.
// Not all replicas run these, but all of them would have to make the call.
func (p *Process) refuse() error {
	if p == nil || p.run == nil {
		return nil
	}
	return p.run.Refuse()
}

// open makes s the open section of p. It is also the kill point section:K.
func (p *Process) open(s *section) {
	if err := p.refuse(); err != nil {
		s.fail(err)
		return
	}
	if p.section != nil {
		s.fail(&SectionError{Section: p.section.shared.Number, Pos: s.position(),
			Err: &openError{opened: p.section.position()}})
		return
	}
	p.section = s
	p.parts.Reset()
	if !p.local() {
		p.engine.Opened(&s.shared)
		if p.trial != nil && p.trial.Opened() {
			s.check = p.trial.Section(&s.shared, s.at, s.options.Watch)
		}
	}
}

// close ends s. The next section reuses its memory, unless updates may still arrive for its
// tasks, or checked mode still needs a part of it.
func (p *Process) close(s *section) {
	if p == nil || p.section != s {
		return
	}
	p.section = nil
	if !s.completed {
		p.parts.Drop()
		p.slots = launches{}
		return
	}
	if !p.local() {
		p.engine.Closed(&s.shared)
	} else if p.run != nil {
		p.run.Repeated()
	}
	if s.check == nil {
		clear(s.shared.Tasks)
		clear(s.regions)
		p.spare = s
		p.slots.release()
	} else {
		p.slots = launches{}
	}
}

// openError reports that another section is already open. opened is the place where that
// one was opened.
type openError struct{ opened string }

func (e *openError) Error() string { return ErrOpen.Error() + ": the one opened at " + e.opened }
func (e *openError) Unwrap() error { return ErrOpen }
