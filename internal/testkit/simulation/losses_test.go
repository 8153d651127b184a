package simulation

import (
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// This file has the losses other than those of processes: hosts, links and spares.

// strikeHost ends all processes and spares of a host. In a job on one host the agent
// reports their ends. In other jobs no report arrives until the host is declared lost.
func (w *world) strikeHost(of detect.ID) {
	hosted := w.spec.moves && w.spec.hosts > 1 && of == w.head.home && w.head.head != nil // the head is there
	if w.lost[of] || w.spec.moves && w.spec.hosts > 1 && !w.others(of) || hosted && !w.head.mayBeLost() {
		return
	}
	w.loseAgent(of)
	if w.spec.hosts > 1 && w.head.mayBeLost() && (hosted || w.random.IntN(3) == 0) {
		w.loseHead()
	}
}

// loseAgent loses the agent of a host, with all processes and spares there.
func (w *world) loseAgent(of detect.ID) {
	w.seen["a host is lost"]++
	w.seen["written bytes are lost"] += w.outputs.lose(of, w.random)
	for _, p := range w.processes {
		if p.from.Node == of {
			w.kill(p, "host")
			if w.spec.hosts > 1 {
				p.lost, p.says, p.held, p.mail = true, nil, 0, nil
			}
		}
	}
	if w.spec.hosts > 1 {
		w.lost[of] = true
		w.head.losing = append(w.head.losing, of)
	}
}

// strikeSpare ends a process without a rank.
func (w *world) strikeSpare() {
	for _, p := range w.processes {
		if p.role == head.Spare && p.self == p.from.ID && !p.dead {
			w.seen["a spare dies"]++
			w.kill(p, "spare")
			return
		}
	}
}

// interrupt breaks the connection of a link, which then makes another one. If that takes
// long, a process reports the broken link to the head.
func (w *world) interrupt(l *sdrtest.Link) {
	l.Break()
	w.seen["break"]++
	p, q := l.From.(*process), l.To.(*process)
	if w.random.IntN(4) > 0 || !p.wired(q) || slices.ContainsFunc(w.broken, func(r rift) bool { return r == rift{p, q} || r == rift{q, p} }) {
		return
	}
	w.seen["a link is mended"]++
	for _, k := range []job.Kind{job.KindSuspect, job.KindMended} {
		p.tell(&job.Message{Kind: k, Process: &q.self, Incarnation: q.birth, Text: "reset"})
	}
}

// rift is a permanently broken link.
type rift struct{ p, q *process }

// open reports whether both ends of the link still exist.
func (r rift) open() bool { return !r.p.dead && !r.q.dead && !r.p.left && !r.q.left }

// sever breaks a link between two processes permanently. Both report that to
// the head.
func (w *world) sever() {
	var all []rift
	for _, l := range w.order {
		p, q := l.From.(*process), l.To.(*process)
		if r := (rift{p, q}); r.open() && p.wired(q) && q.wired(p) {
			all = append(all, r)
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
	w.broken = append(w.broken, r)
	w.rifts++
	for _, ends := range [][2]*process{{r.p, r.q}, {r.q, r.p}} {
		ends[0].tell(&job.Message{Kind: job.KindSuspect, Process: &ends[1].self, Incarnation: ends[1].birth, Text: "reset"})
	}
}

// countRifts counts again the broken links between live processes.
func (w *world) countRifts() {
	w.rifts = 0
	for _, r := range w.broken {
		if r.open() {
			w.rifts++
		}
	}
}
