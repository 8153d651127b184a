package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// faults kills processes on request: at a time or place (-kill), or at random (-fault weibull).
// Each kill is decided before it happens, so that a successor neither repeats nor omits it.
type faults struct {
	*desk
	members  *members
	schedule *schedule // schedule of -fault weibull; nil if there is none
}

// armKills sets timers for the kills that are due at a time. Victims detect the other kill
// points themselves.
func (fs *faults) armKills() {
	for i, k := range fs.config.Kills {
		if _, fired := fs.state.Fired[i]; k.Point == job.KillAfter && !fired {
			fs.after(k.After-fs.elapsed(), timer{kind: scheduledKill, kill: i})
		}
	}
}

// killOnRequest proposes a kill that is due.
func (fs *faults) killOnRequest(i int) {
	m := fs.members.places[fs.config.Kills[i].Process]
	if !m.state.there() || m.ending != nil || fs.phase != working {
		return
	}
	fs.propose(decision.Entry{Kind: decision.Fired, Index: i, Process: m.process, Incarnation: m.incarnation})
}

// fired acts on the kept decision about a kill.
func (fs *faults) fired(e decision.Entry) {
	k, m := fs.config.Kills[e.Index], fs.members.holder(e.Process, e.Incarnation)
	if k.Point != job.KillAfter || !m.state.there() || m.ending != nil {
		return
	}
	m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
	fs.detailf("%v is killed on request", m.process)
	fs.kill(m)
}

// fire handles a victim's report that it has reached its kill point and kills itself.
func (fs *faults) fire(m *member, reached job.Kill) {
	for i, k := range fs.config.Kills {
		if k.Process != m.process || k != reached {
			continue
		}
		switch by, fired := fs.state.Fired[i]; {
		case fired && by != m.incarnation:
			continue
		case !fired && slices.ContainsFunc(fs.asked, func(e decision.Entry) bool { return e.Kind == decision.Fired && e.Index == i }):
			continue // proposed, but not kept yet
		case !fired:
			fs.propose(decision.Entry{Kind: decision.Fired, Index: i, Process: m.process, Incarnation: m.incarnation})
		}
		m.ending = &ending{job.CauseInjected, "killed on request at " + k.When()}
		fs.detailf("%v has reached %s", m.process, k.When())
		fs.after(lastWords, timer{kind: killMember, m: m})
		return
	}
	fs.fence(m, ending{job.CauseFenced, fmt.Sprintf("it reported a kill at %s that was not requested", reached.When())})
}
