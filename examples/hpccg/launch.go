package main

import (
	"github.com/intrahpc/intra/kernels"
	intra "github.com/intrahpc/intra/runtime"
)

var (
	taskWaxpby   = intra.Register("github.com/intrahpc/intra/examples/hpccg.waxpby")
	taskDdot     = intra.Register("github.com/intrahpc/intra/examples/hpccg.ddot")
	taskSparsemv = intra.Register("github.com/intrahpc/intra/examples/hpccg.sparsemv")
)

func launchWaxpby(s *intra.Section, how arithmetic, alpha float64, x []float64, beta float64, y, w []float64) {
	s.Launch(taskWaxpby, func() { waxpby(how, alpha, x, beta, y, w) },
		intra.InVar("how", &how), intra.InVar("alpha", &alpha), intra.In("x", x), intra.InVar("beta", &beta), intra.In("y", y), intra.Out("w", w))
}

func launchDdot(s *intra.Section, how arithmetic, x, y []float64, sum *float64) {
	cell, r := intra.Reduce(s, "sum", sum, func(a, b float64) float64 { return a + b })
	s.Launch(taskDdot, func() { *cell = ddot(how, x, y) },
		intra.InVar("how", &how), intra.In("x", x), intra.In("y", y), r)
}

func launchSparsemv(s *intra.Section, a *kernels.Sliced[float64], lo int, x, y []float64) {
	s.Launch(taskSparsemv, func() { sparsemv(a, lo, x, y) },
		intra.InVar("lo", &lo), intra.In("x", x), intra.Out("y", y))
}
