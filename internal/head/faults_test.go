package head

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// This file injects faults into a world.

// inject injects a random fault.
func (w *world) inject() {
	var live []*proc
	for _, a := range w.agents {
		for _, p := range a.all {
			if !p.dead && !a.lost {
				live = append(live, p)
			}
		}
	}
	if len(live) == 0 {
		return
	}
	p := live[w.random.IntN(len(live))]
	if w.spec.states && w.random.IntN(3) > 0 {
		w.differ(p)
		return
	}
	if w.spec.sample && w.random.IntN(3) > 0 {
		w.blame(p)
		return
	}
	switch r := w.random.IntN(10); {
	case r == 6 && p.hello:
		w.seen["a control connection is unusable"]++
		p.stuck = true
		p.tell(Unreachable{p.from, SilenceEnd, "EOF"})
	case r == 7 && w.random.IntN(2) == 0:
		w.seen["a program ends before its wrapper"]++
		p.stuck = true
		p.tell(ProgramGone{p.from})
	case r < 2 && w.spec.hosts && w.hosts() > 1:
		w.loseHost(p.agent)
	case r == 2 && w.spec.links:
		p.suspectSomebody()
	case r == 3 && w.spec.stops:
		for _, q := range live {
			if q == p || q.process.Rank == p.process.Rank && w.random.IntN(3) == 0 {
				q.stop()
			}
		}
	case r == 4:
		w.seen["a process ends by itself"]++
		p.exit(1)
	case r == 5 && p.begun && !p.done:
		p.say(&job.Message{Kind: job.KindFail, Failure: &job.Failure{Kind: job.FailPanic, Text: "it fell"}, Stats: new(job.Stats)})
		p.exit(2)
	default:
		w.seen["a process is killed"]++
		p.kill(syscall.SIGKILL)
	}
}

// differ makes the replicas of a rank find that their states differ.
func (w *world) differ(p *proc) {
	var rank []*proc
	for _, a := range w.agents {
		for _, q := range a.all {
			if q.process.Rank == p.process.Rank && q.works() && !q.done && !q.inPoint && !q.back.Pending() && q.gen == p.gen {
				rank = append(rank, q)
			}
		}
	}
	if len(rank) < 2 {
		return
	}
	d := job.Dispute{Point: p.point + 1, Generation: p.gen, Text: "the states differ"}
	switch w.random.IntN(4) {
	case 0:
		d.Kind, d.Text = job.FailPanic, "index out of range"
		w.seen["a program fails"]++
	case 1:
		d.Kind, d.Text = job.FailCorruption, "the results differ"
		w.seen["results differ"]++
	default:
		w.seen["states differ"]++
	}
	for _, q := range rank {
		q.dispute = &d
		q.sayCorruption()
	}
}

// blame makes the other replicas of a rank find that a process has computed a wrong
// result.
func (w *world) blame(p *proc) {
	if !p.works() || p.done || p.back.Pending() || p.point == 0 {
		return
	}
	c := job.Blame{Process: p.process, Incarnation: max(p.frames, p.incarnation), Kernel: "k", Generation: p.gen, Sure: w.random.Uint64N(p.point + 1)}
	for _, a := range w.agents {
		for _, q := range a.all {
			if q != p && q.process.Rank == p.process.Rank && q.works() && !q.done && !q.back.Pending() && q.gen == p.gen {
				w.seen["a process is blamed"]++
				q.blamed = append(q.blamed, c)
				q.sayCorruption()
			}
		}
	}
}

// sayCorruption reports the findings of the process to the present head.
func (p *proc) sayCorruption() {
	p.say(&job.Message{Kind: job.KindStats, Stats: &job.Stats{Corruption: &job.Corruption{Dispute: p.dispute, Blames: slices.Clone(p.blamed)}}})
}

// hosts counts the live hosts.
func (w *world) hosts() (n int) {
	for _, a := range w.agents {
		if !a.lost {
			n++
		}
	}
	return n
}

// loseHost loses a host, with everything on it.
func (w *world) loseHost(a *agent) {
	w.note("a host is lost: ", a.node)
	w.seen["a host is lost"]++
	if w.left[a.node] {
		w.seen["a host that has left is lost"]++
	}
	a.lost = true
	for _, p := range a.all {
		p.dead = true
	}
	a.inbox, a.outbox = nil, nil
	for _, b := range w.agents {
		for _, p := range b.all {
			for _, q := range a.all {
				if !b.lost && p.works() && w.spec.links && w.random.IntN(2) == 0 {
					p.suspect(q)
				}
			}
		}
	}
	w.losing = append(w.losing, a.node)
	if w.on == a {
		w.loseHead()
	} else if w.random.IntN(2) == 0 {
		w.waiting = append(w.waiting, Disconnected{a.node, "connection reset"})
	}
}

