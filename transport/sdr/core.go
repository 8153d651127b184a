package sdr

import (
	"errors"
	"maps"
	"slices"
)

var (
	errContextUsed = errors.New("context in use already")
	errUsed        = errors.New("after messages were sent, or received from any source")
)

// Core is the protocol of one process. Its methods must not be called concurrently.
type Core struct {
	job       job
	journal   journal
	out       outbox
	history   history
	contexts  contexts
	buffers   buffers
	comparer  comparer
	acks      acks
	requests  requests
	outgoing  outgoing
	matching  matching
	incoming  incoming
	cuts      cuts
	finishing finishing
	noAny     bool // the program has called NoAnySource
	behind    int  // messages that an earlier run of the program has sent and this one has not
	deviation *Deviation
}

// NewCore returns the core of process rank.replica in a job with these degrees. At first
// all processes are live and have this incarnation.
func NewCore(rank, replica int, incarnation uint32, degrees []int, mirror bool, limits Limits) *Core {
	c := &Core{job: newJob(rank, replica, incarnation, degrees, mirror, limits)}
	c.out.incarnation = incarnation
	c.contexts.job, c.contexts.byID = &c.job, make(map[uint64]*Context)
	c.history = newHistory(&c.job)
	c.comparer = comparer{job: &c.job, out: &c.out, contexts: &c.contexts}
	c.acks = acks{job: &c.job, out: &c.out, contexts: &c.contexts, comparer: &c.comparer}
	c.requests = requests{job: &c.job, out: &c.out, contexts: &c.contexts, batch: c.job.limits.Window / creditParts}
	c.outgoing = outgoing{job: &c.job, out: &c.out, history: &c.history, contexts: &c.contexts, comparer: &c.comparer, buffers: &c.buffers}
	c.matching = matching{job: &c.job, journal: &c.journal, out: &c.out, history: &c.history, contexts: &c.contexts, requests: &c.requests, outgoing: &c.outgoing, buffers: &c.buffers}
	c.incoming = incoming{job: &c.job, out: &c.out, history: &c.history, contexts: &c.contexts, requests: &c.requests, acks: &c.acks, matching: &c.matching, buffers: &c.buffers}
	c.cuts = cuts{job: &c.job, out: &c.out, contexts: &c.contexts, requests: &c.requests, acks: &c.acks, outgoing: &c.outgoing, matching: &c.matching}
	c.finishing = finishing{job: &c.job, out: &c.out, contexts: &c.contexts, outgoing: &c.outgoing, matching: &c.matching}
	c.contexts.bookmarks = c.contexts.get(cutContext, true)
	c.contexts.bookmarks.joined = true
	return c
}

// Send posts a message with the next number of its stream [SDR, Algorithm 1, line 4]. dst
// is a rank of the job. If the message is small, and the copies kept for dst stay within
// their limit, the message is copied and req is complete at once. Otherwise data belongs to
// the core until req is complete, which is when every live replica of dst has the message.
// If sync is set, req is not complete before a receive has matched the message.
func (c *Core) Send(ctx *Context, req *Request, data []byte, dst, tag int, sync bool) {
	c.matching.operate(ctx, false)
	s := c.contexts.outStream(ctx, dst)
	c.send(c.outgoing.message(s, req, data, s.next, tag, sync))
}

// SendExact posts the message with this number, in an exact context. Every replica uses the
// same numbers, each once, but may post them in any order. The receive compares purpose,
// which is at most MaxPurpose, with its own.
func (c *Core) SendExact(ctx *Context, req *Request, data []byte, dst int, number uint64, purpose int) {
	c.send(c.outgoing.message(c.contexts.outStream(ctx, dst), req, data, number, purpose, false))
}

func (c *Core) send(m *Message) {
	if (c.journal.on || c.behind > 0) && c.sentBefore(m) {
		return
	}
	if m.stream.rank == c.job.rank {
		c.matching.postLocal(m)
	} else {
		c.outgoing.post(m)
	}
}

// Completed returns the requests that have become complete, with their status and error,
// and clears the list. The slice is valid until the next event. Completed must be called
// after each event, because it also closes the freed contexts in which no operation is
// under way any more.
func (c *Core) Completed() (done []*Request) {
	if c.contexts.over != nil {
		c.closeOver()
	}
	done, c.out.completed = c.out.completed, c.out.completed[:0]
	return done
}

// closeOver closes the freed contexts in which no operation is under way any more. It is a
// function of its own so that Completed can be inlined.
//
//go:noinline
func (c *Core) closeOver() {
	for _, ctx := range c.contexts.over {
		c.close(ctx)
	}
	c.contexts.over = nil
}

