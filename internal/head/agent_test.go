package head

import (
	"syscall"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// agent is the agent of one host. To a successor of the head it repeats the reports that the
// successor needs. It withholds messages that its processes have already received.
type agent struct {
	w      *world
	node   detect.ID
	lost   bool
	absent bool      // its host waits to join, and counts as lost until then
	doomed bool      // its host is lost when it joins
	beside detect.ID // the node of the job's start on the same host, 0 if there is none
	log    agentlog.Host[Event, *proc]
	all    []*proc
	inbox  []Action   // actions of the head, on their way
	outbox []any      // events and lines of output, on their way to the head
	quiets []AskQuiet // unanswered AskQuiet requests of all heads
}

// line is one line of the output of a process.
type line struct {
	p      *proc
	number int
}

func (a *agent) moves(all []func()) []func() {
	if a.lost {
		return all
	}
	if len(a.inbox) > 0 {
		move := func() {
			act := a.inbox[0]
			a.inbox = a.inbox[1:]
			a.obey(act)
		}
		all = append(all, move, move)
	}
	if len(a.quiets) > 0 {
		all = append(all, func() {
			q := a.quiets[0]
			a.quiets = a.quiets[1:]
			if p := a.find(q.To); p != nil && !p.dead {
				a.outbox = append(a.outbox, Quiet{From: q.To, Number: q.Number})
			}
		})
	}
	if len(a.outbox) > 0 {
		all = append(all, a.deliver, a.deliver)
	}
	for _, p := range a.all {
		all = p.moves(all)
	}
	return all
}

// deliver passes the next event or line to the head.
func (a *agent) deliver() {
	e := a.outbox[0]
	a.outbox = a.outbox[1:]
	switch e := e.(type) {
	case line:
		if o := a.w.outputs[e.p.from]; o != nil {
			o.take(a.w, e.p, e.number)
		}
		return
	case Quiet:
		if o := a.w.outputs[e.From]; o != nil {
			e.Position = o.position()
		}
		a.w.step(e)
	case Stopped:
		if p := a.find(e.From); p != nil {
			p.since = a.w.now
		}
		a.w.step(e)
	case Said:
		a.w.recordLinks(e)
		a.w.step(e)
	case Event:
		a.w.step(e)
	}
}

func (a *agent) find(from From) *proc {
	for _, p := range a.all {
		if p.from == from {
			return p
		}
	}
	return nil
}

// obey carries out an action of the head.
func (a *agent) obey(act Action) {
	switch act := act.(type) {
	case Start:
		old := a.log.Latest(act.ID)
		log := a.log.Start(processName(act.To), act.Role == First)
		if log == nil {
			return // the process has already received this
		} else if old != nil && !old.With.dead {
			a.w.failf("%+v is started before %v has exited", act, old.With)
		}
		if a.w.started[act.To] {
			a.w.failf("%+v is started twice", act)
		}
		a.w.started[act.To] = true
		p := newProc(a, act, log)
		log.With = p
		a.all = append(a.all, p)
		if a.w.spec.unreliable && (act.Role == Joiner && a.w.random.IntN(4) == 0 || act.Role == First && a.w.random.IntN(300) == 0 || a.w.late(act.ID) && a.w.random.IntN(4) == 0) {
			p.dead, p.exited = true, true
			a.w.refused = a.w.refused || act.Role == First
			a.w.seen["a process cannot be started"]++
			if a.w.late(act.ID) {
				a.w.seen["a late spare cannot be started"]++
			}
			p.tell(Started{From: p.from, Err: "no memory"})
			return
		}
		log.PID = 100 + len(a.all)
		p.tell(Started{From: p.from, PID: log.PID})
	case Kill:
		if log := a.log.Find(processName(act.To)); log != nil {
			p := log.With
			if act.Signal == syscall.SIGKILL || a.w.random.IntN(4) > 0 { // the process may ignore other signals
				p.kill(act.Signal)
			}
		}
	case Send:
		if log := a.log.Find(processName(act.To)); log != nil && log.Pass(act.Message) && !log.With.dead {
			log.With.mail = append(log.With.mail, act.Message)
		}
	case AskQuiet:
		a.quiets = append(a.quiets, act)
	case Resume:
		if log := a.log.Find(processName(act.To)); log != nil {
			log.Resume(act.Generation)
		}
	case Link:
		a.link(act)
	}
}

func (a *agent) link(l Link) {
	lower, higher := a.log.Latest(l.Lower), a.log.Latest(l.Higher)
	if lower == nil || higher == nil {
		a.w.failf("a link for processes that are not there: %+v", l)
		return
	}
	names := [2]agentlog.Name{{ID: l.Lower}, {ID: l.Higher}}
	if l.Meet != nil {
		names[0].Incarnation, names[1].Incarnation = l.Meet[0].Incarnation, l.Meet[1].Incarnation
	}
	if !a.log.Link(names[0], names[1]) || l.Meet == nil {
		return
	}
	for i, log := range []*agentlog.Process[Event, *proc]{lower, higher} {
		if p := log.With; !p.dead {
			p.mail = append(p.mail, &job.Message{Kind: job.KindConnect, Peers: l.Meet[1-i : 2-i]})
		}
	}
}

// processName returns the name by which an agent knows a process.
func processName(f From) agentlog.Name { return agentlog.Name{ID: f.ID, Incarnation: f.Incarnation} }

// resync returns the agent's report to a new head.
func (a *agent) resync() Resync {
	r := Resync{Node: a.node}
	for _, log := range a.log.All() {
		r.Processes = append(r.Processes, Resynced(log.State))
	}
	return r
}

// repeat sends another head all the messages that it needs.
func (a *agent) repeat() {
	for _, log := range a.log.All() {
		for _, s := range log.Repeat(a.w.now) {
			e := s.Seen
			if s.Message != nil {
				e = Said{log.With.from, s.Message}
				a.checkDate(log.With, s.Message)
			}
			a.outbox = append(a.outbox, e)
		}
	}
}

// checkDate checks that another head learns when a process has handled a death.
func (a *agent) checkDate(p *proc, m *job.Message) {
	if at := p.handled[m.Epoch]; m.Kind == job.KindHandled && a.w.now-m.Ago != at {
		a.w.failf("%v has handled verdict %d at %v, but its agent reports %v", p, m.Epoch, at, a.w.now-m.Ago)
	}
}

func exitOf(signal syscall.Signal, code int) Exit {
	if signal > 0 {
		return Exit{Status: syscall.WaitStatus(signal), Text: "signal: " + signal.String()}
	}
	return Exit{Status: syscall.WaitStatus(code << 8), Text: "exit status " + string(rune('0'+code))}
}
