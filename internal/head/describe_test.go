package head

import (
	"fmt"
	"strings"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// This file formats worlds, events and actions for a reader.

func (f From) String() string {
	s := fmt.Sprintf("%v@%d", f.ID, f.Node)
	if f.Incarnation > 1 {
		s = fmt.Sprintf("%v#%d@%d", f.ID, f.Incarnation, f.Node)
	}
	return s
}

func describe(x any) string {
	switch x := x.(type) {
	case Begin:
		return "begin"
	case Started:
		if x.Err != "" {
			return fmt.Sprintf("started %v: error %s", x.From, x.Err)
		}
		return fmt.Sprintf("started %v pid %d", x.From, x.PID)
	case Joined:
		return fmt.Sprintf("joined %v", x.From)
	case Said:
		return fmt.Sprintf("said %v %s", x.From, describeMessage(x.Message))
	case Unreachable:
		return fmt.Sprintf("unheard %v %s %s", x.From, x.Why, x.Text)
	case Exited:
		return fmt.Sprintf("exited %v %s", x.From, x.Text)
	case ProgramGone:
		return fmt.Sprintf("programgone %v", x.From)
	case Stopped:
		return fmt.Sprintf("stopped %v %v", x.From, x.For)
	case Quiet:
		return fmt.Sprintf("quiet %v %d %s", x.From, x.Number, x.Position)
	case OutputSettled:
		return fmt.Sprintf("settled %v", x.From)
	case Differs:
		return fmt.Sprintf("differs %d %s", x.Rank, x.Text)
	case HostArrives:
		return "arrives " + x.Host.Name
	case Admit:
		return "admit " + x.Host.Name
	case Committed:
		return "kept " + describeEntry(x.Entry)
	case Disconnected:
		return fmt.Sprintf("disconnected %d %s", x.Node, x.Text)
	case Suspected:
		return fmt.Sprintf("suspected %d", x.Node)
	case Retired:
		return "retired " + x.Why
	case Opened:
		return "opened " + x.Err
	case Published:
		return fmt.Sprintf("published %d %s", x.Set.Number, x.Err)
	case Failed:
		return "failed " + x.Err
	case Signalled:
		return fmt.Sprintf("signalled %s", signalName(x.Signal))
	case Tick:
		return "tick"
	case Start:
		return fmt.Sprintf("start %v as %v %s", x.To, x.Process, x.Role)
	case Adopt:
		gone := ""
		if x.Gone {
			gone = ", gone"
		}
		return fmt.Sprintf("adopt %v as %v %s%s", x.To, x.Process, x.Role, gone)
	case Kill:
		return fmt.Sprintf("kill %v %s", x.To, signalName(x.Signal))
	case Send:
		return fmt.Sprintf("send %v %s", x.To, describeMessage(x.Message))
	case Link:
		meet := ""
		if x.Meet != nil {
			meet = fmt.Sprintf(" meet %v#%d %v#%d", x.Meet[0].Process, x.Meet[0].Incarnation, x.Meet[1].Process, x.Meet[1].Incarnation)
		}
		return fmt.Sprintf("link %v %v on %d: %s%s", x.Lower, x.Higher, x.Node, x.Kind, meet)
	case AskQuiet:
		return fmt.Sprintf("askquiet %v %d", x.To, x.Number)
	case Mute:
		return fmt.Sprintf("mute %v", x.To)
	case Resume:
		return fmt.Sprintf("resume %v at %s", x.To, x.Position)
	case Move:
		return fmt.Sprintf("move %v to %v", x.To, x.Process)
	case FinishOutput:
		how := ""
		if x.Died {
			how += " died"
		}
		if x.Itself {
			how += " itself"
		}
		return fmt.Sprintf("finish %v%s", x.To, how)
	case Propose:
		return "propose " + describeEntry(x.Entry)
	case Open:
		return "open"
	case Publish:
		return fmt.Sprintf("publish set %d of cut %d", x.Set.Number, x.Set.Cut)
	case Discard:
		return fmt.Sprintf("discard set %d", x.Set)
	case Declared:
		return fmt.Sprintf("declared %v %s", x.Verdict.Process, x.Verdict.Cause)
	case Log:
		return [...]string{"note", "warn", "detail", "reason"}[x.Level] + ": " + x.Text
	}
	return fmt.Sprintf("%T %+v", x, x)
}

func (r Role) String() string { return [...]string{"first", "joiner", "spare"}[r] }

func describeEntry(e decision.Entry) string {
	s := string(e.Kind)
	if e.Incarnation > 0 {
		s += fmt.Sprintf(" %v#%d", e.Process, e.Incarnation)
	}
	switch e.Kind {
	case decision.Placed:
		s += fmt.Sprintf(" on %d", e.Node)
		if e.ID != e.Process {
			s += fmt.Sprintf(" (%v)", e.ID)
		}
	case decision.Died, decision.Withdrawn:
		s += fmt.Sprintf(" %s: %s", e.Cause, e.Text)
	case decision.Lost:
		s += fmt.Sprintf(" %d", e.Node)
	case decision.Decided:
		s += fmt.Sprintf(" %d %s", e.Code, e.Text)
	case decision.Finished, decision.Drained:
		if e.Generation > 0 {
			s += fmt.Sprintf(" generation %d", e.Generation)
		}
	case decision.Recovery:
		d := e.Recovery
		s += fmt.Sprintf(" %s", d.Kind)
		if d.Number > 0 {
			s += fmt.Sprintf(" %d", d.Number)
		}
		for _, j := range d.Joined {
			s += fmt.Sprintf(" %v#%d of %v at %s", j.Process, j.Incarnation, j.Donor, j.Output)
		}
		if d.Set > 0 {
			s += fmt.Sprintf(" set %d", d.Set)
		}
	case decision.SetWhole:
		s += fmt.Sprintf(" %d", e.Set.Number)
	case decision.SetDone:
		s += fmt.Sprintf(" %d", e.Done.Set)
	case decision.SetAbandoned:
		s += fmt.Sprintf(" %d %s", e.Abandoned.Set, e.Abandoned.Why)
	}
	return s
}

func describeMessage(m *job.Message) string {
	s := []string{string(m.Kind)}
	add := func(format string, args ...any) { s = append(s, fmt.Sprintf(format, args...)) }
	switch m.Kind {
	case job.KindSetup:
		add("%v#%d", m.Setup.Self, m.Setup.Incarnation)
		if m.Setup.Joiner {
			add("joiner")
		}
		if m.Setup.Next > 0 {
			add("next %d", m.Setup.Next)
		}
	case job.KindStart, job.KindConnect:
		for _, p := range m.Peers {
			add("%v#%d", p.Process, p.Incarnation)
		}
	case job.KindVerdict:
		add("%d on %v#%d %s", m.Verdict.Epoch, m.Verdict.Process, m.Verdict.Incarnation, m.Verdict.Cause)
	case job.KindSuspect, job.KindMended:
		add("%v#%d", m.Process, m.Incarnation)
	case job.KindFired:
		add("%s", m.Kill.When())
	case job.KindHandled:
		add("%d", m.Epoch)
	case job.KindFail:
		add("%s", m.Failure.Text)
	case job.KindEnd:
		add("%d %s", m.Code, m.Text)
	case job.KindRefuse:
		add("%s", m.Text)
	case job.KindOrder:
		o := m.Order
		add("%s", o.Kind)
		if o.Number > 0 {
			add("%d", o.Number)
		}
		if o.Generation > 0 {
			add("generation %d", o.Generation)
		}
		switch o.Kind {
		case job.OrderDonate, job.OrderTransfer, job.OrderRenew:
			add("to %v", o.Process)
		case job.OrderAdmit:
			for _, p := range o.Joined {
				add("%v#%d", p.Process, p.Incarnation)
			}
		case job.OrderGo, job.OrderResume:
			if o.Next > 0 {
				add("next %d", o.Next)
			}
			for _, c := range o.Plan {
				add("%v>%v", c.Source, c.Holder)
			}
			if o.Set > 0 {
				add("set %d", o.Set)
			}
		case job.OrderRollback:
			for _, d := range o.Deals {
				add("%v>%v", d.From, d.To)
			}
		}
	case job.KindReply:
		r := m.Reply
		add("%s", r.Kind)
		if r.Number > 0 {
			add("%d", r.Number)
		}
		switch r.Kind {
		case job.ReplyLinked, job.ReplyCopied:
			add("%v", r.Process)
		case job.ReplyStored:
			add("rank %d", r.Rank)
		case job.ReplySaved:
			add("set %d", r.Set)
		}
		if r.Generation > 0 {
			add("generation %d", r.Generation)
		}
	}
	return strings.Join(s, " ")
}

func (w *world) String() string {
	var b strings.Builder
	for _, l := range w.trace {
		fmt.Fprintln(&b, l)
	}
	for _, a := range w.agents {
		fmt.Fprintf(&b, "node %d lost %v inbox %d outbox %d\n", a.node, a.lost, len(a.inbox), len(a.outbox))
		for _, p := range a.all {
			fmt.Fprintln(&b, "  ", p)
		}
	}
	if w.head != nil {
		for _, m := range w.head.members.all {
			fmt.Fprintf(&b, "head: %v#%d %v %v role %d settled %v told %v ending %v\n", m.process, m.incarnation, m.from, m.state, m.role, m.settled, m.informed, m.ending)
		}
		fmt.Fprintf(&b, "phase %d asked %+v wanted %v keeping %v, %d events\n", w.head.phase, w.head.asked, w.head.members.wanted, w.head.recovery.keeping, len(w.head.recovery.events))
		if d := w.head.recovery.decides; d != nil {
			fmt.Fprintln(&b, d)
		}
	}
	return b.String()
}
