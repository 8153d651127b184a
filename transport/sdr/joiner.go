package sdr

import (
	"slices"

	"github.com/intrahpc/intra/transport"
)

// maxEarly bounds the frames that are kept for a process whose incarnation has not been
// announced: such a process can send far less unrequested.
const maxEarly = 64 << 20

// early holds the frames of a joiner that passed the cut at which it joined before this
// process did.
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

// revive makes a joiner live: it is where its rank was at the cut, and has all that was
// sent to the rank before. The live replicas alone determine which replica sends to which.
// So from now on the state is as if the process had never died.
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
			if m.eager == p { // its sender has been replaced, and needs no credit
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
