package simulation

import (
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Losses of more than a process, and of less: hosts, links and spares.

// strikeHost ends all processes of the host of one of them, and spares there.
func (w *world) strikeHost(of job.Process) {
	host := w.spec.host(of)
	w.seen["a host is lost"]++
	for _, p := range w.processes {
		if w.spec.host(p.self) == host {
			w.kill(p, "host")
		}
	}
	w.strikeSpare()
}

// strikeSpare ends a process without a rank.
func (w *world) strikeSpare() {
	h := w.head
	if h.spares == 0 || h.decides == nil || h.decided || h.released {
		return
	}
	h.spares--
	w.seen["a spare dies"]++
	h.tell(func() []recovery.Action { return h.decides.SpareGone(h.now()) })
}

// rift is a link that has broken for good, as its ends have told the head.
type rift struct {
	p, q   *process
	judged int // times that it had to be waited for another replica
}

// sever breaks the link between two processes that have one.
func (w *world) sever() {
	var all []rift
	for _, l := range w.order {
		p, q := l.From.(*process), l.To.(*process)
		if !p.dead && !q.dead && p.wired(q) && q.wired(p) && !p.left && !q.left {
			all = append(all, rift{p: p, q: q})
		}
	}
	if len(all) == 0 {
		return
	}
	r := all[w.random.IntN(len(all))]
	w.seen["a link is broken"]++
	for _, l := range w.order {
		if l.From == r.p && l.To == r.q || l.From == r.q && l.To == r.p {
			l.Sever()
		}
	}
	w.link(r.p, r.q).Sever()
	w.link(r.q, r.p).Sever()
	w.rifts = append(w.rifts, r)
}

// judgeRift makes an end of a link that broke go, unless that end is dead
// anyway: of two last replicas one goes that the job can come back without; if
// both will have a second one soon, that is waited for.
func (h *head) judgeRift() {
	w := h.w
	r := w.rifts[0]
	w.rifts = w.rifts[1:]
	if h.released || h.decided || r.p.dead || r.q.dead {
		return
	}
	victim, ok := h.victim(r.p, r.q)
	if !ok && h.decides != nil && r.p.self.Rank != r.q.self.Rank {
		higher, lower := r.p, r.q
		if higher.self.Compare(lower.self) < 0 {
			higher, lower = lower, higher
		}
		for _, v := range []*process{higher, lower} {
			if !ok && h.decides.Returns(v.self) {
				victim, ok = v, true
				if !h.keeping && len(h.events) == 0 && !h.survives(v) {
					w.fail("%v has to go because of a broken link, and a backup is lost with it", v)
				}
				w.seen["a link between last replicas is broken"]++
			}
		}
	}
	if ok {
		w.kill(victim, "link")
		return
	}
	for p, s := range h.standing {
		if r.judged < 20 && s == coming && (p.Rank == r.p.self.Rank || p.Rank == r.q.self.Rank) {
			r.judged++
			w.rifts = append(w.rifts, r)
			return
		}
	}
	h.decided, h.cut = true, true
	h.settle()
}

// victim chooses which end of a broken link has to go.
func (h *head) victim(p, q *process) (*process, bool) {
	if p.self.Compare(q.self) > 0 {
		p, q = q, p
	}
	for _, v := range []*process{p, q} {
		if h.members[v.self] == v && h.standing[v.self] == coming {
			return v, true
		}
	}
	a, b := h.alive(p.self.Rank), h.alive(q.self.Rank)
	switch {
	case a <= 1 && b <= 1:
		return nil, false
	case a > b:
		return p, true
	}
	return q, true
}
