package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// method is how variables share messages.
type method int

const (
	bspma method = iota // one message for the faces of all variables
	svaf                // one for each variable
)

var methods = []string{"bspma", "svaf"}

func (m method) String() string { return methods[m] }

// halo exchanges the faces of a box with its neighbours, in phases. Values that are
// received in one phase are part of the faces of the next.
type halo struct {
	box    box
	phases [][]*neighbour
}

// neighbour is a rank one step away in one direction.
type neighbour struct {
	rank            int
	sends, comes    int  // tags of the messages to and from the neighbour
	give, take      span // own points that the neighbour needs, and its points in the halo
	packed, arrived []float64
}

// newHalo prepares the exchange for at most variables variables at once.
func newHalo(b box, s stencil, variables int) *halo {
	h := &halo{box: b}
	phases := [][]int{{0, 1, 2}}
	if s.phased() {
		phases = [][]int{{1}, {0}, {2}}
	}
	layer := b.own()
	for _, directions := range phases {
		var all []*neighbour
		for _, d := range directions {
			for side, step := range []int{-1, 1} {
				rank, ok := b.neighbour(d, step)
				if !ok {
					continue
				}
				edge := [2]int{1, b.n[d]}[side]
				n := &neighbour{rank: rank, sends: 2*d + side, comes: 2*d + 1 - side, give: layer.only(d, edge), take: layer.only(d, edge+step)}
				n.packed = make([]float64, variables*n.give.points())
				n.arrived = make([]float64, variables*n.take.points())
				all = append(all, n)
			}
		}
		h.phases = append(h.phases, all)
		for _, d := range directions {
			layer.lo[d], layer.hi[d] = 0, b.n[d]+2
		}
	}
	return h
}

// exchange fills in the halos of the grids.
func (h *halo) exchange(c *comm.Comm, grids ...[]float64) error {
	for _, phase := range h.phases {
		if err := h.pass(c, phase, grids); err != nil {
			return fmt.Errorf("exchange faces with the neighbours: %w", err)
		}
	}
	return nil
}

// pass carries out one phase. It unpacks faces as they arrive.
func (h *halo) pass(c *comm.Comm, all []*neighbour, grids [][]float64) error {
	var receives, sends []*comm.Request
	for _, n := range all {
		receives = append(receives, comm.Irecv(c, n.arrived[:len(grids)*n.take.points()], n.rank, n.comes))
	}
	for _, n := range all {
		packed := n.packed[:0]
		for _, g := range grids {
			h.box.rows(n.give, func(lo, hi int) { packed = append(packed, g[lo:hi]...) })
		}
		sends = append(sends, comm.Isend(c, packed, n.rank, n.sends))
	}
	for range all {
		i, _, err := comm.WaitAny(receives...)
		if err != nil {
			return err
		}
		n := all[i]
		arrived := n.arrived
		for _, g := range grids {
			h.box.rows(n.take, func(lo, hi int) { arrived = arrived[copy(g[lo:hi], arrived):] })
		}
	}
	return comm.WaitAll(sends...)
}
