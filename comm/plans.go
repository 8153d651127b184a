package comm

import (
	"slices"
	"unsafe"
)

// Iterative programs carry out the same few collectives repeatedly. Planning a small collective
// takes longer than sending a message, so such plans are kept. A collective of the same kind with
// the same memory has the same plan, except for the numbers of its messages.

const (
	keptPlans = 8
	keptBytes = 1 << 10 // size of the largest collective whose plan is kept
)

// occasion identifies a plan. The purpose contains the operation, the root and the length.
// A kept plan refers to its memory, so no other memory can have the same address.
type occasion struct {
	purpose    int
	send, recv *byte
}

// planFor is like newSchedule, for a collective whose plan depends only on the arguments.
// made reports that s is a kept plan, which is complete.
func (c *Comm) planFor(o operation, root, bytes int, send, recv []byte) (s *schedule, made bool) {
	of := occasion{purpose(o, root, bytes), unsafe.SliceData(send), unsafe.SliceData(recv)}
	for i := len(c.plans) - 1; i >= 0; i-- {
		if s := c.plans[i]; s.of == of {
			c.takePlan(i)
			s.renumber()
			return s, true
		}
	}
	s = c.newSchedule(o, root, bytes)
	if bytes <= keptBytes {
		s.of = of
	}
	return s, false
}

// renumber gives the messages of a kept plan the numbers for its next use.
func (s *schedule) renumber() {
	for i := range s.first {
		p := &s.first[i]
		p.Number = s.c.nextNumber(s.c.index[p.Peer], p.Receive)
	}
	for i := range s.steps {
		if st := &s.steps[i]; st.kind <= stepRecv {
			st.number = s.c.nextNumber(st.peer, st.kind == stepRecv)
		}
	}
}

// nextNumber returns the number of the next message to or from a peer.
func (c *Comm) nextNumber(peer int, receive bool) (n uint64) {
	if receive {
		n = c.received[peer]
		c.received[peer]++
	} else {
		n = c.sent[peer]
		c.sent[peer]++
	}
	return n
}

// spare returns an empty plan for reuse. If there is none, and the maximum number of plans is
// kept, it empties the least recently used one. Otherwise it returns nil.
func (c *Comm) spare() *schedule {
	i := slices.IndexFunc(c.plans, func(s *schedule) bool { return s.of == occasion{} })
	if i < 0 && len(c.plans) == keptPlans {
		i = 0 // the least recently used plan
	}
	if i < 0 {
		return nil
	}
	s := c.takePlan(i)
	s.empty()
	return s
}

// takePlan removes the plan at index i, usually the last one, from the kept plans, and returns it.
func (c *Comm) takePlan(i int) *schedule {
	s, last := c.plans[i], len(c.plans)-1
	if i < last {
		copy(c.plans[i:], c.plans[i+1:])
	}
	c.plans[last] = nil
	c.plans = c.plans[:last]
	return s
}

// keep stores a plan that has been carried out, for reuse.
func (c *Comm) keep(s *schedule) {
	s.op, s.at, s.posted, s.err = nil, 0, nil, nil
	if s.of == (occasion{}) {
		s.empty() // its memory may be large
	}
	if len(c.plans) < keptPlans {
		c.plans = append(c.plans, s)
	}
}

// empty clears a plan.
func (s *schedule) empty() {
	clear(s.first)
	clear(s.round[:cap(s.round)])
	clear(s.steps)
	s.of, s.first, s.round, s.steps, s.taken = occasion{}, s.first[:0], s.round[:0], s.steps[:0], 0
}
