package simulation

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
)

// A round is a random program of messages. There is an order of its operations in which no
// rank ever waits: message i is sent at time 3i+1, its receive is posted earlier or later,
// and every rank acts in the order of these times. In an execution, independent operations
// may be in any order, which differs between replicas.
type round struct {
	tag      int // the lowest tag
	messages []*message
	classes  []*class
	waits    []*anyWait
	plans    [][]action // by rank: its actions
}

// message is one message of a round.
type message struct {
	id, from, to int
	tag, size    int
	second       bool   // sent through the second communicator
	class        *class // class of the message if wildcards receive it; nil: it is received by its source
	phase        int    // phase of the message in its class
	blocking     bool   // the send may have to wait for the receive
	sync         bool

	recv   *comm.Request
	buf    []uint64
	prompt bool // the message is received as early as possible
}

// class is a set of messages to one rank. Receives from any source may match them in any
// order within a phase. The messages of the second phase are sent after all messages of
// the first were received.
type class struct {
	members [2][]*message
	posted  bool // all receives of the class are posted first
	recvs   []*comm.Request
	bufs    [][]uint64
	taken   int // number of receives that the program has seen complete
	shown   *comm.Status
}

// anyWait waits for one of several receives, and later for the others.
type anyWait struct {
	of []*message
}

// action is one operation of a rank.
type action struct {
	time int
	do   func(x *execution) error
}

// execution is the run of one rank through a round.
type execution struct {
	w      *commtest.World
	comms  [2]*comm.Comm
	r      *round
	me     int
	entry  uint64
	unsent []*comm.Request
}

// exchange runs a round as a step of a program.
func (k *rank) exchange(w *commtest.World) error {
	x := &execution{w: w, comms: [2]*comm.Comm{w.Comm, w.Comm}, me: w.Comm.Rank(), entry: w.Sum}
	switch w.Comm {
	case k.world:
		x.comms[1] = k.traffic
	case k.traffic:
		x.comms[1] = k.world
	}
	x.r = newRound(w.Plan, w.Comm.Size())
	for _, a := range x.r.plans[x.me] {
		if err := a.do(x); err != nil {
			return fmt.Errorf("at time %d of a round: %w", a.time, err)
		}
		k.p.lull()
	}
	if err := comm.WaitAll(x.unsent...); err != nil {
		return err
	}
	for _, m := range x.r.messages {
		if m.to == x.me {
			w.Observe(m.buf)
		}
	}
	return nil
}

func newRound(plan *rand.Rand, ranks int) *round {
	// Messages of the next rounds may be in flight to a rank that is still in this round. So
	// two rounds must not use the same tags.
	r := &round{plans: make([][]action, ranks), tag: 2000 + 64*plan.IntN(1<<23)}
	for id := range 2 + plan.IntN(8) {
		m := &message{id: id, from: plan.IntN(ranks), tag: r.tag + id, size: 3 + []int{0, 2, 30, 150}[plan.IntN(4)], second: plan.IntN(2) == 0}
		if m.to = (m.from + 1 + plan.IntN(max(ranks-1, 1))) % ranks; m.from == m.to {
			continue // the job has a single rank
		}
		r.messages = append(r.messages, m)
	}
	r.classify(plan)
	for _, m := range r.messages {
		if m.class == nil {
			r.receive(plan, m)
		}
	}
	for _, c := range r.classes {
		r.receiveAny(plan, c)
	}
	for _, m := range r.messages {
		r.at(m.from, 3*m.id+1, func(x *execution) error { return x.send(m) })
	}
	for _, p := range r.plans {
		slices.SortStableFunc(p, func(a, b action) int { return cmp.Compare(a.time, b.time) })
	}
	return r
}

func (r *round) at(rank, time int, do func(x *execution) error) {
	r.plans[rank] = append(r.plans[rank], action{time, do})
}

// end returns a time at or after that of a message.
func (r *round) end(plan *rand.Rand, m *message) int {
	last := r.messages[len(r.messages)-1].id
	return 3*(m.id+plan.IntN(last-m.id+1)) + 2
}

