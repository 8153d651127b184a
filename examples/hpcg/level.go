package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cartesian"
	"github.com/intrahpc/intra/kernels"
)

// level is one of the grids of the multigrid method on one rank.
type level struct {
	p      *intra.Process
	tasks  int
	box    box
	order  order
	halo   *halo
	matrix *kernels.Sliced[float64]
	*vectors

	// The smoother: sweeps over slabs of rows, or over rows of one colour.
	slabs []int // where the slabs begin, and the end
	gs    *kernels.GaussSeidel[float64]
	diag  []float64

	// The operators to the next coarser level, if there is one.
	coarse   *level
	injected *kernels.Sliced[float64] // the rows of matrix at the points of coarse
	row      []int32                  // per row of coarse: the row of its point on this level
	fine     []int32                  // per point of coarse in natural order: its row on this level
	coarser  []int32                  // per point of coarse in natural order: its row on the coarse level
}

// vectors holds the data of a level, which are kept when operators are replaced.
type vectors struct {
	r       []float64 // right-hand side
	x, next []float64 // solution, before and after a sweep
}

// newVectors makes the vectors of all levels.
func newVectors(b box) (all []*vectors) {
	for range levels {
		columns := newHalo(b, naturalOrder(b).rows).columns
		all = append(all, &vectors{
			r: intra.Alloc[float64](b.points()),
			x: intra.Alloc[float64](columns), next: intra.Alloc[float64](columns),
		})
		b = b.coarse()
	}
	return all
}

// order is the order of the unknowns of a rank.
type order struct {
	rows   []int32 // of each point
	points []int32 // of each row
	starts []int   // first row of each colour, and the end
}

func naturalOrder(b box) order {
	o := order{rows: make([]int32, b.points()), starts: []int{0, b.points()}}
	for i := range o.rows {
		o.rows[i] = int32(i)
	}
	o.points = o.rows
	return o
}

// colourOrder sorts the points by their parity in x, y and z.
func colourOrder(b box) order {
	o := order{rows: make([]int32, b.points())}
	for colour := range 8 {
		o.starts = append(o.starts, len(o.points))
		for i := range o.rows {
			if at := cartesian.Split(b.n, i); at[0]&1|at[1]&1<<1|at[2]&1<<2 == colour {
				o.rows[i] = int32(len(o.points))
				o.points = append(o.points, int32(i))
			}
		}
	}
	o.starts = append(o.starts, len(o.points))
	return o
}

// levels is the number of levels.
const levels = 4

// operator is the matrix with its preconditioner. It includes the right-hand side whose
// solution is all ones.
type operator struct {
	*level
	b []float64
}

// newOperator builds all levels. On the finest level, the diagonal and the right-hand side
// of each point are multiplied by scale of the point's number in the whole grid.
func newOperator(p *intra.Process, b box, how smoother, tasks int, scale func(global int) float64, all []*vectors) (*operator, error) {
	finest, err := newLevel(p, b, how, tasks, scale, all)
	if err != nil {
		return nil, fmt.Errorf("build the matrices: %w", err)
	}
	o := &operator{level: finest, b: kernels.Alloc[float64](b.points())}
	for row, point := range finest.order.points {
		place := cartesian.Split(b.n, int(point))
		o.b[row] = float64(26-(b.entries(place)-1)) * scale(b.global(place))
	}
	return o, nil
}

func unscaled(int) float64 { return 1 }

func newLevel(p *intra.Process, b box, how smoother, tasks int, scale func(global int) float64, all []*vectors) (*level, error) {
	l := &level{p: p, tasks: tasks, box: b, vectors: all[0]}
	if how == colour {
		l.order = colourOrder(b)
	} else {
		l.order = naturalOrder(b)
	}
	l.halo = newHalo(b, l.order.rows)
	s := newStencil(b, &l.order, l.halo)
	var err error
	if l.matrix, err = s.matrix(l.order.points, scale); err != nil {
		return nil, err
	}
	switch how {
	case colour:
		l.diag = kernels.Alloc[float64](b.points())
		for row, point := range l.order.points {
			l.diag[row] = 26 * scale(b.global(cartesian.Split(b.n, int(point))))
		}
	case slab:
		l.slabs = slabs(b, tasks)
	case natural:
		l.slabs = []int{0, b.points()}
	}
	if how != colour {
		if l.gs, err = kernels.NewGaussSeidel(l.matrix, l.slabs...); err != nil {
			return nil, err
		}
	}
	if len(all) == 1 {
		return l, nil
	}
	if l.coarse, err = newLevel(p, b.coarse(), how, tasks, unscaled, all[1:]); err != nil {
		return nil, err
	}
	return l, l.connect(s, scale)
}

// connect finds the points of the coarser level, which are those with even coordinates.
func (l *level) connect(s *stencil, scale func(global int) float64) (err error) {
	c := l.coarse
	points := make([]int32, c.box.points()) // in the order of its rows
	l.row = make([]int32, len(points))
	for i := range points {
		place := cartesian.Split(c.box.n, i)
		for d := range place {
			place[d] *= 2
		}
		point := cartesian.Join(l.box.n, place)
		row := c.order.rows[i]
		l.fine, l.coarser = append(l.fine, l.order.rows[point]), append(l.coarser, row)
		points[row], l.row[row] = int32(point), l.order.rows[point]
	}
	l.injected, err = s.matrix(points, scale)
	return err
}

// leastPlanes is the minimum number of planes of a slab. With thinner slabs more and more
// iterations are needed for the same residual.
const leastPlanes = 8

// slabs divides the planes of a box into at most most slabs. It returns the rows where they
// begin, and the end.
func slabs(b box, most int) []int {
	starts := []int{0}
	plane := b.n[0] * b.n[1]
	for _, hi := range intra.Blocks(b.n[2], max(1, min(most, b.n[2]/leastPlanes))) {
		starts = append(starts, hi*plane)
	}
	return starts
}
