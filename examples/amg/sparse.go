package main

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/kernels"
)

// sparse is a matrix of compressed rows.
//
//intra:state
type sparse struct {
	cols int
	ptr  []int64 // where each row begins in col and val, and the end
	col  []int32 // in ascending order in each row
	val  []float64
}

func (s *sparse) rows() int { return len(s.ptr) - 1 }

// row returns the columns and values of row i.
func (s *sparse) row(i int) ([]int32, []float64) {
	lo, hi := s.ptr[i], s.ptr[i+1]
	return s.col[lo:hi], s.val[lo:hi]
}

// matrix returns the matrix in the form whose products are fastest.
func (s *sparse) matrix() (kernels.Matrix[float64], error) {
	a, err := kernels.NewCSR(s.cols, s.ptr, s.col, s.val)
	if err != nil {
		return nil, fmt.Errorf("matrix of %d rows and %d columns: %w", s.rows(), s.cols, err)
	}
	return kernels.Choose(a), nil
}

// transposed returns the transpose of s.
func (s *sparse) transposed() *sparse {
	t := &sparse{cols: s.rows(), ptr: make([]int64, s.cols+1), col: make([]int32, len(s.col)), val: make([]float64, len(s.val))}
	for _, c := range s.col {
		t.ptr[c+1]++
	}
	for c := range s.cols {
		t.ptr[c+1] += t.ptr[c]
	}
	next := append([]int64(nil), t.ptr...)
	for i := range s.rows() {
		col, val := s.row(i)
		for k, c := range col {
			t.col[next[c]], t.val[next[c]] = int32(i), val[k]
			next[c]++
		}
	}
	return t
}

// inverseDiagonal returns the inverse of each entry on the diagonal.
func (s *sparse) inverseDiagonal() ([]float64, error) {
	inverse := make([]float64, s.rows())
	for i := range inverse {
		col, val := s.row(i)
		k, ok := slices.BinarySearch(col, int32(i))
		if !ok || !(val[k] > 0) {
			return nil, fmt.Errorf("row %d has no positive entry on the diagonal", i)
		}
		inverse[i] = 1 / val[k]
	}
	return inverse, nil
}
