package head

import (
	"slices"
	"syscall"

	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
)

// agent is that of one host. It repeats to a successor of the head what that has
// to hear, and keeps from its processes what they have heard.
type agent struct {
	w      *world
	node   detect.ID
	lost   bool
	procs  map[job.Process]*proc // the latest, by id
	all    []*proc
	links  map[[2]job.Process]bool
	inbox  []Action   // from the head, on their way
	outbox []any      // to the head: events, and lines of output
	quiets []AskQuiet // questions that are not answered yet, whoever has asked
}

// line is one of the output of a process.
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

// deliver hands the next word to the head.
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
		a.w.hear(e)
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

// obey does what the head wants.
func (a *agent) obey(act Action) {
	switch act := act.(type) {
	case Start:
		if old := a.procs[act.ID]; old != nil && old.from == act.To {
			return // it has had that
		} else if old != nil && !old.dead {
			a.w.failf("%+v is started, and %v is not gone", act, old)
		}
		if a.w.started[act.To] {
			a.w.failf("%+v is started twice", act)
		}
		a.w.started[act.To] = true
		p := newProc(a, act)
		a.procs[act.ID] = p
		a.all = append(a.all, p)
		if a.w.spec.unreliable && (act.Role == Joiner && a.w.random.IntN(4) == 0 || act.Role == First && a.w.random.IntN(300) == 0) {
			p.dead, p.exited = true, true
			a.w.refused = a.w.refused || act.Role == First
			a.w.seen["a process cannot be started"]++
			p.tell(Started{From: p.from, Err: "no memory"}, true)
			return
		}
		p.tell(Started{From: p.from, PID: 100 + len(a.all)}, true)
	case Kill:
		if p := a.find(act.To); p != nil && a.procs[act.ID] == p {
			if act.Signal == syscall.SIGKILL || a.w.random.IntN(4) > 0 { // it may take no notice of others
				p.kill(act.Signal)
			}
		}
	case Send:
		if p := a.find(act.To); p != nil && !p.dead && p.pass(act.Message) {
			p.mail = append(p.mail, act.Message)
		}
	case AskQuiet:
		a.quiets = append(a.quiets, act)
	case Resume:
		if p := a.find(act.To); p != nil {
			p.voiced, p.generation = true, act.Generation
		}
	case Link:
		a.link(act)
	}
}

func (a *agent) link(l Link) {
	lower, higher := a.procs[l.Lower], a.procs[l.Higher]
	if lower == nil || higher == nil {
		a.w.failf("a link for processes that are not there: %+v", l)
		return
	}
	if l.Meet == nil {
		a.links[[2]job.Process{l.Lower, l.Higher}] = true
		return
	}
	for i, p := range []*proc{lower, higher} {
		if !p.dead && p.pass(&job.Message{Kind: job.KindConnect, Peers: l.Meet[1-i : 2-i]}) {
			p.mail = append(p.mail, &job.Message{Kind: job.KindConnect, Peers: l.Meet[1-i : 2-i]})
		}
	}
}

// resync says what the agent has.
func (a *agent) resync() Resync {
	r := Resync{Node: a.node}
	for _, p := range a.all {
		if a.procs[p.from.ID] == p {
			r.Processes = append(r.Processes, Resynced{ID: p.from.ID, Incarnation: p.from.Incarnation, Joined: p.hello, Begun: p.told.begun, Freed: p.told.released,
				Voiced: p.voiced, Generation: p.generation})
		}
	}
	return r
}

// repeat tells another head all that it has to hear.
func (a *agent) repeat() {
	for _, p := range a.all {
		if a.procs[p.from.ID] != p {
			continue
		}
		exited := slices.IndexFunc(p.history, func(e Event) bool { _, is := e.(Exited); return is })
		for i, e := range p.history {
			if i != exited {
				a.outbox = append(a.outbox, e)
			}
		}
		for _, e := range p.said.All() {
			a.outbox = append(a.outbox, e)
		}
		if exited >= 0 {
			a.outbox = append(a.outbox, p.history[exited])
		}
	}
}

func exitOf(signal syscall.Signal, code int) Exit {
	if signal > 0 {
		return Exit{Status: syscall.WaitStatus(signal), Text: "signal: " + signal.String()}
	}
	return Exit{Status: syscall.WaitStatus(code << 8), Text: "exit status " + string(rune('0'+code))}
}
