package comm

import (
	"fmt"

	"github.com/intrahpc/intra/transport/sdr"
)

type requestKind uint8

const (
	sending requestKind = iota
	receiving
	collective
)

// Request is an operation that was begun, or prepared. Wait on a complete request returns
// at once. A Request is used by one goroutine at a time.
type Request struct {
	c      *Comm
	kind   requestKind
	sync   bool
	peer   int
	tag    int
	size   int // bytes of an element
	buf    []byte
	call   *sdr.Call
	plan   *schedule
	of     operation // kind of a collective
	finish func()    // local work after completion, before it is reported

	err    error // wrong arguments; the operation never starts
	active bool  // begun, and its completion was not yet reported
	open   bool  // counted among the requests that must not be pending across a safe point
	st     Status
	result error
}

// Start begins a prepared operation. It does nothing while the operation is under way.
func (r *Request) Start() {
	if r.active || r.kind == collective {
		return
	}
	r.active = true
	if r.err != nil || r.peer == ProcNull {
		return
	}
	err := r.c.usable()
	if err == nil && r.kind == receiving && r.peer == AnySource {
		err = r.c.checkAny() // the program may have called AssertNoAnySource since RecvInit
	}
	if err == nil {
		err = touch(r.c, r.buf)
	}
	if err != nil {
		r.err = fmt.Errorf("start of a request: %w", err)
		return
	}
	if r.call == nil {
		r.call = r.c.engine.NewCall()
	}
	r.call.Reset()
	if r.kind == receiving || r.sync {
		r.hold()
	}
	if o := r.c.engine.Observer(); o != nil {
		defer r.called(o)()
	}
	if r.kind == sending {
		r.c.engine.Send(r.c.p2p, &r.call.Request, r.buf, r.c.members[r.peer], r.tag, r.sync)
	} else {
		r.c.engine.Recv(r.c.p2p, &r.call.Request, r.buf, r.c.job(r.peer), r.tag)
	}
}

// Wait waits until the operation is complete.
func (r *Request) Wait() (Status, error) {
	if r == nil {
		return Status{}, nil
	}
	r.report()
	return r.st, r.result
}

// Test reports whether the operation is complete. If it is, the other results are those of
// Wait.
func (r *Request) Test() (st Status, done bool, err error) {
	if r == nil {
		return Status{}, true, nil
	}
	if r.active {
		r.progress()
		done, err := agree([]*Request{r}, false, func() []int { return completeOf([]*Request{r}) })
		if err == nil && len(done) == 0 {
			return Status{}, false, nil
		}
	}
	r.report() // if agree has failed, the result is its error
	return r.st, true, r.result
}

// Cancel withdraws a receive that no message has matched; Wait then returns ErrCancelled.
// It has no effect on other requests.
func (r *Request) Cancel() {
	if r != nil && r.active && r.kind == receiving && r.call != nil && r.err == nil {
		r.agreeToCancel()
	}
}

// complete reports whether a test may report the operation as complete. A replica that lags
// behind may have received a message that depends on later operations of its own rank.
// Without replicas, that message would not exist yet. So only Wait reports the completion of its
// receive.
func (r *Request) complete() bool {
	return !r.active || r.err != nil || r.call == nil || r.c.engine.Visible(r.call) || r.c.engine.Failure() != nil
}

// hold and release count r among the requests that must not be pending across a safe point.
func (r *Request) hold() {
	r.open = true
	r.c.family.open.Add(1)
}

func (r *Request) release() {
	if r.open {
		r.open = false
		r.c.family.open.Add(-1)
	}
}

// report ends the operation and keeps its result.
func (r *Request) report() {
	if !r.active {
		return
	}
	if r.c != nil && r.c.engine.Observer() != nil && !r.complete() {
		defer r.called(r.c.engine.Observer())()
	}
	r.active = false
	r.release()
	switch {
	case r.err != nil:
		r.st, r.result = Status{}, r.err
	case r.kind == collective:
		if r.st, r.result = (Status{}), r.c.finishPlan(r.plan); r.result != nil {
			r.result = r.c.failed(r.of.call(), r.of.String(), r.result)
		}
		r.plan = nil
	case r.peer == ProcNull:
		r.st, r.result = nullStatus, nil
	case r.kind == sending:
		if _, r.result = r.c.engine.Wait(r.call); r.result != nil {
			r.result = r.c.failed("Wait", fmt.Sprintf("send to rank %d", r.peer), r.result)
		}
	default:
		if r.st, r.result = r.c.status(r.call, r.size); r.result != nil {
			r.result = r.c.failed("Wait", fmt.Sprintf("receive from rank %d", r.peer), r.result)
		}
	}
	if r.finish != nil {
		r.finish()
	}
}

// called reports to an observer that the program has made a call about r.
func (r *Request) called(o sdr.Observer) (end func()) {
	if r.kind == collective {
		return o.Called(sdr.Any, sdr.Any, 0)
	}
	return o.Called(r.c.job(r.peer), r.tag, len(r.buf))
}

// status waits for a receive and converts its status.
func (c *Comm) status(r *sdr.Call, size int) (Status, error) {
	st, err := c.engine.Wait(r)
	if st.Cancelled {
		return Status{Source: Undefined, Tag: AnyTag}, ErrCancelled
	}
	if err != nil && (!r.Done() || c.engine.Failure() != nil) {
		return Status{}, err
	}
	out := Status{Source: c.index[st.Source], Tag: st.Tag, Count: st.Size}
	if size > 1 {
		out.Count /= size
	}
	if err == nil && out.Count*size != st.Size {
		err = fmt.Errorf("%w: %d bytes are not whole elements of %d", ErrType, st.Size, size)
	}
	return out, err
}
