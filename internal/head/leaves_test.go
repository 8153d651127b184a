package head

import (
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
		for p, m := range w.head.members.places {
			if m.from.Node == a.node && m.role == First && m.state.there() {
				w.seen["a process leaves"]++
				e.Process, e.Incarnation = p, m.incarnation
				w.step(e)
				return
			}
		}
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
