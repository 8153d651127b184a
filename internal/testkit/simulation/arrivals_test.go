package simulation

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
)

// guest is a host that is to join the running job.
type guest struct {
	node   detect.ID
	beside detect.ID // the node of the job's start on the same host, 0 if there is none
	slots  int
	k      kill
}

// arrive makes a host ready to join, if the job can use it.
func (l *leader) arrive(k kill) {
	w := l.w
	node := firstNode + detect.ID(w.spec.hosts+len(w.guests))
	name := fmt.Sprint("h", node-head.FirstHead)
	if l.head == nil || l.head.MayJoin(name) != nil {
		return
	}
	w.seen["a host is ready to join"]++
	g := &guest{node: node, k: k, slots: 1 + w.random.IntN(4)}
	if w.random.IntN(3) == 0 {
		g.beside = l.home
	}
	w.guests = append(w.guests, g)
	l.step(head.HostArrives{Host: decision.Host{Node: node, Name: name, Slots: g.slots, Listen: "host", Beats: "host:1"}, Beside: g.beside != 0})
}

// admit makes a host a part of the job. It may be lost at once.
func (l *leader) admit(a head.Admit) {
	w := l.w
	if slices.Contains(w.nodes, a.Host.Node) {
		w.fail("host %d joins twice", a.Host.Node)
	}
	w.seen["a host joins"]++
	w.nodes = append(w.nodes, a.Host.Node)
	if g := w.guest(a.Host.Node); g.k.mortal {
		w.later = append(w.later, timed{w.steps + g.k.lost, func() { w.strikeHost(g.node) }})
	}
}

func (w *world) guest(node detect.ID) *guest {
	for _, g := range w.guests {
		if g.node == node {
			return g
		}
	}
	return nil
}

// turnAway loses the hosts that wait to join at a head that is lost. If the joining of a host is in
// the log, the host is declared lost.
func (w *world) turnAway() {
	for _, g := range w.guests {
		if slices.Contains(w.nodes, g.node) || w.lost[g.node] {
			continue
		}
		w.seen["a head is lost while a host joins"]++
		if w.lost[g.node] = true; slices.ContainsFunc(w.head.state.Hosts, func(h decision.Host) bool { return h.Node == g.node }) {
			w.seen["a head is lost after a host has joined"]++
			w.head.losing = append(w.head.losing, g.node)
		}
	}
}

// there reports whether a host is a part of the job, and its agent lives.
func (w *world) there(node detect.ID) bool {
	return slices.Contains(w.nodes, node) && !w.lost[node] && !w.gone[node]
}

// others reports whether another host is there.
func (w *world) others(than detect.ID) bool {
	return slices.ContainsFunc(w.nodes, func(id detect.ID) bool { return id != than && w.there(id) })
}

// settleHead chooses the host of the next head, if possible one that stays.
func (w *world) settleHead() {
	best := detect.ID(0)
	for _, id := range w.nodes {
		stays := !w.head.state.Leaves(id)
		if w.there(id) && (best == 0 || stays && (w.random.IntN(2) == 0 || w.head.state.Leaves(best))) {
			best = id
		}
	}
	w.head.home = best
}
