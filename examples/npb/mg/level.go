package main

import (
	"fmt"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// level is one of the grids on one rank.
type level struct {
	p        *intra.Process
	tasks    int
	smoother smoother
	*box
	u, v, r []float64 // solution, right-hand side and residual, with the layer around them

	coarse *level // next coarser level; nil on the coarsest grid, and if whole is set
	whole  *level // this grid and all coarser ones, without other ranks; nil: not gathered
}

// thinnest is the minimum number of points of a box along each axis.
const thinnest = 2

// newLevel makes a grid of n³ points and all coarser ones.
func newLevel(p *intra.Process, c *comm.Comm, n, tasks int, s smoother, finest bool) *level {
	l := &level{p: p, tasks: tasks, smoother: s, box: newBox(c, n)}
	for _, x := range []*[]float64{&l.u, &l.v, &l.r} {
		*x = intra.Alloc[float64](l.shape.size())
	}
	switch thin := min(l.shape.nx, l.shape.ny, l.shape.nz) < thinnest; {
	case thin && !finest:
		l.whole = newLevel(p, comm.Self(), n, tasks, s, true)
	case n > 2:
		l.coarse = newLevel(p, c, n/2, tasks, s, false)
	}
	return l
}

// solve sets u to an approximate solution of A·u = v.
func (l *level) solve() error {
	switch {
	case l.whole != nil:
		return l.solveWhole()
	case l.coarse == nil:
		clear(l.u)
		return l.smooth(l.v)
	}
	return l.correct(l.v, true)
}

// correct improves u, whose residual is given, by a solution on the coarser grid. If zero
// is set, u counts as 0 and is not read.
func (l *level) correct(residual []float64, zero bool) error {
	l.restrictTo(residual, l.coarse)
	if err := l.coarse.exchangeRest(l.coarse.v); err != nil {
		return err
	}
	if err := l.coarse.solve(); err != nil {
		return err
	}
	if zero {
		l.interpolateFrom(l.coarse)
	} else {
		l.addInterpolated(l.coarse)
	}
	if err := l.findResidual(); err != nil {
		return err
	}
	return l.smooth(l.r)
}

// findResidual sets r = v - A·u.
func (l *level) findResidual() error {
	l.subtract()
	return l.exchangeRest(l.r)
}

// smooth adds the smoothed residual to u.
func (l *level) smooth(residual []float64) error {
	l.addSmoothed(residual)
	return l.exchangeRest(l.u)
}

// solveWhole gathers the right-hand side of all ranks, and solves the whole grid on this
// rank.
func (l *level) solveWhole() error {
	s := l.shape
	own := make([]float64, 0, s.inside())
	for z := 1; z <= s.nz; z++ {
		for y := 1; y <= s.ny; y++ {
			own = append(own, l.v[z*s.plane()+y*s.row()+1:][:s.nx]...)
		}
	}
	all := make([]float64, l.c.Size()*len(own))
	if err := comm.Allgather(l.c, own, all); err != nil {
		return fmt.Errorf("gather a coarse grid: %w", err)
	}
	w := l.whole
	for rank := range l.c.Size() {
		at := [3]int{rank % l.ranks[0], rank / l.ranks[0] % l.ranks[1], rank / l.ranks[0] / l.ranks[1]}
		for z := range s.nz {
			for y := range s.ny {
				to := (at[2]*s.nz+z+1)*w.shape.plane() + (at[1]*s.ny+y+1)*w.shape.row() + at[0]*s.nx + 1
				copy(w.v[to:to+s.nx], all)
				all = all[s.nx:]
			}
		}
	}
	if err := w.exchange(w.v); err != nil {
		return err
	}
	if err := w.solve(); err != nil {
		return err
	}
	o := l.origin()
	for z := range s.nz + 2 {
		for y := range s.ny + 2 {
			from := (o[2]+z)*w.shape.plane() + (o[1]+y)*w.shape.row() + o[0]
			copy(l.u[z*s.plane()+y*s.row():][:s.row()], w.u[from:])
		}
	}
	return nil
}
