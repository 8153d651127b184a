package sdr

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/callsite"
)

// Stall is a call of the program that has waited for a while.
type Stall struct {
	Call  string // the function that the program has called, "" if unknown
	At    string // place of that call in the program
	Since time.Time
	Awaited
}

// Awaited describes what a wait lacks.
type Awaited struct {
	Ranks  []int // ranks of the job that it waits for
	One    bool  // one of them is enough, else all are needed
	Tag    int   // of the message that is waited for: Any, or a collective has none
	Tagged bool  // Tag is that of a message
	Moving bool  // all ranks have done their part, and links carry the rest
}

// Awaited returns what a request that is not complete lacks.
func (c *Core) Awaited(req *Request) Awaited {
	switch {
	case req.endOf != nil:
		return c.awaitedScript(req.endOf)
	case req.sends != nil:
		return Awaited{Ranks: []int{req.sends.stream.rank}, Tag: req.sends.tag, Tagged: true, Moving: req.sends.inflight > 0}
	case req.ctx == nil:
		return Awaited{Moving: true} // it is being completed
	}
	a := Awaited{Tag: req.tag, Tagged: true, Moving: req.bound != nil}
	if req.source != Any {
		a.Ranks = []int{req.source}
		return a
	}
	a.One = true
	for rank := range c.job.ranks {
		if rank != c.job.rank && (req.ctx.member == nil || req.ctx.member[rank]) {
			a.Ranks = append(a.Ranks, rank)
		}
	}
	return a
}

// awaitedScript returns what a script lacks: all messages of the current round that are not
// complete.
func (c *Core) awaitedScript(s *Script) Awaited {
	var a Awaited
	for rank := range c.job.ranks {
		lacks := false
		if in := s.ctx.in[rank]; in != nil {
			for r := range in.posted.receives() {
				lacks = lacks || r.script == s
			}
		}
		if out := s.ctx.out[rank]; out != nil && !lacks {
			lacks = slices.ContainsFunc(out.kept, func(m *Message) bool {
				return m != nil && m.req != nil && m.req.script == s && m.inflight == 0
			})
		}
		if lacks {
			a.Ranks = append(a.Ranks, rank)
		}
	}
	a.Moving = len(a.Ranks) == 0
	return a
}

// stalled records what a call lacks that has waited for a while. s is the previous record,
// or nil. The lock is held.
func (e *Engine) stalled(s *Stall, a Awaited) *Stall {
	if s == nil {
		s = &Stall{Since: time.Now()}
		s.Call, s.At = callsite.Into("github.com/intrahpc/intra/comm.")
		e.stalls = append(e.stalls, s)
	}
	s.Awaited = a
	return s
}

// resumed removes the record of a call, if there is one.
func (e *Engine) resumed(s *Stall) {
	if s == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stalls = slices.DeleteFunc(e.stalls, func(o *Stall) bool { return o == s })
}

// Stalls returns the calls that have waited for more than about a second, and the number of
// requests completed so far. While links hold messages of this process, all these calls are
// Moving.
func (e *Engine) Stalls() (stalls []Stall, completed uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.stalls {
		c := *s
		c.Moving = c.Moving || e.handed > 0
		stalls = append(stalls, c)
	}
	return stalls, e.completed
}

// Awaited returns what r, which is not complete, lacks.
func (e *Engine) Awaited(r *Call) Awaited {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Awaited(&r.Request)
}

// AwaitedProbe is Awaited of a receive that has not been posted.
func (e *Engine) AwaitedProbe(ctx *Context, src, tag int) Awaited {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.Awaited(&Request{ctx: ctx, source: src, tag: tag})
}
