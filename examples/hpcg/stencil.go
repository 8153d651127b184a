package main

import (
	"slices"

	"github.com/intrahpc/intra/examples/internal/cartesian"
	"github.com/intrahpc/intra/kernels"
)

// stencil makes the rows of a matrix: 26 on the diagonal and -1 for each neighbour
// among the 26 around a point.
type stencil struct {
	box   box
	order *order
	halo  *halo

	columns []int32 // columns of the current row
	values  []float64
	// Differences in natural order between a point inside and its neighbours.
	around []int
}

func newStencil(b box, o *order, h *halo) *stencil {
	s := &stencil{box: b, order: o, halo: h}
	if len(o.starts) == 2 {
		for k := range 27 {
			at := cartesian.Split([3]int{3, 3, 3}, k)
			s.around = append(s.around, cartesian.Join(b.n, [3]int{at[0] - 1, at[1] - 1, at[2] - 1}))
		}
	}
	return s
}

// matrix returns the matrix of the rows of these points. Each entry on the diagonal is
// multiplied by scale of the point's number in the whole grid.
func (s *stencil) matrix(points []int32, scale func(global int) float64) (*kernels.Sliced[float64], error) {
	m := kernels.NewBuilder[float64](s.halo.columns, len(points), 27*len(points))
	for _, point := range points {
		place := cartesian.Split(s.box.n, int(point))
		s.row(place, 26*scale(s.box.global(place)))
		if err := m.Row(s.columns, s.values); err != nil {
			return nil, err
		}
	}
	return m.Matrix(), nil
}

// row computes the row of one point, in ascending order of columns.
func (s *stencil) row(place [3]int, diagonal float64) {
	s.columns, s.values = s.columns[:0], s.values[:0]
	if s.around != nil && s.box.inside(place) {
		point := cartesian.Join(s.box.n, place)
		for _, by := range s.around {
			s.columns, s.values = append(s.columns, int32(point+by)), append(s.values, -1)
		}
		s.values[len(s.values)/2] = diagonal
		return
	}
	for z := place[2] - 1; z <= place[2]+1; z++ {
		for y := place[1] - 1; y <= place[1]+1; y++ {
			for x := place[0] - 1; x <= place[0]+1; x++ {
				if c, ok := s.column([3]int{x, y, z}); ok {
					s.columns = append(s.columns, int32(c))
				}
			}
		}
	}
	slices.Sort(s.columns)
	own := s.order.rows[cartesian.Join(s.box.n, place)]
	for _, c := range s.columns {
		if c == own {
			s.values = append(s.values, diagonal)
		} else {
			s.values = append(s.values, -1)
		}
	}
}

// column returns the column of a point, and whether there is such a point.
func (s *stencil) column(place [3]int) (int, bool) {
	for d, x := range place {
		if x < 0 || x >= s.box.n[d] {
			return s.halo.column(place)
		}
	}
	return int(s.order.rows[cartesian.Join(s.box.n, place)]), true
}
