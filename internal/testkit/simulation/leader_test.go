package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// leader drives the head of the job, as package launch does. It passes events to the head,
// by the clock of the simulation, and carries out the head's actions. Each action that
// takes time is a step of the simulation.
type leader struct {
	w      *world
	head   *head.Head // nil: the head is lost, and its successor has not started
	term   uint64     // number of earlier heads
	absent int        // steps until the successor starts

	state    *decision.State       // state that follows from the log
	asked    []decision.Entry      // proposed entries that are not in the log yet
	next     []head.Event          // results of the head's actions, handled before all other events
	start    []head.Start          // in flight to agents
	late     []head.Event          // answers that take time
	losing   []detect.ID           // hosts that are about to be declared lost
	handling *job.Reply            // reply that the head is handling
	quiets   map[uint64]*job.Reply // replies that the head handles when the process is quiet

	at       map[head.From]*process // by the names that their agents use
	joined   time.Duration          // time by the head's clock at which all processes had joined
	skipped  time.Duration          // time that the head's clock has skipped
	deciding int                    // number of proposed decisions about recovery; the head handles no reply until they are in the log
	booted   bool                   // all processes have begun
	home     detect.ID              // the node of the agent on its host, 0: none
	handing  bool                   // another host is about to become the head
	over     bool                   // the decision to end the job, or to release all processes, was made
	code     int
	truth    witness

	steps struct{ keep, start, answer, lose, tick func() }
}

// firstNode is the host of the first processes. The first head has a host of its own.
const firstNode = head.FirstHead + 1

func newLeader(w *world) *leader {
	l := &leader{w: w, state: decision.NewState(), at: make(map[head.From]*process), quiets: make(map[uint64]*job.Reply), truth: newWitness()}
	l.steps.keep, l.steps.start, l.steps.answer, l.steps.lose, l.steps.tick = l.keep, l.begin, l.answer, l.declareLost, func() { l.tick() }
	return l
}

// config describes the job to its head.
func (l *leader) config() head.Config {
	s := l.w.spec
	c := head.Config{Degrees: s.degrees, Of: make(map[job.Process]detect.ID), Link: job.LinkSHM, Replace: s.start, Backup: s.backup,
		Self: head.FirstHead, FirstHost: "h0", Replicated: s.heirs > 0 || s.kept}
	if l.term > 0 {
		c.Self = firstNode + 100 + detect.ID(l.term)
	}
	for i := range s.hosts {
		n := head.Node{ID: firstNode + detect.ID(i), Name: fmt.Sprint("h", i+1), Slots: 100}
		if s.hosts > 1 {
			n.Listen = "host:0"
		}
		c.Nodes = append(c.Nodes, n)
	}
	for _, p := range job.Processes(s.degrees) {
		if !s.isVacant(p) {
			c.Of[p] = s.node(p)
		}
	}
	for i := range s.spares {
		c.Spares = append(c.Spares, c.Nodes[i%s.hosts].ID)
	}
	if s.files.Every > 0 {
		c.Checkpoint = &head.Checkpoint{Dir: "files", Every: s.files.Every}
	}
	if s.restart != nil {
		c.Restart = "files"
	}
	if s.moves {
		l.settle(&c)
	}
	return c
}

// settle describes the host of the head, and what may leave.
func (l *leader) settle(c *head.Config) {
	s := l.w.spec
	if l.term == 0 {
		l.home = firstNode
	} else if l.home != 0 {
		c.Self = l.home
	}
	c.Home, c.Drain, c.Grace = l.home, s.hosts > 1, s.grace
	if c.Replicated {
		c.Members = []detect.ID{head.FirstHead}
		for i := 1; i < s.hosts; i++ {
			c.Members = append(c.Members, firstNode+detect.ID(i))
		}
		if l.term == 0 {
			l.state.Members = slices.Clone(c.Members)
		}
	}
	if s.ranged {
		c.Least = slices.Repeat([]int{1}, len(s.degrees))
	}
	for _, g := range l.w.guests {
		if g.beside != 0 && g.beside == l.home {
			c.Beside = append(c.Beside, g.node)
		}
	}
}

