package simulation

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/sdr"
	"github.com/intrahpc/intra/transport/sdr/sdrtest"
)

// firstLife is the incarnation of the processes that start with the job.
const firstLife = 1

// process is a process of the job. Its program is a coroutine; what comes over
// links and from the head is handled between two steps of it.
type process struct {
	w        *world
	self     job.Process
	birth    uint32 // incarnation in which it began
	newcomer bool   // it takes the place of a dead one

	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	woken    bool
	deadline time.Duration // it waits until then at most; 0: for ever
	steps    struct{ run, hear, give, meet, expire func() }
	lag      int // its program takes one of so many steps that it could
	deaf     int // and hears one of so many events
	reached  map[string]int

	dead           bool // killed
	gone, declared bool // and the head knows it, and has said so
	dismissed      bool
	ended          bool // its program has come to its end
	left           bool // it was released
	released       bool

	events []job.Event // from the head, on their way
	queue  []job.Event // that have come and are not due
	meets  []*process  // newcomers to which links are being made
	says   []word      // to the head, on their way
	said   []word      // to any head
	told   uint64      // the last cut that it was told to leave, as its agent knows,
	obeyed uint64      // and as it has heard
	gifts  []*gift     // states that are being sent beside the program
	wires  map[job.Process]*process

	driver
}

var errKilled = errors.New("killed")

func (w *world) newProcess(self job.Process, birth uint32, newcomer bool) *process {
	p := &process{w: w, self: self, birth: birth, newcomer: newcomer, woken: true,
		reached: make(map[string]int), wires: make(map[job.Process]*process)}
	p.steps.run, p.steps.hear, p.steps.give, p.steps.meet, p.steps.expire = p.run, p.hear, p.give, p.meet, p.expire
	p.lag, p.deaf = w.spec.lags[w.random.IntN(len(w.spec.lags))], w.spec.lags[w.random.IntN(len(w.spec.lags))]
	if w.spec.swift {
		p.lag, p.deaf = 20, 4
		if self.Replica == 0 {
			p.lag, p.deaf = 0, 0
		}
	}
	p.driver = newDriver(p)
	w.processes = append(w.processes, p)
	p.resume, p.stop = iter.Pull(func(yield func(struct{}) bool) {
		p.yield = yield
		defer func() { // a coroutine's panic would lose its stack
			if r := recover(); r != nil && r != error(errKilled) {
				w.fail("%v: panic: %v\n%s", p, r, debug.Stack())
			}
		}()
		p.live()
		p.ended = true
	})
	return p
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

// expire lets the time come for which p waits.
func (p *process) expire() {
	p.w.now += max(0, p.deadline-p.now())
	p.woken = true
}

// now is the time: it passes with every step, and jumps when somebody waits
// for a time.
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

// waitUntil is Wait until a time; 0 is never.
func (p *process) waitUntil(until time.Duration, done func() bool) error {
	p.deadline = until
	defer func() { p.deadline = 0 }()
	return p.Wait(p.life, func() bool { return done() || until > 0 && p.now() >= until })
}

// Poll lets the others run, so that a program may poll in a loop.
func (p *process) Poll() bool {
	p.woken = true
	if p.dead || !p.yield(struct{}{}) {
		panic(errKilled)
	}
	return true
}

// pause is where the driver of the machines gives up its lock for a while:
// anything may happen meanwhile.
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

// wired reports whether p has a link to another process and does not know
// that it is dead.
func (p *process) wired(q *process) bool { return p.wires[q.self] == q }

// linkTo returns the link to a process, nil if it is dead or not there yet.
func (p *process) linkTo(to job.Process) transport.Link {
	if q := p.wires[to]; q != nil {
		return p.w.link(p, q)
	}
	return nil
}

// messaging describes the process to its messaging engine.
func (p *process) messaging() sdr.Config {
	return sdr.Config{
		Rank: p.self.Rank, Replica: p.self.Replica, Incarnation: p.incarnation, Degrees: p.w.spec.degrees,
		Link:   func(rank, replica int) transport.Link { return p.linkTo(job.Process{Rank: rank, Replica: replica}) },
		Poller: p, Context: context.Background(), Mirror: p.w.spec.mirror, Limits: p.w.spec.limits,
		Mid: func() func() bool { return p.mid("message") },
	}
}

// hear takes the next word of the head: a death is handled when all that the
// dead process sent is here, and what the head says after it not before.
func (p *process) hear() {
	event := p.events[0]
	p.events = p.events[1:]
	p.queue = append(p.queue, event)
	if v, ok := event.(job.Verdict); ok {
		if q := p.wires[v.Process]; q != nil && q.birth == v.Incarnation {
			if l := p.w.links[pair{p, q}]; l != nil {
				l.PeerDied()
			}
		}
	}
	p.settle()
}

// settle does what is due.
func (p *process) settle() {
	if p.settling {
		return // it looks again
	}
	p.settling = true
	for len(p.queue) > 0 && !p.dead && p.isDue(p.queue[0]) {
		event := p.queue[0]
		p.queue = p.queue[1:]
		switch event := event.(type) {
		case job.Verdict:
			p.died(event.Process, event.Incarnation)
		case connected:
			if at := p.wires[event.to.self]; at != nil && at.birth > event.to.birth {
				continue // one that has died since was slower
			}
			p.wires[event.to.self] = event.to
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
	q := p.wires[v.Process]
	if q == nil || q.birth != v.Incarnation {
		return true
	}
	l := p.w.links[pair{q, p}]
	return l == nil || l.Ended()
}

// connected is the event that there is a link to another process. It has its
// place among what the head says.
type connected struct {
	job.Connected
	to *process
}

// meet ends the making of a link to a newcomer, at both ends, which have been
// told of the death of who was there before.
func (p *process) meet() {
	n := p.w.random.IntN(len(p.meets))
	q := p.meets[n]
	p.meets = slices.Delete(p.meets, n, n+1)
	if q.dead {
		return // nobody is there
	}
	for _, ends := range [][2]*process{{p, q}, {q, p}} {
		for slices.ContainsFunc(ends[0].events, func(e job.Event) bool { v, ok := e.(job.Verdict); return ok && v.Process == ends[1].self }) {
			ends[0].hear()
		}
		ends[0].queue = append(ends[0].queue, connected{to: ends[1]})
		ends[0].settle()
	}
}

// died: a process is dead, and all that it sent is here.
func (p *process) died(dead job.Process, birth uint32) {
	if q := p.wires[dead]; q != nil && q.birth == birth {
		delete(p.wires, dead)
	}
	if _, lived := p.lives[dead]; lived {
		delete(p.lives, dead)
		if dead.Rank == p.self.Rank {
			p.machine.Dead(dead.Replica)
		}
	}
	p.member.Died(dead)
	delete(p.outbound, dead)
	p.changed()
	if p.msgs != nil {
		p.msgs.Dead(dead.Rank, dead.Replica)
	}
}

// word is what a process says to the head.
type word struct {
	reply    *job.Reply // or:
	finished bool       // the program has returned
	drained  bool       // and nobody lacks anything of it
}

func (p *process) reply(rs ...job.Reply) {
	for _, r := range rs {
		p.say(word{reply: &r})
	}
}

func (p *process) say(w word) {
	if !p.dead {
		p.says = append(p.says, w)
	}
}
