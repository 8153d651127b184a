package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// halo describes the neighbours of a rank. In every vector to which a matrix is applied,
// the neighbours' points next to the box follow the rank's own points.
type halo struct {
	box        box
	columns    int // number of own points and of neighbours' points
	neighbours []neighbour
	first      map[side]int // column of their first point
}

// neighbour is a rank on one side.
type neighbour struct {
	rank         int
	sends, comes int       // tags of the messages to and from the neighbour
	rows         []int32   // rows of the points that the neighbour needs
	packed       []float64 // values of these points
	lo, hi       int       // columns of the neighbour's points
}

// newHalo returns the halo of a box whose points are in the given rows.
func newHalo(b box, rows []int32) *halo {
	h := &halo{box: b, columns: b.points(), first: make(map[side]int)}
	for k, s := range sides {
		rank, ok := b.neighbour(s)
		if !ok {
			continue
		}
		n := b.layer(s)
		nb := neighbour{rank: rank, sends: k, comes: 25 - k, lo: h.columns}
		for i := range n[0] * n[1] * n[2] {
			place := cartesian.Split(n, i)
			for d := range place {
				if s[d] > 0 {
					place[d] = b.n[d] - 1
				}
			}
			nb.rows = append(nb.rows, rows[cartesian.Join(b.n, place)])
		}
		nb.packed = make([]float64, len(nb.rows))
		h.columns += len(nb.rows)
		nb.hi = h.columns
		h.first[s] = nb.lo
		h.neighbours = append(h.neighbours, nb)
	}
	return h
}

// column returns the column of a point that is next to the box, and whether there
// is such a point.
func (h *halo) column(place [3]int) (column int, ok bool) {
	var s side
	for d, x := range place {
		switch {
		case x < 0:
			s[d], place[d] = -1, 0
		case x >= h.box.n[d]:
			s[d], place[d] = 1, 0
		}
	}
	first, ok := h.first[s]
	return first + cartesian.Join(h.box.layer(s), place), ok
}

// exchange fills in the values of the neighbours' points in x.
func (h *halo) exchange(p *intra.Process, x []float64) error {
	if len(h.neighbours) == 0 {
		return nil
	}
	if err := intra.Fetch(p, x); err != nil {
		return err
	}
	c := p.World()
	var requests []*comm.Request
	for _, n := range h.neighbours {
		requests = append(requests, comm.Irecv(c, x[n.lo:n.hi], n.rank, n.comes))
	}
	for _, n := range h.neighbours {
		for i, row := range n.rows {
			n.packed[i] = x[row]
		}
		requests = append(requests, comm.Isend(c, n.packed, n.rank, n.sends))
	}
	if err := comm.WaitAll(requests...); err != nil {
		return fmt.Errorf("exchange points with the neighbours: %w", err)
	}
	return nil
}
