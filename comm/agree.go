package comm

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra/transport/sdr"
)

// Package sdr makes the replicas of a rank agree on the message that a receive from
// AnySource gets. This file makes them agree on the results of tests, probes and waits for
// any of several requests.

// AssertSendDeterministic asserts that the program is send-deterministic [SDR]: it sends
// the same messages and prints the same lines in whatever order messages of different ranks
// arrive, and whatever Test, Iprobe, WaitAny or WaitSome report. The replicas of a rank
// then need not agree on that order. This saves a round trip between them for each such
// call. Instead they compare hashes of the messages that they send. If the contents of a
// message differ, the assertion is wrong, and the job ends with exit code 4.
//
// Every rank calls it on the world before it sends anything, receives from any source or
// tests a request, on any communicator. It holds for the whole job.
func (c *Comm) AssertSendDeterministic() error {
	return c.assert("assert send deterministic", 'd')
}

// underWay returns the first request that is under way. It returns nil if there is none, or
// if the replicas of the rank need not agree on it.
func underWay(reqs []*Request) *Request {
	for _, r := range reqs {
		if r != nil && r.active && r.err == nil && r.call != nil {
			if !r.c.engine.Agrees() {
				return nil
			}
			return r
		}
	}
	return nil
}

// agree returns the indices that look returns at one of the replicas of this rank, the same
// at all of them. If wait is set, it calls look until look returns any.
func agree(reqs []*Request, wait bool, look func() []int) ([]int, error) {
	r := underWay(reqs)
	if r == nil {
		return look(), nil
	}
	done, err := agreed(r, reqs, wait, look)
	r.c.engine.CaughtUp(r.c.p2p)
	return done, err
}

// agreed implements agree. After it has acted on the result, the caller must call CaughtUp.
// r is one of the requests that are under way.
func agreed(r *Request, reqs []*Request, wait bool, look func() []int) ([]int, error) {
	value, err := r.c.engine.Decide(r.c.p2p, func() []byte {
		done := look()
		if wait && len(done) == 0 {
			return nil
		}
		b := binary.AppendUvarint(nil, uint64(len(done)))
		for _, i := range done {
			b = binary.AppendUvarint(b, uint64(i))
		}
		return b
	}, hopelessIf(wait, func() error { return allHopeless(reqs) }), func() sdr.Awaited { return anyAwaited(reqs) })
	if err != nil {
		return nil, err
	}
	u := uvarints{value}
	done := make([]int, 0, len(reqs))
	for range u.next() {
		if i := u.next(); i < uint64(len(reqs)) {
			done = append(done, int(i))
		}
	}
	return done, nil
}

// hopelessIf returns hopeless for a call that waits, and nil for any other. The leader answers a
// call without a wait at once, so a follower must wait for that answer even if the operation can
// never complete.
func hopelessIf(wait bool, hopeless func() error) func() error {
	if !wait {
		return nil
	}
	return hopeless
}

// uvarints decodes numbers. After the end of its bytes it returns zeros.
type uvarints struct{ b []byte }

func (u *uvarints) next() uint64 {
	v, n := binary.Uvarint(u.b)
	u.b = u.b[max(n, 0):]
	return v
}

// agreeOn implements agree for a probe. It returns whether there is a message, and the rank
// of the job that sent it. If wait is set, it waits for a message.
func (c *Comm) agreeOn(src, tag int, wait bool) (from int, found bool, err error) {
	value, err := c.engine.Decide(c.p2p, func() []byte {
		st, ok := c.engine.Probe(c.p2p, src, tag)
		if !ok && wait {
			return nil
		}
		if !ok {
			return binary.AppendUvarint(nil, 0)
		}
		return binary.AppendUvarint(nil, uint64(st.Source)+1)
	}, hopelessIf(wait, func() error { return c.engine.NothingComes(c.p2p, src, tag) }),
		func() sdr.Awaited { return c.engine.AwaitedProbe(c.p2p, src, tag) })
	c.engine.CaughtUp(c.p2p)
	if err != nil {
		return 0, false, err
	}
	u := uvarints{value}
	n := u.next()
	return int(n) - 1, n > 0, nil
}

// agreeToCancel cancels a receive in all replicas of this rank or in none.
func (r *Request) agreeToCancel() {
	cancel := func() []int {
		if r.c.engine.Cancel(&r.call.Request) {
			return []int{0}
		}
		return []int{}
	}
	if underWay([]*Request{r}) == nil {
		cancel()
		return
	}
	defer r.c.engine.CaughtUp(r.c.p2p)
	done, err := agreed(r, []*Request{r}, false, cancel)
	if err != nil || len(done) == 0 || r.c.engine.Cancel(&r.call.Request) {
		return // Wait returns the result
	}
	if st, err := r.c.engine.Wait(r.call); err != nil || st.Cancelled {
		return // the receive is cancelled here, too
	}
	r.c.engine.Diverged(fmt.Errorf("cancel of a receive from rank %d with tag %d (%s): another replica of this rank cancelled it, "+
		"and here it has received a message; receive what may be on its way before cancelling", r.peer, r.tag, userCode()))
}
