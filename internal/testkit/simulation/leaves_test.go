package simulation

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// notified gives notice to the agent of a host, which repeats it to every successor.
func (l *leader) notified(node detect.ID) {
	if l.head != nil && !l.head.Ended() {
		l.step(head.Noticed{Node: node})
	}
}

// drain makes a host leave, if it can.
func (l *leader) drain(node detect.ID, within time.Duration) {
	if l.head == nil || l.head.MayLeave(node, job.Process{}) != nil {
		return
	}
	l.step(head.Leave{Node: node, Reason: "drain", Within: within})
}

// move makes a process leave, if it can.
func (l *leader) move(p *process, within time.Duration) {
	if l.head == nil {
		return
	}
	incarnation, lives := l.head.Lives(p.self)
	if !lives || l.head.MayLeave(0, p.self) != nil {
		return
	}
	l.w.seen["a process is to leave"]++
	l.step(head.Leave{Process: p.self, Incarnation: incarnation, Reason: "drain", Within: within})
}

// signal sends the head SIGTERM, and reports whether its host is to leave then.
func (l *leader) signal() bool {
	w := l.w
	if l.head == nil || l.over {
		return false
	}
	l.step(head.Signalled{Signal: syscall.SIGTERM})
	switch _, noticed := l.head.Notice(); {
	case l.head.Interrupted() != 0:
		w.seen["a signal ends the job"]++
		return false
	case noticed:
		w.seen["a head is to leave"]++
	}
	return true
}

// degree sets how many replicas a rank is to have, if it can have them.
func (l *leader) degree(rank int) {
	if l.head == nil {
		return
	}
	n := map[int]int{rank: 1 + l.w.random.IntN(l.w.spec.degrees[rank])}
	if l.head.MayDegrees(n) == nil {
		l.w.seen["a number of replicas is set"]++
		l.step(head.SetDegrees{Degrees: n, Reason: "by hand"})
	}
}

// leaves reports whether a process is to leave, alone or with its host.
func (l *leader) leaves(p *process) bool {
	return slices.ContainsFunc(l.state.Leaving, func(x decision.Leave) bool {
		return x.Node != 0 && x.Node == p.from.Node || x.Node == 0 && x.Process == p.self && x.Incarnation == p.birth
	})
}

// mayFence reports whether a process that leaves may be killed: its rank has another live
// replica, on another host, that stays.
func (l *leader) mayFence(p *process) bool {
	return l.leaves(p) && slices.ContainsFunc(l.w.processes, func(q *process) bool {
		return q.self.Rank == p.self.Rank && q != p && q.from.Node != p.from.Node && l.lives(q) && !l.leaves(q)
	})
}

// departed checks a process that has left its slot: it stands in the cut, and never leaves it.
func (l *leader) departed(p *process, v job.Verdict) {
	w := l.w
	if v.Cause == job.CauseDropped {
		w.seen["a process is let go"]++
	} else {
		w.seen["a process is relieved"]++
	}
	if l.alive(v.Process.Rank) == 0 && v.Cause == job.CauseDropped {
		w.fail("the last replica of rank %d is let go", v.Process.Rank)
	}
	if p.departed = true; !p.dead && !p.stands {
		w.fail("%v leaves its slot outside of a cut", p)
	}
}

// free ends the agent of a host: the host has left, or cannot leave.
func (l *leader) free(a head.Free) {
	w, node := l.w, a.Node
	if a.Why != "" {
		w.seen["an agent ends at once"]++
		w.loseAgent(node)
		return
	}
	w.seen["a host has left"]++
	w.gone[node] = true
	if !w.signalled[node] || !l.state.Leaves(node) || slices.Contains(l.state.Members, node) {
		w.fail("host %d is free to go, but was not to leave, or keeps the decisions", node)
	}
	for _, p := range w.processes {
		if p.from.Node == node && !p.dead && !p.left {
			w.fail("host %d has left, but %v lives there", node, p)
		}
	}
}

// handOver makes another host the head. That host takes over after a while.
func (l *leader) handOver() {
	w := l.w
	w.seen["a head hands over"]++
	if l.handing = false; !w.others(l.home) {
		w.fail("the head hands over, but no other host lives")
	}
	l.step(head.Retired{Why: "another head has taken its place"})
	if !l.head.Ended() || l.head.Code() != head.ExitHandedOver {
		w.fail("the head has handed over, and ends with %d", l.head.Code())
	}
	w.heirs++
	w.loseHead()
}

// removal returns the event that a host that has left no longer keeps the decisions, nil if
// there is none.
func (l *leader) removal() func() {
	i := slices.IndexFunc(l.state.Members, func(id detect.ID) bool { return id != l.home && l.state.HasLeft(id) })
	if i < 0 {
		return nil
	}
	e := decision.Entry{Kind: decision.Removed, Node: l.state.Members[i]}
	return func() {
		l.apply(e)
		l.step(head.Committed{Entry: e})
	}
}

// judgeInterrupted checks a decision to end a job that has to leave its hosts.
func (l *leader) judgeInterrupted(e decision.Entry) {
	w, end, set := l.w, l.state.Ending, l.state.Newest()
	w.seen[fmt.Sprint("exit code ", e.Code)]++
	late := end != nil && end.Until > 0 && l.now()-l.joined >= end.Until
	switch {
	case e.Code == 143 && l.head.Interrupted() != 0:
	case end == nil:
		w.fail("exit code %d: %s, and the job was not interrupted", e.Code, e.Text)
	case e.Code == 143:
		if !late || set != nil {
			w.fail("exit code %d: %s, and there was time, or files", e.Code, e.Text)
		}
	case set == nil && w.spec.restart == nil:
		w.fail("exit code %d: %s, and there are no files", e.Code, e.Text)
	case set != nil && set.Number >= end.From, strings.Contains(e.Text, "has lost its last replica"), strings.Contains(e.Text, "cannot go back"), strings.Contains(e.Text, "the link between"):
	case !late:
		w.fail("exit code %d: %s, and there was time for another set", e.Code, e.Text)
	}
}
