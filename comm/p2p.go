package comm

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/transport/sdr"
)

// Status describes the message that a receive got, or that a probe found.
type Status struct {
	Source int // rank in the communicator
	Tag    int
	Count  int // elements received; for the Status of a probe see Comm.Probe
}

var nullStatus = Status{Source: ProcNull, Tag: AnyTag}

// Send sends buf to rank dst. It returns when the program may change buf again. That may be
// before or after the message is received.
func Send[T any](c *Comm, buf []T, dst, tag int) error {
	if err := checkElement[T](); err != nil {
		return fmt.Errorf("send to rank %d: %w", dst, err)
	}
	return c.send(bytesOf(buf), dst, tag, false)
}

// Ssend is like Send, but returns only after a receive has matched the message.
func Ssend[T any](c *Comm, buf []T, dst, tag int) error {
	if err := checkElement[T](); err != nil {
		return fmt.Errorf("send to rank %d: %w", dst, err)
	}
	return c.send(bytesOf(buf), dst, tag, true)
}

func (c *Comm) send(b []byte, dst, tag int, sync bool) error {
	if !c.ready(dst, tag) {
		if err := c.checkPeer(dst, tag, false); err != nil {
			return fmt.Errorf("send to rank %d: %w", dst, err)
		}
		if dst == ProcNull {
			return nil
		}
		err := c.usable()
		if err == nil {
			err = touch(c, b)
		}
		if err != nil {
			return fmt.Errorf("send to rank %d: %w", dst, err)
		}
	}
	if o := c.engine.Observer(); o != nil {
		return c.observed(o, b, dst, tag, func() error { return c.sendTo(b, dst, tag, sync) })
	}
	return c.sendTo(b, dst, tag, sync)
}

// sendTo implements send to a rank that exists.
func (c *Comm) sendTo(b []byte, dst, tag int, sync bool) error {
	if !sync && c.engine.SendNow(c.p2p, b, c.members[dst], tag) {
		return nil
	}
	r := c.borrow()
	c.engine.Send(c.p2p, &r.Request, b, c.members[dst], tag, sync)
	_, err := c.engine.Wait(r)
	c.giveBack(r)
	if err != nil {
		call := "Send"
		if sync {
			call = "Ssend"
		}
		return c.failed(call, fmt.Sprintf("send to rank %d", dst), err)
	}
	return nil
}

// Recv receives a message from rank src or AnySource with tag or AnyTag into buf. Messages
// of one rank match in the order in which they were sent. If the message is longer than
// buf, Recv returns ErrTruncate.
func Recv[T any](c *Comm, buf []T, src, tag int) (Status, error) {
	if err := checkElement[T](); err != nil {
		return Status{}, fmt.Errorf("receive from rank %d: %w", src, err)
	}
	return c.recv(bytesOf(buf), sizeOf[T](), src, tag)
}

func (c *Comm) recv(b []byte, size, src, tag int) (Status, error) {
	if !c.ready(src, tag) {
		if err := c.checkPeer(src, tag, true); err != nil {
			return Status{}, fmt.Errorf("receive from rank %d: %w", src, err)
		}
		if src == ProcNull {
			return nullStatus, nil
		}
		err := c.usable()
		if err == nil {
			err = touch(c, b)
		}
		if err != nil {
			return Status{}, fmt.Errorf("receive from rank %d: %w", src, err)
		}
	}
	if o := c.engine.Observer(); o != nil {
		var st Status
		err := c.observed(o, b, src, tag, func() (err error) {
			st, err = c.recvFrom(b, size, src, tag)
			return err
		})
		return st, err
	}
	return c.recvFrom(b, size, src, tag)
}

// observed carries out a call and reports it to the observer. It is separate because
// functions with a defer are slower, even if there is no observer.
func (c *Comm) observed(o sdr.Observer, b []byte, peer, tag int, call func() error) error {
	defer o.Called(c.job(peer), tag, len(b))()
	return call()
}

// recvFrom implements recv from a rank that exists, or from any.
func (c *Comm) recvFrom(b []byte, size, src, tag int) (Status, error) {
	r := c.borrow()
	c.engine.Recv(c.p2p, &r.Request, b, c.job(src), tag)
	st, err := c.status(r, size)
	c.giveBack(r)
	if err != nil {
		err = c.failed("Recv", fmt.Sprintf("receive from rank %d", src), err)
	}
	return st, err
}

// Sendrecv sends and receives at the same time. The buffers must not overlap, see
// SendrecvReplace.
func Sendrecv[T, U any](c *Comm, send []T, dst, sendTag int, recv []U, src, recvTag int) (Status, error) {
	if checkElement[T]() == nil && checkElement[U]() == nil {
		if err := apart(bytesOf(send), bytesOf(recv), cureReplace); err != nil {
			return Status{}, fmt.Errorf("sendrecv: %w", err)
		}
	}
	r := Irecv(c, recv, src, recvTag)
	if r.err != nil { // no operation may be under way when an argument is wrong
		return Status{}, r.err
	}
	s := Isend(c, send, dst, sendTag)
	if s.err != nil {
		r.Cancel()
		return Status{}, s.err
	}
	st, err := r.Wait()
	if _, serr := s.Wait(); err == nil {
		err = serr
	}
	return st, err
}

