package sdr

import (
	"fmt"
	"strings"
)

// Describe says what the process keeps and what it waits for, for reports of
// jobs that do not end.
func (e *Engine) Describe() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var b strings.Builder
	c := e.core
	for _, ctx := range c.order {
		for rank, s := range ctx.out {
			if s == nil {
				continue
			}
			for _, m := range s.kept {
				if m != nil {
					fmt.Fprintf(&b, "context %x: message %d to rank %d (%d bytes, tag %d) lacks replicas %b, %d under way\n",
						ctx.id, m.number, rank, len(m.data), m.tag, m.lacking, m.inflight)
				}
			}
		}
		for _, r := range ctx.any.all() {
			fmt.Fprintf(&b, "context %x: receive from any rank with %s\n", ctx.id, r.wants())
		}
		for rank, s := range ctx.in {
			if s == nil {
				continue
			}
			for _, r := range s.posted.all() {
				fmt.Fprintf(&b, "context %x: receive from rank %d with %s\n", ctx.id, rank, r.wants())
			}
			if s.unacked+len(s.live)+len(s.unexpected.all()) > 0 {
				fmt.Fprintf(&b, "context %x: from rank %d received below %d, due %d, %d incomplete or ahead, %d unexpected, %d not acknowledged\n",
					ctx.id, rank, s.received.low, s.due, len(s.live), len(s.unexpected.all()), s.unacked)
			}
		}
	}
	return b.String()
}

// wants says which message a posted receive takes.
func (r *Request) wants() string {
	switch {
	case r.ctx.exact:
		return fmt.Sprintf("number %d of a collective", r.number)
	case r.tag == Any:
		return "any tag"
	}
	return fmt.Sprintf("tag %d", r.tag)
}
