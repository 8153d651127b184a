package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
)

// firstLife is the incarnation of the processes that start with the job.
const firstLife = 1

// process is a process of the job. Its program is a coroutine. The process handles frames
// and messages from the head between two steps of the coroutine.
type process struct {
	w        *world
	self     job.Process
	birth    uint32 // incarnation in which it began
	role     head.Role
	newcomer bool // the process replaces a dead one
	recovers bool // the head wants reports of safe points

	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	woken    bool
	deadline time.Duration // end of the present wait; 0: none
	steps    struct{ run, handleNext, give, meet, expire, speak, exit, write func() }
	lag      int // the program takes a step in one of lag possible cases
	delay    int // the process handles an event in one of delay possible cases
	reached  map[string]int

	dead     bool // killed
	declared bool // the decision that the process is dead is in the log
	known    bool // the head has certainly handled that decision
	ended    bool // the program has returned
	left     bool // the head has released the process
	stands   bool // the process stands in a cut
	departed bool // another process has its slot, or its rank has fewer replicas: it never leaves the cut
	released bool

	events   []*job.Message // messages of the head that the agent has passed on
	queue    []job.Event    // events that have arrived and are not due yet
	calls    []*process     // processes to which this one has its end of a link, but which lack theirs
	meets    []*process     // processes to which links are being made
	says     []head.Event   // events in flight to the head
	gifts    []*gift        // states that are being sent in parallel to the program
	wires    recovery.Links[*process]
	reported map[*process]bool // dead processes of whose deaths the links are informed; these links end

	taking  *taking
	cutting bool // the process is ending a cut

	account
	driver
}

var errKilled = errors.New("killed")

// newProcess starts a process, which waits for its slot.
func (w *world) newProcess(a head.Start, log *processLog) *process {
	p := &process{w: w, role: a.Role, reached: make(map[string]int), reported: make(map[*process]bool)}
	for _, old := range w.processes {
		if old.from.Node == a.Node && old.from.ID == a.ID && !old.exited {
			w.fail("%v is started, but %v has not ended", a, old)
		}
	}
	log.With = p
	p.account = account{from: a.To, log: log, handled: make(map[uint64]time.Duration)}
	p.steps.run, p.steps.handleNext, p.steps.give, p.steps.meet, p.steps.expire = p.run, p.handleNext, p.give, p.meet, p.expire
	p.steps.speak, p.steps.exit, p.steps.write = func() { w.head.receive(p) }, func() { w.head.exit(p) }, p.write
	p.assign(a.Process, a.Incarnation)
	p.lag, p.delay = w.spec.lags[w.random.IntN(len(w.spec.lags))], w.spec.lags[w.random.IntN(len(w.spec.lags))]
	if w.spec.swift {
		p.lag, p.delay = 20, 4
		if p.self.Replica == 0 {
			p.lag, p.delay = 0, 0
		}
	}
	w.processes = append(w.processes, p)
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer func() { // keep the stack, which the panic of a coroutine would lose
			if r := recover(); r != nil && r != error(errKilled) {
				w.fail("%v: panic: %v\n%s", p, r, debug.Stack())
			}
		}()
		p.live()
		p.ended = true
	})
	return p
}

// assign gives a process its slot, as far as this is decided.
func (p *process) assign(q job.Process, incarnation uint32) {
	p.self, p.birth = q, incarnation
	p.w.holders[endpoint(q, incarnation)] = p
}

// place informs the process of its slot.
func (p *process) place(s *job.Setup) {
	if s.Self != p.self || s.Incarnation != p.birth {
		p.w.fail("%v is told that it is %v, incarnation %d", p, s.Self, s.Incarnation)
	}
	p.newcomer, p.recovers, p.woken = s.Joiner, s.Recovery, s.Joiner
	p.driver = newDriver(p, s.Next)
	if s.Listen != "" {
		p.tell(&job.Message{Kind: job.KindListen, Address: "host:1"})
	}
	p.settle()
}

// start begins the run, after all processes have joined.
func (p *process) start(peers []job.Peer) {
	for _, q := range peers {
		p.wire(p.w.holders[endpoint(q.Process, q.Incarnation)])
	}
	p.woken = true
	p.begin()
}

func (p *process) String() string {
	if p.birth == firstLife {
		return p.self.String()
	}
	return fmt.Sprintf("%v#%d", p.self, p.birth)
}

