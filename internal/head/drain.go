package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// leaves has hosts and processes leave on notice. Recovery moves each process at a safe point,
// if it can. If it cannot, or once the time is over, the head ends a process that has a live
// replica on a host that stays. With -replace another process replaces it, as after any death.
type leaves struct {
	*desk
	recovery *queue
	members  *members

	asked    map[job.Endpoint]bool // processes whose leaving recovery knows of
	notified map[detect.ID]bool    // nodes whose agents were given notice
	freed    map[detect.ID]bool    // nodes whose agents may end; none of them keeps the decisions

	interrupts bool // it was proposed that the job is interrupted
	handsOver  bool // it was proposed that this head hands over
	gone       bool // the driver has the order to make another host the head
}

func (ls *leaves) mayLeave(m *member, node detect.ID) error {
	if ls.other(m, node) != nil || ls.mayMove(m) {
		return nil
	}
	d := ls.recovery.decides
	why := "no other host has a free slot (-hosts), and no spare process waits (-spares)"
	switch {
	case !ls.config.replaces():
		why = "the job replaces no process: start it with -replace or -spares"
	case d == nil || !d.Relieves(m.process):
		why = "its rank has reached no safe point yet, or a rank has finished"
	}
	return fmt.Errorf("%w: %v has no other replica on a host that stays, and cannot be moved: %s", ErrStays, m.process, why)
}

// mayMove reports whether a process can move at a safe point.
func (ls *leaves) mayMove(m *member) bool {
	d := ls.recovery.decides
	return d != nil && d.Relieves(m.process) && (ls.members.relieved(m) || ls.room(m))
}

// room reports whether a process or a host can take the slot of m.
func (ls *leaves) room(m *member) bool {
	return ls.members.bestSpare(m.process) != nil || ls.config.Replace && ls.members.elsewhere(m.process, m.from.Node) != nil
}

// other returns a live replica of m's rank on another host that stays, or nil. A replica on
// node does not count: node is about to leave, too. Nor does a replica that may be let go.
func (ls *leaves) other(m *member, node detect.ID) *member {
	for o := range ls.members.replicas(m.process.Rank) {
		if o != m && o.alive() && o.state.there() && o.ending == nil && !ls.leaving(o) && !ls.departs(o) && o.from.Node != node && o.from.Node != m.from.Node {
			return o
		}
	}
	return nil
}

// departs reports whether a decision that a process leaves its rank is pending.
func (ls *leaves) departs(m *member) bool {
	return slices.ContainsFunc(ls.desk.asked, func(e decision.Entry) bool {
		return e.Recovery != nil && slices.Contains(e.Recovery.Departed, m.endpoint())
	})
}

// leaving reports whether a process is to leave, alone or with its host.
func (ls *leaves) leaving(m *member) bool {
	return slices.ContainsFunc(ls.state.Leaving, func(l decision.Leave) bool { return about(l, m) })
}

// request proposes that a node or a process leaves.
func (ls *leaves) request(e Leave) {
	if ls.phase > working || e.Node != 0 && e.Node != ls.config.Self && ls.config.node(e.Node) == nil {
		return
	}
	if e.Node != 0 && ls.state.HasLeft(e.Node) { // the agent repeats its notice to a successor
		return
	}
	entry := decision.Entry{Kind: decision.Left, Node: e.Node, Text: e.Reason}
	if e.Node == 0 {
		entry.Process, entry.Incarnation = e.Process, e.Incarnation
	}
	if e.Within > 0 {
		entry.Until = ls.elapsed() + e.Within
	}
	ls.propose(entry)
}

// decided acts on the kept decision that a node or a process leaves.
func (ls *leaves) decided(e decision.Entry) {
	what := e.Process.String()
	if e.Node != 0 {
		what = "host " + ls.hostName(e.Node)
	}
	ls.warnf("%s is to leave (%s)", what, e.Text)
	ls.watch(e.Until)
}

