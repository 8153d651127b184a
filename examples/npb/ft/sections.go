//go:build !intra

package main

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// fill sets the planes to random numbers.
func (b *benchmark) fill() {
	plane := b.of.nx * b.of.ny
	first := b.P.Rank() * len(b.planes)
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(len(b.planes)/plane, b.Set.Tasks) {
		fill(first+lo*plane, b.planes[lo*plane:hi*plane])
	}
}

// transformPlanes transforms the planes along x and y.
func (b *benchmark) transformPlanes() {
	plane := b.of.nx * b.of.ny
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(len(b.planes)/plane, b.Set.Tasks) {
		transformPlanes(b.tx, b.ty, b.planes[lo*plane:hi*plane])
	}
}

// transformColumns sets the waves to the transform of the columns along z.
func (b *benchmark) transformColumns() {
	n := len(b.columns) / b.of.nz
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(n/lines, b.Set.Tasks) {
		transformColumns(b.tz, b.columns, n, lo*lines, hi*lines, b.waves)
	}
}

// dampColumns sets the columns to the transform of the waves along z, after damping by
// these factors in x, y and z.
func (b *benchmark) dampColumns(fx, fy, fz []float64) {
	n := len(b.columns) / b.of.nz
	//intra:section on(b.P)
	for lo, hi := range intra.Blocks(n/lines, b.Set.Tasks) {
		dampColumns(b.tz, b.waves, fx, fy, fz, n, lo*lines, hi*lines, b.columns)
	}
}
