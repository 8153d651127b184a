// Package bridge gives the measurements of kernels access to unexported parts of package
// kernels: products and sweeps on a path of the caller's choice. Package kernels sets the
// functions when it is initialised.
package bridge

import "github.com/intrahpc/intra/kernels/internal/simd"

var (
	// MulRows multiplies all rows of a kernels.Matrix[float64] that y has room for.
	MulRows func(p *simd.Path, m any, x, y []float64)
	// MulRowsDot is MulRows that also returns the inner product of x and y.
	MulRowsDot func(p *simd.Path, m any, x, y []float64) float64
	// Solve replaces x by the solution for all blocks of a *kernels.GaussSeidel[float64].
	Solve func(p *simd.Path, g any, x []float64)
)
