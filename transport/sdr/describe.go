package sdr

import (
	"fmt"
	"slices"
	"strings"
)

func (c *Core) describe() string {
	var b strings.Builder
	if a := c.matching.agreed; a != nil && len(a.open) > 0 {
		fmt.Fprintf(&b, "%d decisions of replica %d are not settled, the others hold %v\n", len(a.open), a.maker, a.held[a.maker])
	}
	for _, ctx := range c.contexts.order {
		for rank, s := range ctx.out {
			if s == nil {
				continue
			}
			for _, m := range s.kept {
				if m != nil {
					fmt.Fprintf(&b, "context %x: message %d to rank %d (%d bytes, tag %d): %s\n",
						ctx.id, m.number, rank, len(m.data), m.tag, m.kept())
				}
			}
		}
		for r := range ctx.any.receives() {
			fmt.Fprintf(&b, "context %x: receive from any rank with %s\n", ctx.id, r.wants())
		}
		for rank, s := range ctx.in {
			if s == nil {
				continue
			}
			for r := range s.posted.receives() {
				fmt.Fprintf(&b, "context %x: receive from rank %d with %s\n", ctx.id, rank, r.wants())
			}
			unexpected := 0
			for range s.unexpected.all() {
				unexpected++
			}
			if s.unacked+len(s.live)+unexpected > 0 {
				fmt.Fprintf(&b, "context %x: from rank %d received below %d, due %d, %d incomplete or ahead, %d unexpected, %d not acknowledged\n",
					ctx.id, rank, s.received.low, s.due, len(s.live), unexpected, s.unacked)
			}
		}
	}
	return b.String()
}

// kept describes why the message is kept.
func (m *Message) kept() string {
	var list []string
	if lacking := slices.Collect(each(m.lacking)); len(lacking) > 0 {
		list = append(list, fmt.Sprintf("replicas %v may lack it", lacking))
	}
	if m.inflight > 0 {
		list = append(list, fmt.Sprintf("links hold %d frames of it", m.inflight))
	}
	return strings.Join(list, ", ")
}

// wants describes the message that a posted receive accepts.
func (r *Request) wants() string {
	switch {
	case r.ctx.exact:
		return fmt.Sprintf("number %d of a collective", r.number)
	case r.chosen:
		return fmt.Sprintf("number %d, as was decided", r.number)
	case r.tag == Any:
		return "any tag"
	}
	return fmt.Sprintf("tag %d", r.tag)
}
