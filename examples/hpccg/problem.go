package main

import (
	"fmt"

	"github.com/intrahpc/intra/kernels"
)

// box is the part of the grid that one rank owns. The boxes are stacked along z.
type box struct {
	nx, ny, nz int
	rank, size int
}

// plane is the number of points in a plane of constant z, the unit in which
// neighbours exchange values.
func (b box) plane() int { return b.nx * b.ny }

// rows is the number of points that the rank owns.
func (b box) rows() int { return b.plane() * b.nz }

func (b box) hasBelow() bool { return b.rank > 0 }
func (b box) hasAbove() bool { return b.rank < b.size-1 }

// A vector to which a matrix is applied holds the plane of the rank below, the rank's own
// points, and the plane of the rank above. So the columns of neighbouring rows are close to
// each other.

// first returns the index of the rank's first point in such a vector.
func (b box) first() int {
	if b.hasBelow() {
		return b.plane()
	}
	return 0
}

// above returns the index of the plane of the rank above.
func (b box) above() int { return b.first() + b.rows() }

func (b box) cols() int {
	n := b.above()
	if b.hasAbove() {
		n += b.plane()
	}
	return n
}

// own returns the rank's own points of such a vector.
func (b box) own(v []float64) []float64 { return v[b.first():b.above()] }

// column returns the index of point (x, y, z) in such a vector, and whether
// there is such a point. z is -1 or nz in the neighbours' planes.
func (b box) column(x, y, z int) (int, bool) {
	if x < 0 || x >= b.nx || y < 0 || y >= b.ny {
		return 0, false
	}
	if z < 0 && !b.hasBelow() || z >= b.nz && !b.hasAbove() {
		return 0, false
	}
	return b.first() + z*b.plane() + y*b.nx + x, true
}

// format is the format of the matrix.
type format int

const (
	sliced format = iota // slices of 8 rows with common diagonals, the fastest for this matrix
	csr                  // compressed rows, as in the original
)

// builder makes a matrix row by row.
type builder interface {
	Row(columns []int32, values []float64) error
	matrix() (kernels.Matrix[float64], error)
}

func (b box) builder(f format) builder {
	if f == csr {
		n := 27 * b.rows()
		return &csrBuilder{cols: b.cols(), ptr: make([]int64, 1, b.rows()+1),
			col: kernels.Alloc[int32](n)[:0], val: kernels.Alloc[float64](n)[:0]}
	}
	return slicedBuilder{kernels.NewBuilder[float64](b.cols(), b.rows(), 27*b.rows())}
}

type slicedBuilder struct{ *kernels.Builder[float64] }

func (s slicedBuilder) matrix() (kernels.Matrix[float64], error) { return s.Matrix(), nil }

type csrBuilder struct {
	cols int
	ptr  []int64
	col  []int32
	val  []float64
}

func (c *csrBuilder) Row(columns []int32, values []float64) error {
	c.col, c.val = append(c.col, columns...), append(c.val, values...)
	c.ptr = append(c.ptr, int64(len(c.col)))
	return nil
}

func (c *csrBuilder) matrix() (kernels.Matrix[float64], error) {
	return kernels.NewCSR(c.cols, c.ptr, c.col, c.val)
}

// generate makes the rank's rows of the matrix, and its part of the right-hand side whose
// solution is all ones. A row has 27 on the diagonal, and -1 for each neighbour among the
// 26 around a point. The entries of a row are in ascending order of their global columns.
func (b box) generate(f format) (kernels.Matrix[float64], []float64, error) {
	m := b.builder(f)
	rhs := kernels.Alloc[float64](b.rows())
	columns, values := make([]int32, 0, 27), make([]float64, 0, 27)
	for row := range b.rows() {
		x, y, z := row%b.nx, row/b.nx%b.ny, row/b.plane()
		columns, values = columns[:0], values[:0]
		for k := range 27 {
			c, ok := b.column(x+k%3-1, y+k/3%3-1, z+k/9-1)
			if !ok {
				continue
			}
			v := -1.0
			if c == b.first()+row {
				v = 27
			}
			columns, values = append(columns, int32(c)), append(values, v)
		}
		if err := m.Row(columns, values); err != nil {
			return nil, nil, fmt.Errorf("row %d: %w", row, err)
		}
		rhs[row] = 27 - float64(len(columns)-1)
	}
	a, err := m.matrix()
	return a, rhs, err
}