// again continues the departures that an earlier head has decided.
func (ls *leaves) again() {
	ls.continueEnding()
	for _, l := range ls.state.Leaving {
		ls.watch(l.Until)
	}
	ls.proceed()
}

func (ls *leaves) watch(until time.Duration) {
	if until > ls.elapsed() {
		ls.after(until-ls.elapsed(), timer{kind: leaveLate})
	}
}

// proceed takes each step that is possible now.
func (ls *leaves) proceed() {
	ls.finishEnding()
	if len(ls.state.Leaving) == 0 || ls.phase != working || !ls.hasBegun || ls.retired {
		return
	}
	for _, l := range ls.state.Leaving {
		for _, m := range ls.members.all {
			if about(l, m) && m.state.there() && m.ending == nil {
				ls.leave(m, l)
			}
		}
	}
	for _, l := range ls.state.Leaving {
		if l.Node != 0 && l.Done > 0 && l.Node != ls.config.Self && !ls.freed[l.Node] && !slices.Contains(ls.state.Members, l.Node) && !slices.ContainsFunc(ls.members.all, func(m *member) bool { return m.from.Node == l.Node && !m.settled }) {
			ls.freed[l.Node] = true
			ls.detailf("host %s has no process any more", ls.hostName(l.Node))
			if ls.notified[l.Node] {
				ls.act(Free{Node: l.Node})
			}
		}
	}
	ls.handOver()
}

// about reports whether l is about a process.
func about(l decision.Leave, m *member) bool {
	if l.Node != 0 {
		return m.from.Node == l.Node
	}
	return m.endpoint() == job.Endpoint{Process: l.Process, Incarnation: l.Incarnation} && m.role != Spare
}

// leave takes the next step for a process that is to leave.
func (ls *leaves) leave(m *member, l decision.Leave) {
	switch {
	case m.role == Spare:
		ls.kill(m)
	case m.role == Joiner && !ls.room(m):
	case m.role == Joiner: // a joiner has no state yet: the head places it on another host
		ls.fence(m, ending{job.CauseFenced, "its host leaves"})
	case ls.mayMove(m) && (l.Until == 0 || ls.elapsed() < l.Until):
		if !ls.asked[m.endpoint()] {
			ls.asked[m.endpoint()] = true
			ls.recovery.happened(m, (*recovery.Head).Leave)
		}
	case ls.other(m, l.Node) != nil:
		ls.fence(m, ending{job.CauseFenced, fmt.Sprintf("it leaves (%s), and could not be moved: %v goes on", l.Reason, ls.other(m, l.Node).process)})
	}
}

// names lists the hosts and processes that are leaving, for the user.
func (ls *leaves) names() (all []string) {
	for _, l := range ls.state.Leaving {
		switch {
		case l.Done > 0:
		case l.Node != 0:
			all = append(all, ls.hostName(l.Node))
		default:
			all = append(all, l.Process.String())
		}
	}
	return all
}

// summary returns the drains for the report.
func (ls *leaves) summary() []runreport.Drain {
	all := []runreport.Drain{}
	for _, l := range ls.state.Leaving {
		d := runreport.Drain{Host: ls.hostName(l.From), Reason: l.Reason, At: l.At.Seconds(), Ranks: []int{}}
		if l.Node == 0 {
			d.Process = &l.Process
		}
		if l.Done > 0 {
			d.Seconds = (l.Done - l.At).Seconds()
		}
		cuts := make(map[uint64]bool)
		for _, r := range ls.state.Replaced {
			if r.Left != l.From || r.At < l.At || l.Done > 0 && r.At > l.Done || l.Node == 0 && r.Process != l.Process {
				continue
			}
			if d.Bytes += r.Bytes; !slices.Contains(d.Ranks, r.Process.Rank) {
				d.Ranks = append(d.Ranks, r.Process.Rank)
			}
			if !cuts[r.Number] { // several processes may move in one cut
				cuts[r.Number] = true
				d.Stall += r.Stall.Seconds() * 1e3
			}
		}
		slices.Sort(d.Ranks)
		all = append(all, d)
	}
	return all
}
