package head

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// leave orders a host or a process to leave, perhaps with too little time.
func (w *world) leave() {
	e := Leave{Reason: "notice"}
	if w.random.IntN(3) == 0 {
		e.Within = time.Duration(1+w.random.IntN(1000)) * time.Millisecond
	}
	a := w.agents[w.random.IntN(len(w.agents))]
	if w.random.IntN(2) == 0 {
		for _, p := range job.Processes(w.spec.degrees) {
			if m := w.head.members.places[p]; m != nil && m.from.Node == a.node && m.role == First && m.state.there() {
				w.seen["a process leaves"]++
				e.Process, e.Incarnation = p, m.incarnation
				w.step(e)
				return
			}
		}
	}
	h := w.head
	if home := h.config.Home; w.random.IntN(3) == 0 && h.phase == working && h.MayLeave(home, job.Process{}) == nil && h.leaves.mayHandOver() == nil && !h.noticed && w.config.Drain {
		w.seen["a head is to leave"]++
		w.step(Signalled{Signal: syscall.SIGTERM})
		return
	}
	if h.MayEnd() && w.random.IntN(6) == 0 {
		w.seen["a job is interrupted"]++
		w.step(End{Reason: "notice", Within: e.Within})
		return
	}
	w.seen["a host leaves"]++
	e.Node = a.node
	w.step(e)
	if w.random.IntN(4) == 0 {
		w.step(e) // a notice may arrive twice
	}
}

// relieved marks a process whose slot another one has taken over. The process has stopped in
// the cut.
func (w *world) relieved(v job.Verdict) {
	w.seen["a process is relieved"]++
	for _, a := range w.agents {
		for _, p := range a.all {
			if p.process != v.Process || p.incarnation != v.Incarnation {
				continue
			}
			if p.relieved = true; !p.dead && !p.inPoint {
				w.failf("%v is relieved outside of the cut", p)
			}
		}
	}
	alive := 0
	for p, at := range w.state.Places {
		if p.Rank == v.Process.Rank && at.Status != "dead" {
			alive++
		}
	}
	if alive == 1 {
		w.seen["the last replica is relieved"]++
	}
	if at := w.state.Places[v.Process]; at.ID != v.Process {
		w.seen["a spare relieves a process"]++
	}
}

// checkFree checks that no process is left on a host that has left.
func (w *world) checkFree(a Free) {
	w.left[a.Node] = true
	w.seen["a host has left"]++
	if !w.state.Leaves(detect.ID(a.Node)) {
		w.failf("host %d is freed, but was not to leave", a.Node)
	}
	for _, p := range w.agent(a.Node).all {
		if !p.dead {
			w.failf("host %d is freed, but %v lives there", a.Node, p)
		}
	}
}

// checkResigned checks that a head hands over when its host is empty and no cut or rollback is
// under way, or the time is over, and only if another host that stays keeps the decisions.
func (w *world) checkResigned() {
	c := w.head.config
	if !slices.ContainsFunc(w.state.Members, func(id detect.ID) bool {
		_, lost := w.state.Lost[id]
		return id != c.Self && id != FirstHead && !lost && !w.state.Leaves(id)
	}) {
		w.failf("the head hands over, and no host can follow it: %v", w.state.Members)
	}
	for _, l := range w.state.Leaving {
		if late := l.Until > 0 && w.elapsed() >= l.Until; l.Node != c.Home || late {
			continue
		}
		if r := &w.state.Recovery; r.Rolling || !r.Rest && (r.Asking || r.CutAt > 0 || r.Admitting) { // once a rank has finished there is no cut
			w.failf("the head hands over in a cut, or in a rollback: %+v", r)
		}
		if !w.state.HasLeft(l.Node) {
			w.failf("the head hands over, and its host has processes")
		}
		w.checkBeside(l)
		return
	}
}

// checkInterrupted checks that an interrupted job has written its last set, or had no time.
func (w *world) checkInterrupted(s Summary) {
	e, set := w.state.Ending, w.state.Newest()
	switch {
	case e == nil:
		w.failf("exit code %d: %s, and the job was not interrupted", s.Code, s.Text)
	case set != nil && set.Number >= e.From:
	case set == nil && !w.spec.restart:
		w.failf("exit code %d: %s, and there are no files", s.Code, s.Text)
	case strings.Contains(s.Text, "has lost its last replica"), strings.Contains(s.Text, "neither has another replica"), strings.Contains(s.Text, "cannot go back"):
	case e.Until == 0 || w.elapsed() < e.Until:
		w.failf("exit code %d: %s, and there was time for another set", s.Code, s.Text)
	}
}