func (p *process) run() {
	p.woken = false
	p.resume()
}

// expire advances the clock to the end of the wait of p.
func (p *process) expire() {
	p.w.now += max(0, p.deadline-p.now())
	p.woken = true
}

// now returns the time. It advances with every step. If no other event is possible, it
// jumps to the end of a wait.
func (p *process) now() time.Duration { return p.w.since() }

func (w *world) since() time.Duration { return w.now + time.Duration(w.steps)*time.Microsecond }

// Wake implements sdr.Waiter.
func (p *process) Wake() { p.woken = true }

// Wait implements sdr.Waiter.
func (p *process) Wait(ctx context.Context, done func() bool) error {
	for {
		switch {
		case p.dead:
			panic(errKilled)
		case ctx.Err() != nil:
			return ctx.Err()
		case done():
			return nil
		case !p.yield(struct{}{}):
			panic(errKilled)
		}
	}
}

// waitUntil is Wait up to a deadline; 0: without one.
func (p *process) waitUntil(until time.Duration, done func() bool) error {
	p.deadline = until
	defer func() { p.deadline = 0 }()
	return p.Wait(p.life, func() bool { return done() || until > 0 && p.now() >= until })
}

// Poll lets the other processes run, so that a program can poll in a loop.
func (p *process) Poll() bool {
	p.woken = true
	if p.dead || !p.yield(struct{}{}) {
		panic(errKilled)
	}
	return true
}

// pause marks a place where the driver of the machines releases its lock for a while. Any
// event may happen there.
func (p *process) pause() {
	for p.w.random.IntN(2) == 0 {
		p.Poll()
	}
}

// Gone implements sdrtest.End.
func (p *process) Gone() bool { return p.dead }

// Sends implements sdrtest.End.
func (p *process) Sends() { p.at("frame") }

// Knows implements sdrtest.End.
func (p *process) Knows(other sdrtest.End) bool { return !p.wired(other.(*process)) }

// wired reports whether p has a link to another process and does not know of its death.
func (p *process) wired(q *process) bool { return p.linkOf(q.self, q.birth) == q }

// wire records a link to a process, unless that is dead.
func (p *process) wire(q *process) bool { return p.wires.Add(q.self, q.birth, q) }

// linkOf returns the process of that incarnation (0: the one in the slot), nil if there is no link
// to it.
func (p *process) linkOf(q job.Process, birth uint32) *process {
	if l := p.wires.Find(q, birth); l != nil {
		return l.Link
	}
	return nil
}

// linkTo returns the link to a process, nil if the process is dead or has not joined yet.
func (p *process) linkTo(to job.Process) transport.Link {
	if q := p.linkOf(to, 0); q != nil {
		return p.w.link(p, q)
	}
	return nil
}

// messaging describes the process to its messaging engine.
func (p *process) messaging() sdr.Config {
	c := sdr.Config{
		Rank: p.self.Rank, Replica: p.self.Replica, Incarnation: p.incarnation, Degrees: p.w.spec.degrees,
		Link:   func(rank, replica int) transport.Link { return p.linkTo(job.Process{Rank: rank, Replica: replica}) },
		Poller: p, Context: context.Background(), Mirror: p.w.spec.mirror, Limits: p.w.spec.limits, Ordered: p.w.spec.ordered,
		Mid:       func() func() bool { return p.mid("message") },
		Reference: p.w.pasts.Of(p.self.Rank),
	}
	p.compare(&c)
	return c
}

// handleNext handles the next message from the head. A verdict is handled after all frames of
// the dead process have arrived. Later messages of the head wait for it.
func (p *process) handleNext() {
	for len(p.events) == 0 && len(p.mail) > 0 {
		p.receive(1)
	}
	if len(p.events) == 0 || p.dead {
		return
	}
	m := p.events[0]
	p.events = p.events[1:]
	switch m.Kind {
	case job.KindSetup:
		p.place(m.Setup)
		return
	case job.KindStart:
		p.start(m.Peers)
		return
	case job.KindConnect:
		p.call(m.Peers[0])
		return
	case job.KindVerdict:
		v := *m.Verdict
		p.queue = append(p.queue, v)
		p.mourn(v)
	case job.KindOrder:
		p.queue = append(p.queue, *m.Order)
	case job.KindRelease:
		p.queue = append(p.queue, job.Release{})
	case job.KindEnd:
		p.dead = true
		return
	}
	p.settle()
}

