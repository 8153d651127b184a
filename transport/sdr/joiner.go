package sdr

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// maxEarly bounds the bytes of the frames that are kept for a process whose incarnation has not
// been announced. Such a process sends far less than this without a request.
const maxEarly = 64 << 20

// early holds the frames of a joiner that arrived before this process passed the cut at
// which the joiner joined.
type early struct {
	frames []earlyFrame
	bytes  int
}

type earlyFrame struct {
	header  transport.Header
	payload []byte
}

// hold keeps a frame until the incarnation of its sender is announced.
func (pr *process) hold(h *transport.Header, payload []byte) error {
	e := &pr.early
	if e.bytes += len(payload) + frameCost; e.bytes > maxEarly {
		return violation(pr, h, "process of a life that was not announced")
	}
	e.frames = append(e.frames, earlyFrame{*h, slices.Clone(payload)})
	return nil
}

// revive makes a joiner live. The joiner begins where its rank was at the cut, and has all
// messages that were sent to the rank before. Only the live replicas determine which
// replica sends to which. So from now on the state is as if the process had never died.
func (c *Core) revive(n Joiner) {
	p := c.job.index(n.Rank, n.Replica)
	if n.Rank == c.job.rank && n.Replica == c.job.replica {
		return
	}
	pr := &c.job.processes[p]
	held := pr.early
	for _, s := range pr.short {
		s.short &^= 1 << n.Replica
	}
	r := &c.job.ranks[n.Rank]
	*pr = process{rank: n.Rank, replica: n.Replica, alive: true, incarnation: n.Incarnation, credit: c.job.limits.Window, early: held}
	r.live |= 1 << n.Replica
	c.history.rests[p] = nil
	for _, ctx := range c.contexts.order {
		s := ctx.in[n.Rank]
		if s == nil {
			continue
		}
		for m := range s.unexpected.messages() {
			if m.eager == p { // the sender of m has been replaced, and needs no credit
				m.eager = -1
			}
		}
	}
	c.out.actions = append(c.out.actions, Action{Kind: ActRenew, To: p})
}

// replay handles the frames of a joiner that arrived early.
func (c *Core) replay(n Joiner) error {
	p := c.job.index(n.Rank, n.Replica)
	frames := c.job.processes[p].early.frames
	c.job.processes[p].early = early{}
	for i := range frames {
		if err := c.End(p, &frames[i].header, frames[i].payload); err != nil {
			return err
		}
	}
	return nil
}

// Joiner is a process that joins at a cut.
type Joiner struct {
	Rank, Replica int
	Incarnation   uint32
}

// Cut ends the cut when every live process has all messages from before it. From now on the
// joiners are live.
func (c *Core) Cut(joined []Joiner) error {
	if c.cuts.now == nil || !c.cuts.now.done {
		return fmt.Errorf("end of a cut: %w", errNoCut)
	}
	for _, n := range joined {
		if c.job.index(n.Rank, n.Replica) < 0 {
			return fmt.Errorf("end of a cut: no process %d.%d", n.Rank, n.Replica)
		}
	}
	for _, ctx := range c.contexts.order {
		for rank, s := range ctx.out {
			if s != nil && rank != c.job.rank {
				c.outgoing.abandon(s, s.next)
				c.comparer.compareBehind(s, c.cuts.now.number)
				s.forget()
			}
		}
		for rank, s := range ctx.in {
			if s != nil && rank != c.job.rank && ctx != c.contexts.bookmarks {
				c.incoming.takeBack(s, c.cuts.now.number)
				c.incoming.settle(s)
			}
		}
	}
	c.out.passed = c.cuts.now.number
	var later []laterFrame
	if c.matching.agreed != nil {
		later = c.matching.agreed.reset()
	}
	c.cuts.forgetBookmarks(c.cuts.now.number + 1)
	c.history.reset()
	c.cuts.now = nil
	for _, n := range joined {
		c.revive(n)
	}
	for _, ctx := range c.contexts.order {
		for rank, s := range ctx.in {
			if s == nil || rank == c.job.rank || ctx == c.contexts.bookmarks {
				continue
			}
			c.acks.noteAgain(s)
			if s.unacked > 0 { // a sender that has passed the cut has discarded earlier acknowledgements
				c.acks.ackTo(ctx, rank, &s.received)
			}
		}
		c.contexts.ended(ctx) // a comparison may have kept the context open
	}
	for rank := range c.job.ranks {
		c.outgoing.updateWant(rank)
	}
	for _, n := range joined {
		if err := c.replay(n); err != nil {
			return err
		}
	}
	for i := range later {
		if err := c.End(later[i].from, &later[i].header, later[i].payload); err != nil {
			return err
		}
	}
	return nil
}
