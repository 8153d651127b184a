package recovery

import (
	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/job"
)

// deliver passes the next message of q to the head.
func (q *proc) deliver() {
	c := q.c
	w := q.toHead[0]
	q.toHead = q.toHead[1:]
	switch w := w.(type) {
	case job.Reply:
		c.tell(func() []Action {
			taken, kept := c.taken(w.Number)
			switch {
			case w.Kind == job.ReplyStored && q.member && (w.Generation == c.head.Generation() || kept && w.Generation >= taken):
				q.reported[copyOf{w.Rank, w.Number}] = true
			case w.Kind == job.ReplyReady && kept && w.Generation > taken: // this includes a reply of an earlier rollback
				q.reported[copyOf{q.p.Rank, w.Number}] = true
			}
			return c.head.Reply(q.p, q.incarnation, w, c.now)
		})
	case hello:
		c.tell(func() []Action { return c.head.Arrived(q.p, q.incarnation, c.now) })
	case repeated:
		c.tell(func() []Action {
			q.repeated = true
			return c.head.Repeated(q.p, q.incarnation, c.now)
		})
	case finishedWord:
		if q.finishing = c.head.State(q.p) == Running && c.snapshot.place(q.p).Status != Ended; !q.finishing {
			return
		}
		g := c.head.Generation()
		c.keep(func() { c.snapshot.Finished(q.p, q.incarnation, g) }, func() {
			c.tell(func() []Action { return c.head.Finished(q.p, q.incarnation, c.now) })
		})
	case drainedWord:
		if !q.finishing && c.snapshot.place(q.p).Status != Ended {
			return
		}
		c.seen["drained"]++
		g := c.head.Generation()
		c.keep(func() { c.snapshot.Drained(q.p, q.incarnation, g) }, func() {
			c.tell(func() []Action { return c.head.Through(q.p, q.incarnation, c.now) })
		})
	}
}

// agent is the agent's record of a process. It outlives heads.
type agent struct {
	toAgent   []any // messages from the head
	toHead    []any
	log       *agentlog.Process[any, struct{}]
	links     map[*proc]bool // links of which the agent was informed
	verdicts  int            // number of deaths of which it was informed
	repeated  bool           // the head has received all earlier messages of the process
	finishing bool           // the head knows that the process has finished, in this generation
}

// repeated reports that an agent has repeated everything.
type repeated struct{}

// passOn passes a message from the head on to the process, unless the process has already
// received it.
func (q *proc) passOn() {
	o := q.toAgent[0]
	q.toAgent = q.toAgent[1:]
	switch o := o.(type) {
	case connected:
		if !q.log.Pass(&job.Message{Kind: job.KindConnect, Peers: []job.Peer{{Process: o.q.p, Incarnation: o.q.incarnation}}}) {
			return
		}
		q.links[o.q] = true
	case died:
		if !q.log.Pass(&job.Message{Kind: job.KindVerdict, Verdict: &job.Verdict{Epoch: o.epoch}}) {
			return
		}
	case job.Order:
		if !q.log.Pass(&job.Message{Kind: job.KindOrder, Order: &o}) && o.Kind != q.c.twice {
			q.c.seen["kept from a process"]++
			return
		}
	}
	q.orders = append(q.orders, o)
}

// note passes a message of the process on to the head, and keeps it if a later head will
// need it.
func (q *proc) note() {
	w := q.says[0]
	q.says = q.says[1:]
	q.toHead = append(q.toHead, w)
	switch w := w.(type) {
	case hello:
		q.log.Note(w)
	case finishedWord:
		q.log.Say(&job.Message{Kind: job.KindFinish}, q.c.now)
	case drainedWord:
		q.log.Say(&job.Message{Kind: job.KindDrained}, q.c.now)
	case job.Reply:
		if w.Kind != q.c.unsaid {
			q.log.Say(&job.Message{Kind: job.KindReply, Reply: &w}, q.c.now)
		}
	}
}

// repeat sends a new head the messages that it needs.
func (q *proc) repeat() {
	q.toHead = nil
	for _, s := range q.log.Repeat(q.c.now) {
		w := s.Seen
		if m := s.Message; m != nil {
			switch m.Kind {
			case job.KindFinish:
				w = finishedWord{}
			case job.KindDrained:
				w = drainedWord{}
			case job.KindReply:
				w = *m.Reply
			}
		}
		q.toHead = append(q.toHead, w)
	}
}

// taken returns the generation of a complete backup, and whether the backup is kept.
func (c *cluster) taken(number uint64) (generation uint32, kept bool) {
	if number == c.snapshot.Complete {
		return c.snapshot.Taken, true
	}
	for _, old := range c.snapshot.Older {
		if old.Number == number {
			return old.Taken, true
		}
	}
	return 0, false
}