// call gives this process its end of a link. The link is made when the peer has its end,
// too.
func (p *process) call(peer job.Peer) {
	q := p.w.holders[endpoint(peer.Process, peer.Incarnation)]
	if i := slices.Index(q.calls, p); i >= 0 {
		q.calls = slices.Delete(q.calls, i, i+1)
		p.meets = append(p.meets, q)
		return
	}
	p.calls = append(p.calls, q)
}

// settle handles the events that are due.
func (p *process) settle() {
	if p.settling || p.member == nil {
		return // the process checks again later, or has no slot yet
	}
	p.settling = true
	for len(p.queue) > 0 && !p.dead && p.isDue(p.queue[0]) {
		event := p.queue[0]
		p.queue = p.queue[1:]
		switch event := event.(type) {
		case job.Verdict:
			p.died(event.Process, event.Incarnation)
			p.tell(&job.Message{Kind: job.KindHandled, Epoch: event.Epoch})
		case connected:
			if !p.wire(event.to) {
				continue // the process has died since
			}
			for _, e := range p.queue { // the death was reported before the peer was linked
				if v, ok := e.(job.Verdict); ok {
					p.mourn(v)
				}
			}
			p.reply(job.Reply{Kind: job.ReplyLinked, Process: event.to.self, Incarnation: event.to.birth})
		case job.Order:
			p.order(event)
		case job.Release:
			p.released = true
			p.changed()
		}
	}
	p.settling = false
}

func (p *process) isDue(event job.Event) bool {
	v, ok := event.(job.Verdict)
	if !ok {
		return true
	}
	q := p.linkOf(v.Process, v.Incarnation)
	if q == nil {
		return true
	}
	l := p.w.links[pair{q, p}]
	return p.reported[q] && (l == nil || l.Ended())
}

// mourn reports a death to the link to the dead process, if there is one.
func (p *process) mourn(v job.Verdict) {
	q := p.linkOf(v.Process, v.Incarnation)
	if q == nil || p.reported[q] {
		return
	}
	p.reported[q] = true
	if l := p.w.links[pair{p, q}]; l != nil {
		l.PeerDied()
	}
}

// connected is the event that a link to another process exists. It is ordered with the
// messages of the head.
type connected struct {
	job.Connected
	to *process
}

// meet completes a link. Both ends have been informed of the deaths of earlier processes
// in these slots.
func (p *process) meet() {
	n := p.w.random.IntN(len(p.meets))
	q := p.meets[n]
	p.meets = slices.Delete(p.meets, n, n+1)
	if q.dead {
		return // no process is in the slot
	}
	for _, ends := range [][2]*process{{p, q}, {q, p}} {
		ends[0].queue = append(ends[0].queue, connected{to: ends[1]})
		ends[0].settle()
	}
}

// died handles a death, after all frames of the dead process have arrived.
func (p *process) died(dead job.Process, birth uint32) {
	if q := p.w.holders[endpoint(dead, birth)]; q != nil {
		p.w.outputs.close(q)
	}
	_, holds := p.wires.Remove(dead, birth)
	p.member.Died(dead)
	delete(p.outbound, dead)
	if holds || dead == p.self && birth != p.birth { // another process lives in the slot
		p.changed()
		return
	}
	p.bury(dead)
}

// bury removes the dead process of a slot from the live ones.
func (p *process) bury(dead job.Process) {
	if _, lived := p.lives[dead]; lived {
		delete(p.lives, dead)
		if dead.Rank == p.self.Rank {
			p.machine.Dead(dead.Replica)
			p.performOnce(p.once.Dead(dead.Replica))
		}
	}
	p.changed()
	if p.msgs != nil {
		p.msgs.Dead(dead.Rank, dead.Replica)
	}
}

// reply sends replies about recovery to the head.
func (p *process) reply(rs ...job.Reply) {
	for _, r := range rs {
		p.tell(&job.Message{Kind: job.KindReply, Reply: &r})
	}
}

// tell sends a message to the head.
func (p *process) tell(m *job.Message) {
	if !p.dead {
		p.say(head.Said{From: p.from, Message: m})
	}
}

// say sends an event to the head.
func (p *process) say(e head.Event) { p.says = append(p.says, e) }