func (w *world) mayLoseHead() bool {
	return w.heads > 0 && w.hosts() > 1 && !w.signal && !w.retired
}

// loseHead loses the head. Its successor knows the decisions that were kept. Some of the
// lost head's proposals may still be kept, and some of its messages may still arrive.
func (w *world) loseHead() {
	w.heads--
	w.note("the head is lost, after term ", w.term)
	w.seen["a head is lost"]++
	if w.handing {
		w.seen["a head is lost while it hands over"]++
	}
	if !w.state.Started {
		w.seen["a head is lost before all had joined"]++
	}
	if len(w.state.Replaced) > 0 {
		w.seen["a head is lost after a replacement"]++
	}
	for _, at := range w.state.Places {
		if at.Node == 0 {
			w.seen["a head is lost while a slot is vacant"]++
			break
		}
	}
	if len(w.state.Reliefs) > 0 {
		w.seen["a head is lost while a process is relieved"]++
	}
	if slices.ContainsFunc(w.state.Verdicts, func(v decision.Verdict) bool { return v.Cause == job.CauseDropped }) {
		w.seen["a head is lost after a process was let go"]++
	}
	if slices.ContainsFunc(slices.Collect(maps.Keys(w.state.Spares)), w.late) {
		w.seen["a head is lost after a late spare was started"]++
	}
	if w.state.Recovery.Rolling {
		w.seen["a head is lost in a rollback"]++
	}
	w.succeed()
}

// handOver makes another host the head, as the present head has decided.
func (w *world) handOver() {
	w.seen["a head hands over"]++
	if w.state.Recovery.Rolling {
		w.seen["a head hands over in a rollback"]++
	}
	if w.step(Retired{"another head has taken its place"}); !w.head.Ended() || w.head.Code() != ExitHandedOver {
		w.failf("the head has handed over, and ends with %d", w.head.Code())
	}
	w.succeed()
}

// succeed makes a successor of the head.
func (w *world) succeed() {
	w.handing = false
	for _, e := range w.proposed[:w.random.IntN(len(w.proposed)+1)] {
		w.keep(e)
	}
	w.turnAway()
	w.proposed, w.waiting, w.disk = nil, nil, nil
	for len(w.losing) > 0 {
		id := w.losing[0]
		w.losing = w.losing[1:]
		w.keep(decision.Entry{Kind: decision.Lost, Node: id, Text: fmt.Sprint("node ", id), At: w.elapsed(), Testimonies: testimonies(id)})
	}
	var agents []Resync
	w.on = nil
	for _, a := range w.agents {
		if a.lost {
			continue
		}
		n := w.random.IntN(len(a.inbox) + 1)
		for _, act := range a.inbox[:n] {
			a.obey(act)
		}
		a.inbox, a.outbox = nil, nil
		for _, p := range a.all {
			p.since = longAgo
		}
		agents = append(agents, a.resync())
		if stays := !w.state.Leaves(a.node); w.on == nil || stays && (w.random.IntN(2) == 0 || w.state.Leaves(w.on.node)) {
			w.on = a
		}
	}
	w.outputs = make(map[From]*outlet)
	w.term++
	c := w.config
	c.Self, c.Home = w.on.node, w.on.node
	for _, a := range w.agents {
		if a.beside == w.on.node {
			c.Beside = append(c.Beside, a.node)
		}
	}
	joined := w.began
	head, acts := Restore(c, Succession{State: w.state.Clone(), Agents: agents, Term: w.term, Joined: joined}, w.now)
	w.head = head
	for _, a := range w.agents {
		if !a.lost {
			a.repeat()
		}
	}
	w.do(acts)
	for _, a := range w.agents {
		if w.notified[a.node] && !a.lost && !w.left[a.node] { // it repeats its notice
			w.step(Noticed{a.node})
		}
	}
}

// testimonies returns the testimonies of two observers.
func testimonies(id detect.ID) (all []detect.Testimony) {
	for i := range 2 {
		age := time.Duration(700+10*i) * time.Millisecond
		all = append(all, detect.Testimony{Observer: FirstHead + detect.ID(i), Sighting: detect.Sighting{Host: id, Age: age, Limit: 650 * time.Millisecond}})
	}
	return all
}
