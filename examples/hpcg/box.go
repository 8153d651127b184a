package main

import (
	"fmt"

	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// box is the part of the grid of one level that one rank owns. Directions are x,
// y and z; points and ranks are numbered with x fastest.
type box struct {
	n     [3]int // points
	ranks [3]int // in each direction
	at    [3]int // position of this rank in the grid of ranks
}

// flattest is the minimum ratio of two sides, as in the original.
const flattest = 8

// newBox returns the box of a rank on the finest level.
func newBox(nx, ny, nz, rank, size int) (box, error) {
	b := box{n: [3]int{nx, ny, nz}, ranks: cartesian.Shape(size)}
	if b.ranks[0] > flattest*b.ranks[2] {
		return b, fmt.Errorf("%d ranks form a grid of %d × %d × %d, and no side may be more than %d times another: take another number of ranks",
			size, b.ranks[0], b.ranks[1], b.ranks[2], flattest)
	}
	b.at = cartesian.Split(b.ranks, rank)
	return b, nil
}

// points returns the number of points.
func (b box) points() int { return b.n[0] * b.n[1] * b.n[2] }

// coarse returns the box on the next coarser level.
func (b box) coarse() box {
	for d := range b.n {
		b.n[d] /= 2
	}
	return b
}

// global returns the number of a point in the whole grid.
func (b box) global(place [3]int) int {
	var n [3]int
	for d := range n {
		n[d] = b.ranks[d] * b.n[d]
		place[d] += b.at[d] * b.n[d]
	}
	return cartesian.Join(n, place)
}

// inside reports whether all neighbours of a point are in the box.
func (b box) inside(place [3]int) bool {
	for d, x := range place {
		if x == 0 || x == b.n[d]-1 {
			return false
		}
	}
	return true
}

// entries returns the number of points of the whole grid in the stencil around a point,
// including the point itself.
func (b box) entries(place [3]int) int {
	count := 1
	for d, x := range place {
		around := 3
		if x == 0 && b.at[d] == 0 {
			around--
		}
		if x == b.n[d]-1 && b.at[d] == b.ranks[d]-1 {
			around--
		}
		count *= around
	}
	return count
}

// A side is one of the 26 directions in which a neighbour may be, each -1, 0 or 1.
type side [3]int

// sides lists all 26 in a fixed order. Opposite sides have the indices k and 25-k.
var sides = func() (all []side) {
	for k := range 27 {
		if s := side(cartesian.Split([3]int{3, 3, 3}, k)); k != 13 {
			all = append(all, side{s[0] - 1, s[1] - 1, s[2] - 1})
		}
	}
	return all
}()

// neighbour returns the rank on that side.
func (b box) neighbour(s side) (rank int, ok bool) {
	to := b.at
	for d := range to {
		if to[d] += s[d]; to[d] < 0 || to[d] >= b.ranks[d] {
			return 0, false
		}
	}
	return cartesian.Join(b.ranks, to), true
}

// layer returns the size of the layer of points that touches a side.
func (b box) layer(s side) (n [3]int) {
	n = b.n
	for d := range n {
		if s[d] != 0 {
			n[d] = 1
		}
	}
	return n
}
