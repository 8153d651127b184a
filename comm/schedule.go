package comm

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/transport/sdr"
)

// schedule is the plan of one collective operation at one rank: messages and local work in
// order. It is a function of the ranks, the sizes and the operation only. Every message
// gets its number when the plan is made or reused. So replicas agree on the numbers even if
// they carry out their plans in different orders.
type schedule struct {
	c        *Comm
	of       occasion   // zero: the plan is not reused
	op       combiner   // operator of a reduction
	first    []sdr.Post // the messages before the first fence
	steps    []step
	at       int            // index in steps
	round    []sdr.Post     // messages of the current round, from steps
	posted   []sdr.Post     // first or round; nil before the first message
	requests []*sdr.Request // requests of first, and then of round
	script   *sdr.Script
	words    []uint64 // memory for intermediate results
	taken    int      // used part of words
	err      error
}

type stepKind uint8

const (
	stepSend stepKind = iota
	stepRecv
	stepFence // wait for the messages before it
	// A fence, followed by local work:
	stepCombine // combines low and high into buf
	stepCopy    // copies low into buf
	stepDo
)

type step struct {
	kind      stepKind
	peer      int
	number    uint64
	buf       []byte
	low, high []byte
	do        func()
}

// newSchedule returns an empty plan. bytes is the length on which all ranks have to agree,
// or 0.
func (c *Comm) newSchedule(o operation, root, bytes int) *schedule {
	s := c.spare()
	if s == nil {
		s = &schedule{c: c}
		s.script = &sdr.Script{Step: s.step}
	}
	s.script.Purpose, s.script.Sync = purpose(o, root, bytes), c.sync(o, root)
	return s
}

// add appends a step and returns it for the caller to fill in. A copy of a filled step
// would take longer than the rest of the work.
func (s *schedule) add(kind stepKind) *step {
	s.steps = append(s.steps, step{})
	st := &s.steps[len(s.steps)-1]
	st.kind = kind
	return st
}

func (s *schedule) send(peer int, buf []byte) {
	s.message(stepSend, peer, s.c.nextNumber(peer, false), buf)
}

func (s *schedule) recv(peer int, buf []byte) {
	s.message(stepRecv, peer, s.c.nextNumber(peer, true), buf)
}

func (s *schedule) message(kind stepKind, peer int, number uint64, buf []byte) {
	if len(s.steps) == 0 {
		s.first = s.post(s.first, kind, peer, number, buf)
		return
	}
	st := s.add(kind)
	st.peer, st.number, st.buf = peer, number, buf
}

// post adds a message to a round.
func (s *schedule) post(round []sdr.Post, kind stepKind, peer int, number uint64, buf []byte) []sdr.Post {
	n := len(round)
	if n == len(s.requests) {
		s.requests = append(s.requests, new(sdr.Request))
	}
	round = append(round, sdr.Post{})
	p := &round[n]
	p.Request, p.Data, p.Peer, p.Number, p.Receive = s.requests[n], buf, s.c.members[peer], number, kind == stepRecv
	return round
}

func (s *schedule) fence()      { s.add(stepFence) }
func (s *schedule) do(f func()) { s.add(stepDo).do = f }
func (s *schedule) copy(dst, src []byte) {
	if len(dst) > 0 && len(src) > 0 && &dst[0] != &src[0] {
		st := s.add(stepCopy)
		st.buf, st.low = dst, src
	}
}

// combine applies the operator of the reduction.
func (s *schedule) combine(into, low, high []byte) {
	st := s.add(stepCombine)
	st.buf, st.low, st.high = into, low, high
}

// memory returns n bytes, aligned for every element type, that are valid during the
// operation.
func (s *schedule) memory(n int) []byte {
	if n == 0 {
		return nil
	}
	w := (n + 7) / 8
	if s.taken+w > len(s.words) {
		s.words = make([]uint64, max(2*len(s.words), w, 64))
		s.taken = 0
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&s.words[s.taken])), n)
	s.taken += w
	return b
}

// step does local work, and returns the messages up to the next fence.
func (s *schedule) step() []sdr.Post {
	if s.posted == nil && len(s.first) > 0 {
		s.posted = s.first
		return s.posted
	}
	if s.collect(); s.err != nil && errors.Is(s.err, sdr.ErrMismatch) {
		s.script.Failed = true
		return nil
	}
	s.round = s.round[:0]
	for s.at < len(s.steps) {
		st := &s.steps[s.at]
		if st.kind >= stepFence && len(s.round) > 0 {
			break
		}
		switch st.kind {
		case stepSend, stepRecv:
			s.round = s.post(s.round, st.kind, st.peer, st.number, st.buf)
		case stepCombine:
			s.op.combine(st.buf, st.low, st.high)
		case stepCopy:
			copy(st.buf, st.low)
		case stepDo:
			st.do()
		}
		s.at++
	}
	s.posted = s.round
	return s.posted
}

// collect checks the results of the messages of the previous round. After an error the operation
// continues to its end, so that the other ranks do not wait for it forever. It stops early only if
// the other ranks have called a different operation.
func (s *schedule) collect() {
	for i := range s.posted {
		if _, err := s.posted[i].Request.Result(); err != nil && s.err == nil {
			s.err = err
		}
	}
}

// startPlan begins a collective operation.
func (c *Comm) startPlan(s *schedule) { c.engine.Start(c.coll, s.script) }

// finishPlan waits for the end of a collective operation.
func (c *Comm) finishPlan(s *schedule) error {
	call := s.script.Call()
	if _, err := c.engine.Wait(call); err != nil {
		return err // the engine still uses s
	}
	err := s.err
	c.keep(s)
	return err
}

// run carries out a collective operation. If err is not nil, the operation was not planned,
// and run returns err.
func (c *Comm) run(o operation, s *schedule, err error) error {
	if err == nil {
		if ob := c.engine.Observer(); ob != nil {
			defer ob.Called(sdr.Any, sdr.Any, s.script.Purpose>>lengthBit)()
		}
		c.startPlan(s)
		err = c.finishPlan(s)
	}
	if err != nil {
		return c.failed(o.call(), o.String(), err)
	}
	return nil
}

// begin begins a collective operation.
func (c *Comm) begin(o operation, s *schedule, err error) *Request {
	r := &Request{c: c, kind: collective, active: true, of: o}
	if err != nil {
		r.err = fmt.Errorf("%v: %w", o, err)
		return r
	}
	if ob := c.engine.Observer(); ob != nil {
		defer ob.Called(sdr.Any, sdr.Any, s.script.Purpose>>lengthBit)()
	}
	c.startPlan(s)
	r.plan, r.call = s, s.script.Call()
	r.hold()
	return r
}
