package comm

import (
	"slices"
	"unsafe"
)

// Programs that iterate carry out the same few collectives again and again. To plan one
// that is small takes longer than a message, so such plans are kept: the same collective of
// the same memory has the same plan, but for the numbers of its messages.

const (
	keptPlans = 8
	keptBytes = 1 << 10 // of a collective whose plan is kept
)

// occasion is what a plan depends on: the purpose has the operation, the root and the
// bytes. A plan that is kept keeps the memory, so that no other can be in its place.
type occasion struct {
	purpose    int
	send, recv *byte
}

// planFor is newSchedule for a collective whose plan depends on nothing else than these,
// and reports whether the plan is made already.
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

// renumber gives the messages of a plan their next numbers.
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

// nextNumber is that of the next message to or from a peer.
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

// spare returns an empty plan that was kept, nil if none can be spared.
func (c *Comm) spare() *schedule {
	i := slices.IndexFunc(c.plans, func(s *schedule) bool { return s.of == occasion{} })
	if i < 0 && len(c.plans) == keptPlans {
		i = 0 // nobody needed it for longest
	}
	if i < 0 {
		return nil
	}
	s := c.takePlan(i)
	s.empty()
	return s
}

// takePlan takes a plan out of those that are kept, which mostly is the last one.
func (c *Comm) takePlan(i int) *schedule {
	s, last := c.plans[i], len(c.plans)-1
	if i < last {
		copy(c.plans[i:], c.plans[i+1:])
	}
	c.plans[last] = nil
	c.plans = c.plans[:last]
	return s
}

// keep holds on to a plan that has been carried out.
func (c *Comm) keep(s *schedule) {
	s.op, s.at, s.posted, s.err = nil, 0, nil, nil
	if s.of == (occasion{}) {
		s.empty() // its memory may be large
	}
	if len(c.plans) < keptPlans {
		c.plans = append(c.plans, s)
	}
}

// empty forgets a plan.
func (s *schedule) empty() {
	clear(s.first)
	clear(s.round[:cap(s.round)])
	clear(s.steps)
	s.of, s.first, s.round, s.steps, s.taken = occasion{}, s.first[:0], s.round[:0], s.steps[:0], 0
}
