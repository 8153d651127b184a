package matrix

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/intrahpc/intra/kernels"
)

// CSR is the type of the generated matrices.
type CSR = kernels.CSR[float64, int32]

// rowsOf builds a matrix from its rows. row appends the columns and values of row i. The
// columns must be below cols.
func rowsOf(rows, cols, nnz int, row func(i int, col []int32, val []float64) ([]int32, []float64)) *CSR {
	ptr := make([]int64, 1, rows+1)
	col, val := kernels.Alloc[int32](nnz)[:0], kernels.Alloc[float64](nnz)[:0]
	for i := range rows {
		col, val = row(i, col, val)
		ptr = append(ptr, int64(len(col)))
	}
	a, err := kernels.NewCSR(cols, ptr, col, val)
	if err != nil {
		panic(err) // a generator made a column outside of cols
	}
	return a
}

// Stencil27 returns the matrix of the 27-point stencil on a grid of nx*ny*nz
// points: 27 on the diagonal, -1 elsewhere, columns ascending.
func Stencil27(nx, ny, nz int) *CSR {
	n := nx * ny * nz
	return rowsOf(n, n, 27*n, func(i int, col []int32, val []float64) ([]int32, []float64) {
		x, y, z := i%nx, i/nx%ny, i/nx/ny
		for dz := -1; dz <= 1; dz++ {
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					if x+dx < 0 || x+dx >= nx || y+dy < 0 || y+dy >= ny || z+dz < 0 || z+dz >= nz {
						continue
					}
					j := i + dx + dy*nx + dz*nx*ny
					v := -1.0
					if j == i {
						v = 27
					}
					col, val = append(col, int32(j)), append(val, v)
				}
			}
		}
		return col, val
	})
}

// Banded returns a matrix of n rows with entries at a distance of at most half from the
// diagonal, each with probability fill.
func Banded(n, half int, fill float64, seed uint64) *CSR {
	r := rand.New(rand.NewPCG(seed, 1))
	return rowsOf(n, n, int(float64(n*(2*half+1))*fill), func(i int, col []int32, val []float64) ([]int32, []float64) {
		for j := max(i-half, 0); j <= min(i+half, n-1); j++ {
			if r.Float64() < fill {
				col, val = append(col, int32(j)), append(val, r.NormFloat64())
			}
		}
		return col, val
	})
}

// Random returns a matrix with perRow entries in every row, in random columns.
func Random(rows, cols, perRow int, seed uint64) *CSR {
	r := rand.New(rand.NewPCG(seed, 2))
	return rowsOf(rows, cols, rows*perRow, func(_ int, col []int32, val []float64) ([]int32, []float64) {
		return scatter(r, cols, perRow, col, val)
	})
}

// PowerLaw returns a matrix whose rows have lengths like those of the graph of a network:
// most are short, and few are very long. The average length is about mean.
func PowerLaw(rows, cols, mean int, seed uint64) *CSR {
	r := rand.New(rand.NewPCG(seed, 3))
	return rowsOf(rows, cols, rows*mean, func(_ int, col []int32, val []float64) ([]int32, []float64) {
		// A Pareto distribution with exponent 2 has mean 2 times its minimum. The
		// square root, unlike math.Pow, has the same bits on every CPU.
		n := float64(mean) / 2 / math.Sqrt(1-r.Float64())
		return scatter(r, cols, min(int(n), cols), col, val)
	})
}

// Irregular returns a matrix with empty rows, one dense row, and rows of up to 2*perRow
// entries in random order with repeated columns.
func Irregular(rows, cols, perRow int, seed uint64) *CSR {
	r := rand.New(rand.NewPCG(seed, 4))
	return rowsOf(rows, cols, rows*perRow/2+cols, func(i int, col []int32, val []float64) ([]int32, []float64) {
		switch {
		case i == rows/2:
			for j := range cols {
				col, val = append(col, int32(j)), append(val, r.NormFloat64())
			}
		case r.IntN(3) > 0 && cols > 0:
			for range r.IntN(2*perRow + 1) {
				col, val = append(col, int32(r.IntN(cols))), append(val, r.NormFloat64())
			}
		}
		return col, val
	})
}

// scatter appends n different columns in ascending order, with values.
func scatter(r *rand.Rand, cols, n int, col []int32, val []float64) ([]int32, []float64) {
	n = min(n, cols)
	at := len(col)
	for {
		for len(col) < at+n {
			col = append(col, int32(r.IntN(cols)))
		}
		slices.Sort(col[at:])
		col = col[:at+len(slices.Compact(col[at:]))]
		if len(col) == at+n {
			break
		}
	}
	for range n {
		val = append(val, r.NormFloat64())
	}
	return col, val
}
