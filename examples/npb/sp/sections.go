//go:build !intra

package main

import (
	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/npb/internal/flow"
)

//go:generate go tool intragen

// waves solves a system for each wave.
type waves struct{ *flow.Benchmark }

// SolvePlanes solves the systems along x or y.
func (b waves) SolvePlanes(axis int) {
	plane := b.N * b.N
	first, u := b.Own()
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(len(b.R)/plane, b.Set.Tasks) {
		solveAlong(b.Gas, axis, u[lo*plane:hi*plane], first+lo, b.R[lo*plane:hi*plane])
	}
}

// SolveColumns solves the systems along z.
func (b waves) SolveColumns() {
	columns, y := b.Lines()
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(columns, b.Set.Tasks) {
		solveColumns(b.Gas, b.Columns, columns, y, lo, hi, b.Changes)
	}
}
