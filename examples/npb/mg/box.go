package main

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// box is the part of a grid that belongs to a rank. In memory its points are surrounded by
// a layer of the neighbours' points. Both together are a shape.
type box struct {
	c         *comm.Comm
	ranks, at [3]int // number of ranks in x, y and z, and the position of this one
	shape     shape

	sent, came []float64 // borders that are sent and received
}

// newBox returns the box of a rank on a grid of n³ points. It halves z, y and x in turn
// until each rank has a box.
func newBox(c *comm.Comm, n int) *box {
	b := &box{c: c, ranks: [3]int{1, 1, 1}}
	for axis, left := 2, c.Size(); left > 1; axis, left = (axis+2)%3, left/2 {
		b.ranks[axis] *= 2
	}
	rest := c.Rank()
	for axis := range b.at {
		b.at[axis], rest = rest%b.ranks[axis], rest/b.ranks[axis]
	}
	b.shape = shape{n / b.ranks[0], n / b.ranks[1], n / b.ranks[2], [2]bool{b.ranks[0] == 1, b.ranks[1] == 1}}
	b.sent, b.came = make([]float64, 2*b.shape.border()), make([]float64, 2*b.shape.border())
	return b
}

// origin returns the position of the first point in the grid.
func (b *box) origin() [3]int {
	return [3]int{b.at[0] * b.shape.nx, b.at[1] * b.shape.ny, b.at[2] * b.shape.nz}
}

// neighbour returns the rank of the next box along an axis, in direction 1 or -1.
func (b *box) neighbour(axis, direction int) int {
	at := b.at
	at[axis] = (at[axis] + direction + b.ranks[axis]) % b.ranks[axis]
	return at[0] + b.ranks[0]*(at[1]+b.ranks[1]*at[2])
}

// exchange fills in the layer around the box in x. It does so axis by axis, so that corners
// are included.
func (b *box) exchange(x []float64) error {
	for z := 1; z <= b.shape.nz; z++ {
		b.shape.wrap(x[z*b.shape.plane():][:b.shape.plane()])
	}
	return b.exchangeRest(x)
}

// exchangeRest is like exchange, but omits the values that shape.wrap fills in, because the
// tasks that compute planes have called wrap.
func (b *box) exchangeRest(x []float64) error {
	s := b.shape
	for axis, ranks := range b.ranks {
		switch {
		case ranks > 1:
			if err := b.exchangeAlong(axis, x, s.points(axis)); err != nil {
				return fmt.Errorf("exchange borders with the neighbours: %w", err)
			}
		case axis == 2:
			copy(x[:s.plane()], x[s.nz*s.plane():])
			copy(x[(s.nz+1)*s.plane():], x[s.plane():2*s.plane()])
		}
	}
	return nil
}

// exchangeAlong exchanges the first and the last of n layers with both neighbours
// along an axis.
func (b *box) exchangeAlong(axis int, x []float64, n int) error {
	size := b.shape.layer(axis)
	var receives [2]*comm.Request
	for k, direction := range [2]int{-1, 1} {
		receives[k] = comm.Irecv(b.c, b.came[k*size:(k+1)*size], b.neighbour(axis, direction), 2*axis+1-k)
	}
	for k, direction := range [2]int{-1, 1} {
		out := b.sent[k*size : (k+1)*size]
		b.shape.pack(x, axis, [2]int{1, n}[k], out)
		if err := comm.Send(b.c, out, b.neighbour(axis, direction), 2*axis+k); err != nil {
			return err
		}
	}
	if err := comm.WaitAll(receives[:]...); err != nil {
		return err
	}
	b.shape.unpack(b.came[:size], x, axis, 0)
	b.shape.unpack(b.came[size:2*size], x, axis, n+1)
	return nil
}