// SendrecvReplace is like Sendrecv with one buffer: the received elements replace those
// that are sent.
func SendrecvReplace[T any](c *Comm, buf []T, dst, sendTag, src, recvTag int) (Status, error) {
	if checkElement[T]() == nil && c.usable() == nil {
		if err := touch(c, buf); err != nil {
			return Status{}, fmt.Errorf("sendrecv: %w", err)
		}
	}
	return Sendrecv(c, slices.Clone(buf), dst, sendTag, buf, src, recvTag)
}

// Isend begins a Send. Wait returns its errors.
func Isend[T any](c *Comm, buf []T, peer, tag int) *Request {
	return beginSend(c, buf, peer, tag, false)
}

// Issend begins an Ssend. Wait returns its errors.
func Issend[T any](c *Comm, buf []T, peer, tag int) *Request {
	return beginSend(c, buf, peer, tag, true)
}

func beginSend[T any](c *Comm, buf []T, peer, tag int, sync bool) *Request {
	r := SendInit(c, buf, peer, tag)
	r.sync = sync
	r.Start()
	return r
}

// Irecv begins a Recv. Wait returns its errors.
func Irecv[T any](c *Comm, buf []T, peer, tag int) *Request {
	r := RecvInit(c, buf, peer, tag)
	r.Start()
	return r
}

// SendInit prepares a Send. Start begins it, and may be called any number of times.
func SendInit[T any](c *Comm, buf []T, dst, tag int) *Request {
	r := &Request{c: c, kind: sending, peer: dst, tag: tag, size: sizeOf[T]()}
	if r.err = checkElement[T](); r.err == nil {
		r.err = c.checkPeer(dst, tag, false)
	}
	if r.err != nil {
		r.err = fmt.Errorf("send to rank %d: %w", dst, r.err)
		return r
	}
	r.buf = bytesOf(buf)
	return r
}

// RecvInit prepares a Recv. Start begins it, and may be called any number of times.
func RecvInit[T any](c *Comm, buf []T, src, tag int) *Request {
	r := &Request{c: c, kind: receiving, peer: src, tag: tag, size: sizeOf[T]()}
	if r.err = checkElement[T](); r.err == nil {
		r.err = c.checkPeer(src, tag, true)
	}
	if r.err != nil {
		r.err = fmt.Errorf("receive from rank %d: %w", src, r.err)
		return r
	}
	r.buf = bytesOf(buf)
	return r
}

// Probe waits for a message from rank src or AnySource with tag or AnyTag and
// returns its status without receiving it; Count is its length in bytes. The next receive that
// names the source and the tag of this message gets it.
func (c *Comm) Probe(src, tag int) (Status, error) {
	err := c.checkPeer(src, tag, true)
	if err == nil && src == ProcNull {
		return nullStatus, nil
	}
	if err == nil {
		err = c.usable()
	}
	var st Status
	if err == nil {
		if o := c.engine.Observer(); o != nil {
			defer o.Called(c.job(src), tag, 0)()
		}
		from := c.job(src)
		if from == sdr.Any && c.engine.Agrees() {
			from, _, err = c.agreeOn(from, tag, true)
		}
		if err == nil {
			st, err = c.await(from, tag)
		}
	}
	if err != nil {
		return Status{}, c.failed("Probe", fmt.Sprintf("probe for rank %d", src), err)
	}
	return st, nil
}

// Iprobe is like Probe, but does not wait: it reports whether there is a message.
func (c *Comm) Iprobe(src, tag int) (Status, bool, error) {
	if err := c.checkPeer(src, tag, true); err != nil {
		return Status{}, false, fmt.Errorf("probe for rank %d: %w", src, err)
	}
	if src == ProcNull {
		return nullStatus, true, nil
	}
	if err := c.usable(); err != nil {
		return Status{}, false, fmt.Errorf("probe for rank %d: %w", src, err)
	}
	c.engine.Progress()
	if !c.engine.Agrees() {
		st, ok := c.peek(c.job(src), tag)
		return st, ok, nil
	}
	from, found, err := c.agreeOn(c.job(src), tag, false)
	var st Status
	if err == nil && found {
		st, err = c.await(from, tag)
	}
	if err != nil {
		return Status{}, false, c.failed("Iprobe", fmt.Sprintf("probe for rank %d", src), err)
	}
	return st, found, nil
}

// await waits for a message from a rank of the job, or from any, and returns its status.
func (c *Comm) await(from, tag int) (st Status, err error) {
	found := false
	err = c.engine.WaitFor(func() bool {
		if !found {
			st, found = c.peek(from, tag)
		}
		return found
	}, func() error { return c.engine.NothingComes(c.p2p, from, tag) },
		func() sdr.Awaited { return c.engine.AwaitedProbe(c.p2p, from, tag) })
	return st, err
}

// peek looks for a message from a rank of the job, or any.
func (c *Comm) peek(from, tag int) (Status, bool) {
	st, ok := c.engine.Probe(c.p2p, from, tag)
	if !ok {
		return Status{}, false
	}
	return Status{Source: c.index[st.Source], Tag: st.Tag, Count: st.Size}, true
}