// classify puts some messages to one rank into classes. The second of two messages may be
// in a later phase if that rank sends a message to its sender in between.
func (r *round) classify(plan *rand.Rand) {
	of := make(map[[2]int]*class)
	for _, m := range r.messages {
		if plan.IntN(2) == 0 {
			continue
		}
		key := [2]int{m.to, 0}
		if m.second {
			key[1] = 1
		}
		c := of[key]
		if c == nil {
			c = &class{posted: plan.IntN(2) == 0}
			of[key] = c
			r.classes = append(r.classes, c)
		}
		if n := len(c.members[0]); n > 0 && plan.IntN(2) == 0 || len(c.members[1]) > 0 {
			if !r.follows(c.members[0][n-1], m) {
				continue
			}
			m.phase = 1
		}
		c.members[m.phase] = append(c.members[m.phase], m)
		m.class, m.tag = c, r.tag+20+2*m.to+key[1]
	}
}

// follows ensures that m is sent only after its receiver has received all messages up to
// last: in between the receiver sends a message for which the sender of m waits.
func (r *round) follows(last, m *message) bool {
	for _, token := range r.messages {
		if token.id > last.id && token.id < m.id && token.from == m.to && token.to == m.from && token.class == nil {
			token.prompt = true
			return true
		}
	}
	return false
}

// receive plans the receive of a message by its source. The receive is posted before the
// send or later, possibly after a probe.
func (r *round) receive(plan *rand.Rand, m *message) {
	end := r.end(plan, m)
	if m.prompt {
		end = 3*m.id + 2
	}
	switch how := plan.IntN(6); {
	case how < 3: // posted before the send
		m.blocking, m.sync = plan.IntN(2) == 0, plan.IntN(4) == 0
		r.at(m.to, 3*plan.IntN(m.id+1), func(x *execution) error { return x.post(m) })
		if len(r.waits) > 0 && !m.prompt && plan.IntN(2) == 0 {
			if a := r.waits[len(r.waits)-1]; a.of[0].to == m.to {
				a.of = append(a.of, m)
				return
			}
		}
		if !m.prompt && plan.IntN(3) == 0 { // waited for together with other receives, in order of completion
			a := &anyWait{of: []*message{m}}
			r.waits = append(r.waits, a)
			r.at(m.to, end, func(x *execution) error { return x.waitAny(a) })
			last := 3*r.messages[len(r.messages)-1].id + 2
			r.at(m.to, last, func(x *execution) error { return x.waitRest(a) })
			return
		}
		if how == 0 {
			r.at(m.to, end, func(x *execution) error { return x.test(m) })
		} else {
			r.at(m.to, end, func(x *execution) error { return x.wait(m) })
		}
	case how == 3 && !m.prompt: // shown by a probe, and received later
		r.at(m.to, end, func(x *execution) error { return x.probe(m) })
		r.at(m.to, 3*r.messages[len(r.messages)-1].id+2, func(x *execution) error { return x.take(m) })
	default:
		m.blocking = end == 3*m.id+2
		m.sync = m.blocking && plan.IntN(3) == 0
		r.at(m.to, end, func(x *execution) error { return x.take(m) })
	}
}

// receiveAny plans receives from any source for the messages of a class.
func (r *round) receiveAny(plan *rand.Rand, c *class) {
	all := slices.Concat(c.members[0], c.members[1])
	c.recvs, c.bufs = make([]*comm.Request, len(all)), make([][]uint64, len(all))
	to := all[0].to
	if c.posted {
		r.at(to, 0, func(x *execution) error {
			for i := range all {
				x.postAny(c, i)
			}
			return nil
		})
	}
	for _, m := range all {
		end := r.end(plan, m)
		if len(c.members[1]) > 0 && m.phase == 0 { // before the message that starts the next phase
			end = 3*m.id + 2
		}
		switch {
		case c.posted:
			r.at(to, end, func(x *execution) error { return x.waitForAny(c) })
		case plan.IntN(2) == 0:
			r.at(to, end, func(x *execution) error { return x.takeAny(c) })
		default:
			later := end
			if m.phase == 1 || m == all[len(c.members[0])-1] { // the next phase may start when the last message of this one was shown
				later = max(later, r.end(plan, m))
			}
			r.at(to, end, func(x *execution) error { return x.showAny(c) })
			r.at(to, later, func(x *execution) error { return x.takeAny(c) })
		}
	}
}
