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

// Awaited describes what a call waits for.
type Awaited struct {
	Ranks  []int // ranks of the job from which it needs an action
	One    bool  // one of Ranks is enough; otherwise all are needed
	Tag    int   // tag of the awaited message; Any, or a collective, has none
	Tagged bool  // Tag is the tag of a message
	Moving bool  // all ranks have done their part, and links carry the rest
}

// stalled records a call that has waited for a while, and what it waits for. s is the
// previous record of the call, or nil. The lock is held.
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

// Awaited returns what r, which is not complete, waits for.
func (e *Engine) Awaited(r *Call) Awaited {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.retired {
		return Awaited{}
	}
	return e.core.finishing.Awaited(&r.Request)
}

// AwaitedProbe is like Awaited, for a receive that has not been posted.
func (e *Engine) AwaitedProbe(ctx *Context, src, tag int) Awaited {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.retired {
		return Awaited{}
	}
	return e.core.finishing.Awaited(&Request{ctx: ctx, source: src, tag: tag})
}

// Describe lists the messages that the process keeps and those that it waits for, for
// reports on jobs that hang.
func (e *Engine) Describe() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.core.describe()
}
