package comm

import (
	"encoding/binary"
	"fmt"

	"github.com/intrahpc/intra/transport/sdr"
)

// The replicas of a rank decide together what depends on the order in which messages come, see
// package sdr: a receive from AnySource asks for that by itself, and what is here does for tests,
// probes and waits for any of several requests.

// AssertSendDeterministic says that the program sends the same messages, and prints the same, in
// whatever order messages of different ranks arrive, and whatever a Test, Iprobe, WaitAny or
// WaitSome reports: it is send-deterministic, as the SDR-MPI paper calls it. Then replicas need not
// decide together which message a receive from AnySource gets, which costs a round trip between
// them. A program that says so wrongly gets wrong results.
//
// Every rank calls it on the world before it sends anything there or elsewhere, and before it
// receives from any source or tests anything. It holds for the whole job.
func (c *Comm) AssertSendDeterministic() error {
	return c.assert("assert send deterministic", 'd')
}

// underWay returns the first of the requests about which something has to be decided; nil if
// there is none: then all are complete, wrong, or of a program that replicas need not agree in.
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

// agree returns which of the requests are complete, the same ones at all replicas of this rank:
// what look returns at one of them. If it waits, look returns none until there are some.
func agree(reqs []*Request, wait bool, look func() []int) ([]int, error) {
	r := underWay(reqs)
	if r == nil {
		return look(), nil
	}
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
	}, func() error { return allHopeless(reqs) }, func() sdr.Awaited { return anyAwaited(reqs) })
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

// uvarints reads numbers; behind the end they are 0.
type uvarints struct{ b []byte }

func (u *uvarints) next() uint64 {
	v, n := binary.Uvarint(u.b)
	u.b = u.b[max(n, 0):]
	return v
}

// agreeOn is agree for a probe: whether there is a message, and of which rank of the job. If it
// waits there is one.
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
	}, func() error { return c.engine.NothingComes(c.p2p, src, tag) },
		func() sdr.Awaited { return c.engine.AwaitedProbe(c.p2p, src, tag) })
	if err != nil {
		return 0, false, err
	}
	u := uvarints{value}
	n := u.next()
	return int(n) - 1, n > 0, nil
}

// agreeToCancel reports whether a receive is taken back.
func (r *Request) agreeToCancel() {
	done, err := agree([]*Request{r}, false, func() []int {
		if r.c.engine.Cancel(&r.call.Request) {
			return []int{0}
		}
		return []int{}
	})
	if err != nil || len(done) == 0 || r.c.engine.Cancel(&r.call.Request) {
		return // Wait says what has come of it
	}
	if st, err := r.c.engine.Wait(r.call); err != nil || st.Cancelled {
		return // it was taken back here, too
	}
	r.c.engine.Diverged(fmt.Errorf("cancel of a receive from rank %d with tag %d (%s): it was taken back in another replica of this rank, "+
		"and has got a message here; receive what may be on its way before it is cancelled", r.peer, r.tag, userCode()))
}
