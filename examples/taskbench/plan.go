package main

import (
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// plan lists the sources and messages of a rank in the steps of one kind.
type plan struct {
	lo       int     // first point of the rank
	sources  [][]int // of each of its points
	in, out  []message
	receives []*comm.Request
	sends    []*comm.Request
}

// message holds the values of some points, which one rank owns and another needs.
type message struct {
	points []int
	values []float64
}

// owned returns the blocks of points that the ranks own, in a grid of that width.
func owned(width, ranks int) []intra.Range {
	all := make([]intra.Range, ranks)
	for i := range all {
		all[i] = intra.Range{Lo: width, Hi: width} // there may be fewer points than ranks
	}
	i := 0
	for lo, hi := range intra.Blocks(width, ranks) {
		all[i] = intra.Range{Lo: lo, Hi: hi}
		i++
	}
	return all
}

// newPlan makes the plan of a rank for steps like the given one.
func newPlan(c *comm.Comm, g *graph, step int) *plan {
	blocks := owned(g.width, c.Size())
	own := blocks[c.Rank()]
	p := &plan{lo: own.Lo}
	for at := own.Lo; at < min(own.Hi, g.points(step)); at++ {
		p.sources = append(p.sources, g.sources(step, at))
	}
	for rank, theirs := range blocks {
		if rank == c.Rank() {
			continue
		}
		if m := newMessage(g, step, theirs, own); len(m.points) > 0 {
			p.in = append(p.in, m)
			p.receives = append(p.receives, comm.RecvInit(c, m.values, rank, 0))
		}
		if m := newMessage(g, step, own, theirs); len(m.points) > 0 {
			p.out = append(p.out, m)
			p.sends = append(p.sends, comm.SendInit(c, m.values, rank, 0))
		}
	}
	return p
}

// newMessage returns a message with the values of points in from that points in to need.
func newMessage(g *graph, step int, from, to intra.Range) (m message) {
	for at := to.Lo; at < min(to.Hi, g.points(step)); at++ {
		for _, source := range g.sources(step, at) {
			if source >= from.Lo && source < from.Hi {
				m.points = append(m.points, source)
			}
		}
	}
	slices.Sort(m.points)
	m.points = slices.Compact(m.points)
	m.values = make([]float64, len(m.points))
	return m
}

// exchange receives the values of u that points of this rank need from other ranks, and sends
// other ranks the values that they need.
func (p *plan) exchange(u []float64) error {
	for _, r := range p.receives {
		r.Start()
	}
	for i, m := range p.out {
		for k, at := range m.points {
			m.values[k] = u[at]
		}
		p.sends[i].Start()
	}
	if err := comm.WaitAll(p.receives...); err != nil {
		return err
	}
	for _, m := range p.in {
		for k, at := range m.points {
			u[at] = m.values[k]
		}
	}
	return comm.WaitAll(p.sends...)
}
