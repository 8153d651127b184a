package kernels

import "github.com/intrahpc/intra/kernels/internal/simd"

// Products and sweeps on a path that the test chooses.

func MulRowsOn[T Float](p *simd.Path, m Matrix[T], lo int, x, y []T) {
	m.mulRows(simd.Of[T](p), lo, x, y)
}

func MulRowsDotOn[T Float](p *simd.Path, m Matrix[T], lo int, x, d, y []T) T {
	return mulRowsDot(simd.Of[T](p), m, lo, x, d, y)
}

func SolveOn[T Float](p *simd.Path, g *GaussSeidel[T], lo int, x []T) {
	g.solve(simd.Of[T](p), lo, x)
}
