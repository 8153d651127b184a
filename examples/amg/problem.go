package main

import (
	"slices"

	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// stencil determines the neighbours with which a point is coupled.
type stencil int

const (
	cross5 stencil = iota // in the plane, along the axes
	cross7                // in space, along the axes
	cube27                // in space
)

var stencils = []string{"5pt", "7pt", "27pt"}

func (s stencil) String() string { return stencils[s] }

// flat reports whether the grid has a single plane.
func (s stencil) flat() bool { return s == cross5 }

// couples reports whether points at this distance from each other are coupled. A step is at
// most 1 in each direction.
func (s stencil) couples(step [3]int) bool {
	if s.flat() && step[2] != 0 {
		return false
	}
	return s == cube27 || step[0]*step[0]+step[1]*step[1]+step[2]*step[2] <= 1
}

// diagonal returns the entry of a point itself. The entries of its neighbours are -1.
func (s stencil) diagonal() float64 { return [...]float64{4, 6, 26}[s] }

// box is the part of the grid that one rank owns. Directions are x, y and z; points and
// ranks are numbered with x fastest.
type box struct {
	stencil stencil
	n       [3]int // points
	ranks   [3]int // in each direction
	at      [3]int // position of this rank in the grid of ranks
}

func newBox(s stencil, n [3]int, rank, size int) box {
	b := box{stencil: s, n: n, ranks: cartesian.Shape(size)}
	if s.flat() {
		b.ranks = cartesian.Flat(size)
	}
	b.at = cartesian.Split(b.ranks, rank)
	return b
}

func (b box) points() int { return b.n[0] * b.n[1] * b.n[2] }

// owner returns the rank that owns a point in the box or next to it, and the point's number
// there. If the point is not in the grid, ok is false.
func (b box) owner(place [3]int) (o ghost, ok bool) {
	at := b.at
	for d, x := range place {
		switch {
		case x < 0:
			at[d], place[d] = at[d]-1, b.n[d]-1
		case x >= b.n[d]:
			at[d], place[d] = at[d]+1, 0
		}
		if at[d] < 0 || at[d] >= b.ranks[d] {
			return ghost{}, false
		}
	}
	return ghost{int32(cartesian.Join(b.ranks, at)), int32(cartesian.Join(b.n, place))}, true
}

// steps returns the steps from a point to itself and to the points with which it is
// coupled, in ascending order of their numbers.
func (s stencil) steps() (all [][3]int) {
	for k := range 27 {
		step := cartesian.Split([3]int{3, 3, 3}, k)
		for d := range step {
			step[d]--
		}
		if s.couples(step) {
			all = append(all, step)
		}
	}
	return all
}

// matrix makes the rows of the points of the box. It also returns the points of other ranks
// with which they are coupled. The columns of these points follow the rank's own ones.
func (b box) matrix() (*sparse, []ghost) {
	self := int32(cartesian.Join(b.ranks, b.at))
	steps := b.stencil.steps()
	around := func(place [3]int, f func(ghost)) {
		for _, step := range steps {
			if o, ok := b.owner([3]int{place[0] + step[0], place[1] + step[1], place[2] + step[2]}); ok {
				f(o)
			}
		}
	}
	var ghosts []ghost
	for point := range b.points() {
		if place := cartesian.Split(b.n, point); !b.inside(place) {
			around(place, func(o ghost) {
				if o.rank != self {
					ghosts = append(ghosts, o)
				}
			})
		}
	}
	slices.SortFunc(ghosts, ghost.compare)
	ghosts = slices.Compact(ghosts)

	// All points inside have the same row, shifted.
	var offsets []int32
	var values []float64
	for _, step := range steps {
		offsets, values = append(offsets, int32(cartesian.Join(b.n, step))), append(values, -1)
	}
	values[len(values)/2] = b.stencil.diagonal()

	most := len(steps) * b.points()
	a := &sparse{cols: b.points() + len(ghosts), ptr: make([]int64, 1, b.points()+1), col: make([]int32, 0, most), val: make([]float64, 0, most)}
	for point := range b.points() {
		if place := cartesian.Split(b.n, point); b.inside(place) {
			for _, offset := range offsets {
				a.col = append(a.col, int32(point)+offset)
			}
			a.val = append(a.val, values...)
		} else {
			around(place, func(o ghost) {
				c := o.index
				if o.rank != self {
					k, _ := slices.BinarySearchFunc(ghosts, o, ghost.compare)
					c = int32(b.points() + k)
				}
				a.col = append(a.col, c)
			})
			row := a.col[a.ptr[point]:]
			slices.Sort(row)
			for _, c := range row {
				if int(c) == point {
					a.val = append(a.val, b.stencil.diagonal())
				} else {
					a.val = append(a.val, -1)
				}
			}
		}
		a.ptr = append(a.ptr, int64(len(a.col)))
	}
	return a, ghosts
}

// inside reports whether all neighbours of a point are in the box.
func (b box) inside(place [3]int) bool {
	for d, x := range place {
		if d == 2 && b.stencil.flat() {
			break
		}
		if x == 0 || x == b.n[d]-1 {
			return false
		}
	}
	return true
}