// boot makes all processes join and begin.
func (l *leader) boot() {
	l.head = head.New(l.config())
	l.step(head.Begin{})
	for moved := true; moved; {
		moved = false
		for len(l.start) > 0 {
			l.begin()
		}
		for _, p := range l.w.processes {
			for len(p.says) > 0 {
				l.receive(p)
				moved = true
			}
			for len(p.events)+len(p.mail) > 0 {
				p.handleNext()
				moved = true
			}
		}
		for len(l.asked) > 0 {
			l.keep()
			moved = true
		}
	}
	l.booted = true
}

// now returns the time of the head's clock.
func (l *leader) now() time.Duration {
	return time.Duration(l.w.spec.slow)*l.w.since() + l.skipped
}

// ended reports whether the job is over.
func (l *leader) ended() bool { return l.head != nil && l.head.Ended() }

// step passes an event to the head, followed by the events that result from its actions.
func (l *leader) step(e head.Event) {
	if l.head != nil {
		l.perform(l.head.Step(e, l.now()))
	}
}

// perform carries out actions of the head, and passes their immediate results to the head.
func (l *leader) perform(acts []head.Action) {
	l.do(acts)
	for len(l.next) > 0 {
		e := l.next[0]
		l.next = l.next[1:]
		if c, ok := e.(head.Committed); ok {
			l.apply(c.Entry)
		}
		l.do(l.head.Step(e, l.now()))
	}
	l.catchUp()
}

// moves lists the possible events at the head. all includes those that take time.
func (l *leader) moves(list []func(), all bool) []func() {
	w := l.w
	if l.head == nil {
		if l.absent--; l.absent <= 0 || all {
			w.succeed()
		}
	}
	if len(l.start) > 0 {
		list = append(list, l.steps.start)
	}
	if len(l.losing) > 0 && (all || w.random.IntN(20) == 0) {
		list = append(list, l.steps.lose)
	}
	for _, p := range w.processes {
		if len(p.writing) > 0 && !p.dead {
			list = append(list, p.steps.write)
		}
		switch {
		case l.head == nil || p.lost:
		case len(p.says) > 0:
			list = append(list, p.steps.speak)
		case !p.exited && (p.dead || p.left):
			list = append(list, p.steps.exit)
		}
	}
	if l.head == nil {
		return list
	}
	if think := w.spec.think; len(l.asked) > 0 && (all || think == 0 || w.random.IntN(think) == 0) {
		list = append(list, l.steps.keep)
	}
	if len(l.late) > 0 {
		list = append(list, l.steps.answer)
	}
	if at, ok := l.head.Deadline(); ok && (at <= l.now() || w.rifts > 0 && !l.over && w.random.IntN(50) == 0) {
		list = append(list, l.steps.tick)
	}
	if l.handing && w.others(l.home) && w.random.IntN(5) == 0 {
		list = append(list, l.handOver)
	}
	if w.spec.moves && w.random.IntN(10) == 0 {
		if f := l.removal(); f != nil {
			list = append(list, f)
		}
	}
	if l.isStruck(w.spec.steady, 20) {
		list = append(list, w.loseHead)
	}
	return list
}

// tick advances the clock to the deadline for which the head waits, if there is one.
func (l *leader) tick() bool {
	if l.head == nil {
		return false
	}
	at, ok := l.head.Deadline()
	if ok {
		l.skipped += max(0, at-l.now())
		l.step(head.Tick{})
	}
	return ok
}

// answer passes a delayed answer to the head.
func (l *leader) answer() {
	e := l.late[0]
	l.late = l.late[1:]
	if p, ok := e.(head.Published); ok {
		l.w.disk.whole[p.Set.Number] = true
		l.w.seen["files published"]++
	}
	l.step(e)
}

