package main

import (
	"fmt"

	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// box is the part of a grid that one rank owns. Directions are x, y and z; points and ranks
// are numbered with x fastest. In memory the points are surrounded by a layer of points on
// all sides, the halo. In each direction the rank's own points have the indices 1 to n, and
// those of the halo 0 and n+1.
type box struct {
	n     [3]int // points
	ranks [3]int // in each direction
	at    [3]int // position of this rank in the grid of ranks
}

// newBox returns the box of a rank. If no grid of ranks is given, it is as cubic as
// possible.
func newBox(n, ranks [3]int, rank, size int) (box, error) {
	b := box{n: n, ranks: ranks}
	switch {
	case ranks == [3]int{}:
		b.ranks = cartesian.Shape(size)
	case ranks[0]*ranks[1]*ranks[2] != size:
		return b, fmt.Errorf("-npx %d -npy %d -npz %d make %d ranks, and there are %d (intrarun -n)",
			ranks[0], ranks[1], ranks[2], ranks[0]*ranks[1]*ranks[2], size)
	}
	b.at = cartesian.Split(b.ranks, rank)
	return b, nil
}

// width and height are the number of points in a row and of rows in a plane, in memory.
func (b box) width() int  { return b.n[0] + 2 }
func (b box) height() int { return b.n[1] + 2 }

// size returns the number of points in memory.
func (b box) size() int { return b.width() * b.height() * (b.n[2] + 2) }

// index returns the index of a point in memory.
func (b box) index(x, y, z int) int { return x + b.width()*(y+b.height()*z) }

// whole returns the number of points of the whole grid in each direction.
func (b box) whole() (n [3]int) {
	for d := range n {
		n[d] = b.ranks[d] * b.n[d]
	}
	return n
}

// points returns the number of points in the whole grid.
func (b box) points() int {
	n := b.whole()
	return n[0] * n[1] * n[2]
}

// local converts a position in the whole grid, which counts from 0, to the position in this
// box. It also reports whether this rank owns the point.
func (b box) local(place [3]int) (own [3]int, ok bool) {
	for d := range place {
		own[d] = place[d] - b.at[d]*b.n[d] + 1
		if own[d] < 1 || own[d] > b.n[d] {
			return own, false
		}
	}
	return own, true
}

// around returns how many of a point and its two neighbours in a direction are in the
// domain.
func (b box) around(d, x int) int {
	count := 3
	if x == 1 && b.at[d] == 0 {
		count--
	}
	if x == b.n[d] && b.at[d] == b.ranks[d]-1 {
		count--
	}
	return count
}

// neighbour returns the rank one step away in a direction.
func (b box) neighbour(d, step int) (rank int, ok bool) {
	to := b.at
	to[d] += step
	if to[d] < 0 || to[d] >= b.ranks[d] {
		return 0, false
	}
	return cartesian.Join(b.ranks, to), true
}

// span is the points lo to hi-1 in each direction.
type span struct{ lo, hi [3]int }

// own returns the points that the rank owns.
func (b box) own() span {
	return span{[3]int{1, 1, 1}, [3]int{b.n[0] + 1, b.n[1] + 1, b.n[2] + 1}}
}

func (s span) points() int {
	return (s.hi[0] - s.lo[0]) * (s.hi[1] - s.lo[1]) * (s.hi[2] - s.lo[2])
}

// only returns the points of s whose index in a direction is x.
func (s span) only(d, x int) span {
	s.lo[d], s.hi[d] = x, x+1
	return s
}

// rows calls f for each row of s, with its beginning and end in memory.
func (b box) rows(s span, f func(lo, hi int)) {
	for z := s.lo[2]; z < s.hi[2]; z++ {
		for y := s.lo[1]; y < s.hi[1]; y++ {
			f(b.index(s.lo[0], y, z), b.index(s.hi[0], y, z))
		}
	}
}

// faces returns the points at the walls of the domain, each point once. A flat stencil has
// no walls in z, because it does not couple planes.
func (b box) faces(flat bool) (all []span) {
	rest := b.own()
	for d := 2; d >= 0; d-- {
		if d == 2 && flat {
			continue
		}
		if b.at[d] == 0 {
			all = append(all, rest.only(d, 1))
			rest.lo[d]++
		}
		if b.at[d] == b.ranks[d]-1 && rest.lo[d] < rest.hi[d] {
			all = append(all, rest.only(d, b.n[d]))
			rest.hi[d]--
		}
		if rest.points() == 0 {
			break
		}
	}
	return all
}
