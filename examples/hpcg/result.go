package main

import (
	"fmt"
	"io"
)

// result is the output of a run. As JSON it is one line.
type result struct {
	Ranks      int        `json:"ranks"`
	Grid       [3]int     `json:"grid"` // of the ranks
	NX         int        `json:"nx"`
	NY         int        `json:"ny"`
	NZ         int        `json:"nz"`
	Smoother   string     `json:"smoother"`
	Tasks      int        `json:"tasks"`
	R0         float64    `json:"r0"`         // norm of the first residual
	Goal       float64    `json:"goal"`       // residual after 50 iterations in natural order, relative to r0
	History    []float64  `json:"history"`    // residuals after 0 to 50 iterations, relative to r0
	Iterations int        `json:"iterations"` // iterations of a set
	Sets       int        `json:"sets"`
	Residual   float64    `json:"residual"` // residual at the end of a set, relative to r0
	Variance   float64    `json:"variance"` // variance of Residual over the sets
	XSHA256    string     `json:"x_sha256"`
	Spectral   [2]int     `json:"spectral"`
	Symmetry   [2]float64 `json:"symmetry"`
	Valid      bool       `json:"valid"`
	GFLOPS     float64    `json:"gflops"`
	Seconds    float64    `json:"seconds"` // time of the sets
	Times      times      `json:"times"`

	flops flops
}

// flops counts the floating-point operations of 50 iterations, by kind.
type flops struct{ dot, waxpby, multiply, multigrid float64 }

func (f flops) total() float64 { return f.dot + f.waxpby + f.multiply + f.multigrid }

// count returns the flops of one set on all ranks. Iterations beyond 50 do not count,
// because they would not have been needed in natural order.
func (r *result) count() (f flops) {
	points, entries := r.size(0)
	f.dot = (3*iterations + 1) * 2 * points
	f.waxpby = f.dot
	f.multiply = (iterations + 1) * 2 * entries
	for l := range levels {
		_, entries := r.size(l)
		if l == levels-1 {
			f.multigrid += iterations * 4 * entries
		} else {
			f.multigrid += iterations * (4 + 2 + 4) * entries
		}
	}
	return f
}

// size returns the numbers of points and of matrix entries of a level, on all ranks.
func (r *result) size(level int) (points, entries float64) {
	points, entries = 1, 1
	for d, n := range [3]int{r.NX, r.NY, r.NZ} {
		all := float64(r.Grid[d] * (n >> level))
		points, entries = points*all, entries*(3*all-2)
	}
	return points, entries
}

// rate computes the rating. Each set includes a tenth of the set-up time.
func (r *result) rate() {
	r.flops = r.count()
	sets := float64(r.Sets)
	r.Seconds = r.Times.Sets.Total
	r.GFLOPS = sets * r.flops.total() / (r.Seconds + sets*(r.Times.SetUp+r.Times.Optimise)/10) / 1e9
}

// faults returns a line for each reason why a result is not valid.
func (r *result) faults() (all []string) {
	for k, most := range [2]int{12, 2} {
		if r.Spectral[k] > most {
			all = append(all, fmt.Sprintf("spectral test: %d iterations %s the preconditioner, at most %d are right", r.Spectral[k], [2]string{"without", "with"}[k], most))
		}
	}
	for k, s := range r.Symmetry {
		if !(s <= 1) {
			all = append(all, fmt.Sprintf("test of symmetry: the %s is %.3g from it, at most 1 is right", [2]string{"matrix", "preconditioner"}[k], s))
		}
	}
	if !(r.Residual <= r.Goal*(1+1e-6)) {
		all = append(all, fmt.Sprintf("the residual after %d iterations is %.6g, and has to be %.6g", r.Iterations, r.Residual, r.Goal))
	}
	if !(r.Variance < 1e-6) {
		all = append(all, fmt.Sprintf("the residuals of the sets have a variance of %.3g", r.Variance))
	}
	return all
}

// summarise returns the largest of the last residuals, and their variance.
func summarise(ends []float64) (largest, variance float64) {
	mean := 0.0
	for _, e := range ends {
		mean += e / float64(len(ends))
		largest = max(largest, e)
	}
	for _, e := range ends {
		variance += (e - mean) * (e - mean) / float64(len(ends))
	}
	return largest, variance
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	verdict := "valid"
	if !r.Valid {
		verdict = "NOT VALID"
	}
	sets := "1 set"
	if r.Sets > 1 {
		sets = fmt.Sprintf("%d sets", r.Sets)
	}
	fmt.Fprintf(w, "%s: %s of %d iterations, residual %.6g of the first, x %s…\n", verdict, sets, r.Iterations, r.Residual, r.XSHA256[:16])
	fmt.Fprintf(w, "spectral test %d and %d iterations, symmetry %.2g and %.2g\n", r.Spectral[0], r.Spectral[1], r.Symmetry[0], r.Symmetry[1])
	fmt.Fprintf(w, "%-10s %10s %7s %8s\n", "", "seconds", "share", "GFLOP/s")
	t := &r.Times.Sets
	line := func(name string, seconds, flops float64) {
		fmt.Fprintf(w, "%-10s %10.4f %6.1f%%", name, seconds, 100*seconds/max(t.Total, 1e-300))
		if flops > 0 && seconds > 0 {
			fmt.Fprintf(w, " %8.3f", float64(r.Sets)*flops/seconds/1e9)
		}
		fmt.Fprintln(w)
	}
	line("sets", t.Total, r.flops.total())
	line("ddot", t.Dot, r.flops.dot)
	line("waxpby", t.Waxpby, r.flops.waxpby)
	line("spmv", t.Multiply, r.flops.multiply)
	line("mg", t.Multigrid, r.flops.multigrid)
	line("allreduce", t.Allreduce, 0)
	fmt.Fprintf(w, "rating %.3f GFLOP/s, with a tenth of the set-up (%.2f s) for every set\n", r.GFLOPS, r.Times.SetUp+r.Times.Optimise)
}
