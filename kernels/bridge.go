package kernels

import (
	"github.com/intrahpc/intra/kernels/internal/bridge"
	"github.com/intrahpc/intra/kernels/internal/simd"
)

func init() {
	bridge.MulRows = func(p *simd.Path, m any, x, y []float64) { m.(Matrix[float64]).mulRows(&p.F64, 0, x, y) }
	bridge.MulRowsDot = func(p *simd.Path, m any, x, y []float64) float64 {
		return mulRowsDot(&p.F64, m.(Matrix[float64]), 0, x, x[:len(y)], y)
	}
	bridge.Solve = func(p *simd.Path, g any, x []float64) { g.(*GaussSeidel[float64]).solve(&p.F64, 0, x) }
}
