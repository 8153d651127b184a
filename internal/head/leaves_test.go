package head

import (
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
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
	if w.random.IntN(2) == 0 {
		w.notified[a.node] = true
		w.step(Noticed{a.node})
		return
	}
	e.Node = a.node
	w.step(e)
	if w.random.IntN(4) == 0 {
		w.step(e) // a notice may arrive twice
	}
}

// relieved marks a process whose slot was given to another one.
func (w *world) relieved(v job.Verdict) {
	w.seen["a process is relieved"]++
	w.stays(v)
	if w.alive(v.Process.Rank) == 1 {
		w.seen["the last replica is relieved"]++
	}
	if at := w.state.Places[v.Process]; at.ID != v.Process {
		w.seen["a spare relieves a process"]++
	}
}

// dropped marks a process whose rank is to have fewer replicas.
func (w *world) dropped(v job.Verdict) {
	w.seen["a process is let go"]++
	w.stays(v)
	if w.alive(v.Process.Rank) == 0 {
		w.failf("the last replica of rank %d is let go", v.Process.Rank)
	}
	if w.state.Places[v.Process].Incarnation > firstIncarnation {
		w.seen["a process that has joined is let go"]++
	}
}

// stays marks a process that never leaves the cut in which it has stopped.
func (w *world) stays(v job.Verdict) {
	for _, a := range w.agents {
		for _, p := range a.all {
			if p.process != v.Process || p.incarnation != v.Incarnation {
				continue
			}
			if p.relieved = true; !p.dead && !p.inPoint {
				w.failf("%v leaves its slot outside of a cut", p)
			}
		}
	}
}

// alive returns the number of processes in the slots of a rank that are not dead.
func (w *world) alive(rank int) (n int) {
	for p, at := range w.state.Places {
		if p.Rank == rank && at.Status != decision.Dead {
			n++
		}
	}
	return n
}

// setDegrees sets the numbers of replicas of some ranks, if the head allows it. Sometimes there
// is no room.
func (w *world) setDegrees() bool {
	e := SetDegrees{Degrees: make(map[int]int), Reason: "by hand"}
	for range 1 + w.random.IntN(2) {
		rank := w.random.IntN(len(w.spec.degrees))
		e.Degrees[rank] = 1 + w.random.IntN(w.spec.degrees[rank])
	}
	if err := w.head.MayDegrees(e.Degrees); err != nil && (w.head.phase != working || w.random.IntN(4) > 0) {
		return false
	}
	w.seen["the numbers of replicas are set"]++
	w.step(e)
	return true
}

// hitWhileLettingGo loses the host of a process that is about to be let go, or of another replica
// of its rank. The loss is kept before the decision to let the process go.
func (w *world) hitWhileLettingGo() bool {
	for _, e := range w.proposed {
		if e.Recovery == nil || len(e.Recovery.Departed) == 0 {
			continue
		}
		p := job.Process{Rank: e.Recovery.Departed[0].Process.Rank, Replica: w.random.IntN(w.spec.degrees[e.Recovery.Departed[0].Process.Rank])}
		if at := w.state.Places[p]; at.Node != 0 && !w.agent(at.Node).lost && w.agent(at.Node) != w.on {
			w.loseHost(w.agent(at.Node))
			w.declareLost()
			return true
		}
	}
	return false
}

// checkJoined checks that no rank gets more replicas than it is to have. It tolerates a number
// that the head has received only a few moves ago.
func (w *world) checkJoined(d *recovery.Decision) {
	const lately = 400 // moves
	for rank, n := range w.state.Degrees {
		has, more := 0, 0
		for replica := range w.spec.degrees[rank] {
			if at, known := w.state.Recovery.Places[job.Process{Rank: rank, Replica: replica}]; !known || at.Status == recovery.Lives || at.Status == recovery.Ended {
				has++
			}
		}
		for _, j := range d.Joined {
			if j.Process.Rank == rank && !j.Relieves {
				more++
			}
		}
		if more > 0 && has+more > n && w.moves-w.setAt[rank] > lately {
			w.failf("rank %d is to have %d replicas and gets %d", rank, n, has+more)
		}
	}
}

// free ends the agent of a host. If the host has left, no process is left there.
func (w *world) free(a Free) {
	if !w.notified[a.Node] {
		w.failf("the agent of host %d ends without notice", a.Node)
	}
	if a.Why != "" {
		w.seen["an agent ends at once"]++
		if !w.agent(a.Node).lost {
			w.loseHost(w.agent(a.Node))
		}
		return
	}
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

// checkResigned checks that a head hands over only if another host that stays keeps the
// decisions. Its own host must be empty, and no cut or rollback under way, unless the time is
// over.
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
