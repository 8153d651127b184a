//go:build !intra

package main

import intra "github.com/intrahpc/intra/runtime"

//go:generate go tool intragen

// solveX solves the systems along x.
func (b *benchmark) solveX() {
	plane := b.N * b.N
	first, u := b.Own()
	//intra:section on(b.p)
	for lo, hi := range intra.Blocks(len(b.R)/plane, b.set.Tasks) {
		solveAlong(b.Gas, 0, u[lo*plane:hi*plane], first+lo, b.R[lo*plane:hi*plane])
	}
}

// solveY solves the systems along y.
func (b *benchmark) solveY() {
	plane := b.N * b.N
	first, u := b.Own()
	//intra:section on(b.p)
	for lo, hi := range intra.Blocks(len(b.R)/plane, b.set.Tasks) {
		solveAlong(b.Gas, 1, u[lo*plane:hi*plane], first+lo, b.R[lo*plane:hi*plane])
	}
}

// solveZ solves the systems along z.
func (b *benchmark) solveZ() {
	columns, y := b.Lines()
	//intra:section on(b.p)
	for lo, hi := range intra.Blocks(columns, b.set.Tasks) {
		solveColumns(b.Gas, b.Columns, columns, y, lo, hi, b.Changes)
	}
}
