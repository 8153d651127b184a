//go:build !intra

package flow

import "github.com/intrahpc/intra"

//go:generate go tool intragen

// findSide sets R to the right-hand side of a step.
func (c *Cube) findSide() {
	plane := c.N * c.N
	base, _ := c.seen(c.p.Rank())
	first, end := c.own(c.p.Rank())
	//intra:section on(c.p)
	for lo, hi := range intra.Blocks(end-first, c.tasks) {
		findSide(c.Gas, c.U, c.forcing[lo*plane:hi*plane], base, first+lo, c.R[lo*plane:hi*plane])
	}
}

// Add adds the change to the solution, in columns.
func (c *Cube) Add() {
	//intra:section on(c.p)
	for lo, hi := range intra.Blocks(len(c.Columns), c.tasks) {
		add(c.Changes[lo:hi], c.Columns[lo:hi])
	}
}

// square returns the sums of the squares of points.
func (c *Cube) square(x []State) (sums State) {
	//intra:section on(c.p)
	for lo, hi := range intra.Blocks(len(x), c.tasks) {
		square(x[lo:hi], &sums)
	}
	return sums
}