// Drain records that the program has returned. From now on the core requests
// acknowledgements while it keeps messages.
func (c *Core) Drain() {
	c.endJournal()
	c.job.draining = true
	c.acks.sendAllSums()
	for _, ctx := range c.contexts.order {
		for _, s := range ctx.out {
			if s != nil {
				c.comparer.neverSent(s)
			}
		}
	}
	for rank := range c.job.ranks {
		c.outgoing.updateWant(rank)
	}
	c.finishing.answer()
}

// NoAnySource asserts that no rank ever receives or probes from any source, so that
// messages carry no causal history. All ranks call it before they send anything or look for
// a message from any source. It may be repeated.
func (c *Core) NoAnySource() error {
	if c.noAny { // by an earlier run of the program
		return nil
	}
	if c.contexts.used {
		return errUsed
	}
	c.noAny, c.history.on = true, false
	return nil
}

// agree makes this process agree with its siblings. It is called before anything else, at
// all processes. Then no replica gets past a receive from any source before all its
// siblings know the decision. So no message can depend on a receive that another replica
// has yet to complete, and messages need not carry their causal history.
func (c *Core) agree(r Recorder) {
	c.history.on = false
	if degree := c.job.ranks[c.job.rank].degree; degree > 1 || r != nil {
		c.matching.agreed = &agreement{job: &c.job, out: &c.out, contexts: &c.contexts, journal: &c.journal, recorder: r, decided: newDecided(degree)}
	}
}

// SendDeterministic asserts that the messages and the output of the program do not depend on the
// order in which messages arrive, so that no decisions are needed. All ranks call it before they
// send anything or look for a message from any source.
func (c *Core) SendDeterministic() error {
	if c.contexts.used {
		return errUsed
	}
	c.matching.agreed, c.history.on = nil, c.job.replicated && !c.noAny
	return nil
}

// Join returns the context with this id. The program has just agreed on the id with the
// other members of the communicator; frames for the context may have arrived before. Exact
// contexts are those of collectives. domain is the id of the clock domain. members are the
// ranks of the communicator; nil means all.
func (c *Core) Join(id, domain uint64, exact bool, members []int) (*Context, error) {
	ctx := c.contexts.get(id, exact)
	if ctx == nil || ctx.joined {
		return nil, errContextUsed
	}
	if ctx.exact != exact {
		return nil, errContextUsed
	}
	ctx.joined = true
	if len(members) > 0 && len(members) < len(c.job.ranks) {
		ctx.member = make([]bool, len(c.job.ranks))
		for _, m := range members {
			ctx.member[m] = true
		}
	}
	if ctx.domain == nil { // else an earlier run of the program has joined it
		ctx.domain = c.history.enter(domain)
	}
	return ctx, nil
}

// Free records that the program does not use the context any more. Operations that are
// under way in it still complete. If the program may run again from a
// place before the call, the context stays until that place is forgotten.
func (c *Core) Free(ctx *Context) {
	if ctx.left = true; c.journal.on {
		c.journal.freed.add(ctx)
		return
	}
	c.free(ctx)
}

func (c *Core) free(ctx *Context) {
	ctx.freed = true
	c.contexts.ended(ctx)
}

// close removes a freed context when no operation is under way in it. Its id stays known,
// so that late frames do not create a new context.
func (c *Core) close(ctx *Context) {
	if c.contexts.byID[ctx.id] != ctx || ctx.any.first != nil {
		return
	}
	for _, s := range ctx.out {
		if s != nil && (len(s.kept) > 0 || len(s.compared.own) > 0) {
			return
		}
	}
	for _, s := range ctx.in {
		if s == nil {
			continue
		}
		if s.posted.first != nil {
			return
		}
		for _, m := range s.live {
			if m.req != nil {
				return
			}
		}
	}
	for rank, s := range ctx.in {
		if s != nil {
			for m := range s.unexpected.messages() {
				m.place.leave()
				delete(s.live, m.number)
				c.matching.release(m)
			}
			for _, n := range slices.Sorted(maps.Keys(s.live)) { // sorted, to make runs reproducible
				c.matching.release(s.live[n])
			}
			clear(s.live)
			c.acks.ackTo(ctx, rank, nil)
		}
	}
	c.contexts.byID[ctx.id] = nil
	c.history.leave(ctx.domain)
	for i, o := range c.contexts.order {
		if o == ctx {
			c.contexts.order = append(c.contexts.order[:i], c.contexts.order[i+1:]...)
			break
		}
	}
	if c.contexts.recent == ctx {
		c.contexts.recent = nil
	}
}
