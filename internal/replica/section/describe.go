package section

import (
	"fmt"
	"strings"
)

// described is the number of tasks that Describe lists one by one.
const described = 16

// Describe lists, for a report, the missing tasks of the open section, and the peers that
// they depend on. It returns "" if no section is open.
func (m *Machine) Describe() string {
	if !m.open {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "section %d", m.number)
	if m.left == 0 {
		b.WriteString(" has all its tasks")
		return b.String()
	}
	fmt.Fprintf(&b, " lacks %d of %d tasks (%v):", m.left, m.shape.Tasks, m.shape.Policy)
	said := 0
	for i := range m.tasks[:m.shape.Tasks] {
		if said == described {
			fmt.Fprintf(&b, " and so on,")
			break
		}
		switch t := &m.tasks[i]; {
		case t.state == ranHere || t.state == received:
			continue
		case t.state == running:
			fmt.Fprintf(&b, " %d runs here,", i)
		case t.state == todo && t.reserved >= 0:
			fmt.Fprintf(&b, " %d is being received from replica %d,", i, t.reserved)
		case t.state == todo:
			fmt.Fprintf(&b, " %d waits for its update%s,", i, m.claimants(i))
		}
		said++
	}
	for p := range m.peers {
		if p != m.me {
			fmt.Fprintf(&b, " replica %d %s,", p, m.peers[p].describe())
		}
	}
	return strings.TrimSuffix(b.String(), ",")
}

func (m *Machine) claimants(t int) string {
	for p, c := range m.tasks[t].claims {
		if c.since > 0 && !m.gone(p) {
			return fmt.Sprintf(" from replica %d", p)
		}
	}
	return ""
}

func (p *peer) describe() string {
	switch {
	case p.dead:
		return "is dead"
	case p.finished:
		return fmt.Sprintf("has returned after %d sections", p.sections)
	case !p.seen:
		return "has not reported a section"
	}
	return fmt.Sprintf("has reached section %d", p.ahead)
}

// Describe lists, for a report, the peers for which the open call waits. It returns "" if
// no call is open.
func (o *Once) Describe() string {
	if !o.open {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "call %d of Once, which replica %d runs, waits for", o.number, o.runner())
	for p := range o.peers {
		switch q := &o.peers[p]; {
		case q.dead || q.holds:
		case p == o.me:
			b.WriteString(" the result,")
		default:
			fmt.Fprintf(&b, " replica %d to have the result,", p)
		}
	}
	return strings.TrimSuffix(b.String(), ",")
}
