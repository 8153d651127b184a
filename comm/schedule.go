package comm

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/intrahpc/intra/transport/sdr"
)

// schedule is the plan of one collective operation at one rank: messages and
// local work in order. It is a function of the ranks, the sizes and the
// operation only. Every message gets its number when the plan is made, so
// that replicas agree on it although they may carry their plans out in
// different orders.
type schedule struct {
	c      *Comm
	op     combiner // of a reduction
	steps  []step
	at     int
	round  []sdr.Post // the messages since the last fence
	calls  []sdr.Request
	used   int // of calls, all messages so far
	script *sdr.Script
	words  []uint64 // memory for intermediate results
	taken  int      // of words
	err    error
}

type stepKind uint8

const (
	stepSend stepKind = iota
	stepRecv
	stepFence // wait for the messages before it
	// A fence, then local work:
	stepCombine // of low and high into buf
	stepCopy    // of low into buf
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

// newSchedule returns an empty plan. bytes is the length that all ranks have to
// agree on, 0 if there is none.
func (c *Comm) newSchedule(o operation, root, bytes int) *schedule {
	if n := len(c.plans); n > 0 {
		s := c.plans[n-1]
		c.plans = c.plans[:n-1]
		s.script.Purpose, s.script.Sync = purpose(o, root, bytes), c.sync(o, root)
		return s
	}
	s := &schedule{c: c}
	s.script = &sdr.Script{Step: s.step, Purpose: purpose(o, root, bytes), Sync: c.sync(o, root)}
	return s
}

func (s *schedule) send(peer int, buf []byte) {
	s.steps = append(s.steps, step{kind: stepSend, peer: peer, number: s.c.sent[peer], buf: buf})
	s.c.sent[peer]++
}

func (s *schedule) recv(peer int, buf []byte) {
	s.steps = append(s.steps, step{kind: stepRecv, peer: peer, number: s.c.received[peer], buf: buf})
	s.c.received[peer]++
}

func (s *schedule) fence()      { s.steps = append(s.steps, step{kind: stepFence}) }
func (s *schedule) do(f func()) { s.steps = append(s.steps, step{kind: stepDo, do: f}) }
func (s *schedule) copy(dst, src []byte) {
	if len(dst) > 0 && len(src) > 0 && &dst[0] != &src[0] {
		s.steps = append(s.steps, step{kind: stepCopy, buf: dst, low: src})
	}
}

// combine applies the operator of the reduction.
func (s *schedule) combine(into, low, high []byte) {
	s.steps = append(s.steps, step{kind: stepCombine, buf: into, low: low, high: high})
}

// memory returns n bytes, aligned for every element type, that live as long as
// the operation.
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

// step does local work, and returns the messages up to the next fence after it.
func (s *schedule) step() []sdr.Post {
	if s.collect(); errors.Is(s.err, sdr.ErrMismatch) {
		s.script.Failed = true
		return nil
	}
	for s.at < len(s.steps) {
		st := &s.steps[s.at]
		if st.kind >= stepFence && len(s.round) > 0 {
			break
		}
		switch st.kind {
		case stepSend, stepRecv:
			s.round = append(s.round, sdr.Post{
				Request: &s.calls[s.used], Data: st.buf, Peer: s.c.members[st.peer], Number: st.number,
				Receive: st.kind == stepRecv,
			})
			s.used++
		case stepCombine:
			s.op.combine(st.buf, st.low, st.high)
		case stepCopy:
			copy(st.buf, st.low)
		case stepDo:
			st.do()
		}
		s.at++
	}
	return s.round
}

// collect looks at the results of the messages of the round before. A failed
// operation goes on to its end, so that the other ranks are not left waiting,
// unless they are in another one.
func (s *schedule) collect() {
	for i := range s.round {
		if _, err := s.round[i].Request.Result(); err != nil && s.err == nil {
			s.err = err
		}
	}
	s.round = s.round[:0]
}

// startPlan begins a collective operation.
func (c *Comm) startPlan(s *schedule) {
	messages := 0
	for i := range s.steps {
		if s.steps[i].kind <= stepRecv {
			messages++
		}
	}
	if messages > len(s.calls) {
		s.calls = make([]sdr.Request, messages)
	}
	c.engine.Start(c.coll, s.script)
}

// finishPlan waits for the end of a collective operation.
func (c *Comm) finishPlan(s *schedule) error {
	call := s.script.Call()
	if _, err := c.engine.Wait(call); err != nil {
		return err // s is left to the engine
	}
	err := s.err
	clear(s.steps)
	s.steps, s.at, s.used, s.taken, s.err, s.op = s.steps[:0], 0, 0, 0, nil, nil
	s.round = s.round[:0]
	if len(c.plans) < 8 {
		c.plans = append(c.plans, s)
	}
	return err
}

// run carries out a collective operation, or reports why it was not planned.
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