// do carries out actions of the head, in order.
func (l *leader) do(acts []head.Action) {
	for _, a := range acts {
		switch a := a.(type) {
		case head.Start:
			l.start = append(l.start, a)
		case head.Kill:
			l.kills(a)
			l.mail(a.To, a)
		case head.Send:
			l.sends(a)
			l.mail(a.To, a)
		case head.Link:
			if a.Meet != nil { // otherwise the ends of the link are sent with all the others
				for _, id := range []job.Process{a.Lower, a.Higher} {
					l.mail(l.w.agent(a.Node).Latest(id).With.from, a)
				}
			}
		case head.AskQuiet:
			if l.handling != nil {
				l.quiets[a.Number] = l.handling
			}
			l.mail(a.To, a)
		case head.Resume:
			l.mail(a.To, a)
		case head.FinishOutput:
			if l.w.random.IntN(2) == 0 {
				l.next = append(l.next, head.OutputSettled{From: a.To})
			} else {
				l.late = append(l.late, head.OutputSettled{From: a.To})
			}
		case head.Propose:
			l.propose(a.Entry)
		case head.Open:
			l.next = append(l.next, l.open(a))
		case head.Publish:
			l.publishes(a)
			l.late = append(l.late, head.Published{Set: a.Set})
		case head.Discard:
			if !l.w.disk.given[a.Set] {
				l.w.fail("set %d was not abandoned and is discarded", a.Set)
			}
			delete(l.w.disk.sets, a.Set)
		case head.Free:
			l.free(a)
		case head.Admit:
			l.admit(a)
		case head.HandOver:
			l.handing = true
		}
	}
}

// mail sends a message to the agent of a process. Before that the agent starts the
// processes that it was ordered to start.
func (l *leader) mail(to head.From, a head.Action) {
	for l.at[to] == nil && slices.ContainsFunc(l.start, func(s head.Start) bool { return s.To == to }) {
		l.begin()
	}
	p := l.at[to]
	if p == nil || p.lost {
		return
	}
	if p.mail = append(p.mail, a); l.w.random.IntN(2) == 0 {
		p.receive(len(p.mail))
	}
}

// open looks for files.
func (l *leader) open(a head.Open) head.Opened {
	s, found := l.w.spec, new(decision.Folders)
	if s.files.Every > 0 {
		found.Write, found.First = &job.Files{Dir: "/files", Job: a.Job}, s.files.First
	}
	if s.restart != nil {
		found.Restart = &decision.Restart{Dir: "/files", Number: 1, Cut: s.restart.cut}
		for rank := range s.degrees {
			found.Restart.Files = append(found.Restart.Files, checkpoint.File{Rank: rank})
		}
	}
	return head.Opened{Found: found}
}

// begin makes an agent start a process.
func (l *leader) begin() {
	a := l.start[0]
	l.start = l.start[1:]
	w := l.w
	if w.lost[a.Node] {
		return
	}
	if w.gone[a.Node] {
		w.fail("%v is started on a host that has left", a)
	}
	log := w.agent(a.Node).Start(name(a.To), a.Role == head.First)
	if log == nil {
		return // an earlier head has ordered this start
	}
	p := w.newProcess(a, log)
	l.at[a.To] = p
	if a.Role == head.Joiner && w.spec.gone > 0 && w.steps >= w.spec.gone {
		w.seen["a process cannot be started"]++
		l.truth.refused = true
		p.dead, p.exited = true, true
		p.say(head.Started{From: p.from, Err: "it cannot be started"})
		return
	}
	if a.Role == head.Joiner {
		w.seen["started"]++
	}
	p.say(head.Started{From: p.from, PID: 100 + len(w.processes)})
	p.say(head.Joined{From: p.from, Hello: w.hello})
}

// receive handles the next message of the agent of a process.
func (l *leader) receive(p *process) {
	e := p.says[0]
	p.says = p.says[1:]
	if p.held > 0 {
		p.held--
	} else if l.w.succeeds() {
		p.note(e)
	}
	l.handling = nil
	switch e := e.(type) {
	case head.Said:
		if r := e.Message.Reply; r != nil {
			if l.handling = r; r.Kind != job.ReplyReady { // this reply is handled when the process is quiet
				l.truth.record(l, p, r)
			}
		}
	case head.Quiet:
		if r := l.quiets[e.Number]; r != nil && r.Kind == job.ReplyReady {
			l.truth.record(l, p, r)
		}
		delete(l.quiets, e.Number)
	}
	l.step(e)
	l.handling = nil
}

// exit handles the exit of a process, after all its messages.
func (l *leader) exit(p *process) {
	p.exited = true
	if l.w.succeeds() {
		p.note(p.end())
	}
	l.step(p.end())
}

// String describes the state of the head.
func (l *leader) String() string {
	return fmt.Sprintf("head: term %d present %v over %v, %d proposed %d late %d to start, lost %v, state %s",
		l.term, l.head != nil, l.over, len(l.asked), len(l.late), len(l.start), l.w.lost, l.state.Snapshot())
}
