package hpccg

import (
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/same"
)

// laplace is the matrix of a chain of n points.
func laplace(n int) *Matrix {
	A := &Matrix{}
	for i := range n {
		var vals []float64
		var cols []int32
		for j := max(i-1, 0); j <= min(i+1, n-1); j++ {
			v := -1.0
			if i == j {
				v = 2.1
			}
			vals, cols = append(vals, v), append(cols, int32(j))
		}
		A.Vals, A.Cols = append(A.Vals, vals), append(A.Cols, cols)
	}
	return A
}

func TestSolve(t *testing.T) {
	const n = 203
	A := laplace(n)
	kills := []string{
		"0.0@section:0", "0.1@section:7", "0.0@task:0", "0.1@task:3", "0.0@task:40", "0.1@update:0", "0.0@update:2", "0.1@update:25",
	}
	same.Everywhere(t, "022d0fab61ae1e6d", kills, func(p *intra.Process) []float64 {
		b, x := make([]float64, n), make([]float64, n)
		for i := range b {
			b[i] = 1 / float64(i+1)
		}
		return append(Solve(p, A, b, x, 12), x...)
	})
}
