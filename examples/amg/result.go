package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/internal/digest"
)

// result is the output of a run. As JSON it is one line.
type result struct {
	Problem            string     `json:"problem"`
	Solver             string     `json:"solver"`
	Ranks              int        `json:"ranks"`
	NX                 int        `json:"nx"`
	NY                 int        `json:"ny"`
	NZ                 int        `json:"nz"`
	Tasks              int        `json:"tasks"`
	Unknowns           []int64    `json:"unknowns"` // of each level
	Nonzeros           []int64    `json:"nonzeros"`
	OperatorComplexity float64    `json:"operator_complexity"` // number of all nonzeros divided by those of the finest level
	GridComplexity     float64    `json:"grid_complexity"`     // the same ratio for unknowns
	Iterations         int        `json:"iterations"`
	History            []float64  `json:"history"`  // norms of the residual, relative to the first
	Residual           cli.Number `json:"residual"` // residual of the solution, computed from the solution
	Converged          bool       `json:"converged"`
	XSHA256            string     `json:"x_sha256"`
	Seconds            float64    `json:"seconds"` // set-up and solution
	Times              seconds    `json:"times"`
}

// result computes the result.
func (s *solver) result() (*result, error) {
	set, h := s.set, s.hierarchy
	r := &result{
		Problem: set.stencil.String(), Solver: set.method, Ranks: s.p.Size(),
		NX: set.n[0], NY: set.n[1], NZ: set.n[2], Tasks: set.tasks,
		Unknowns: h.unknowns, Nonzeros: h.nonzeros,
		OperatorComplexity: complexity(h.nonzeros), GridComplexity: complexity(h.unknowns),
		Iterations: s.iterations(),
	}
	for _, norm := range s.history {
		r.History = append(r.History, norm/s.history[0])
	}
	residual, err := s.residual()
	if err != nil {
		return nil, err
	}
	// The last residual of the iterations was updated or estimated, so the computed one
	// differs slightly by rounding.
	r.Residual, r.Converged = cli.Number(residual), residual <= 1.01*set.tolerance
	if r.XSHA256, err = digest.Of(s.p.World(), s.x); err != nil {
		return nil, err
	}
	// Replicas measure different times, but must print the same output.
	if r.Times, err = intra.Once(s.p, func() (seconds, error) { return s.seconds, nil }); err != nil {
		return nil, fmt.Errorf("agree on the times: %w", err)
	}
	r.Seconds = r.Times.SetUp + r.Times.Solve
	return r, nil
}

func complexity(levels []int64) float64 {
	sum := int64(0)
	for _, n := range levels {
		sum += n
	}
	return float64(sum) / float64(levels[0])
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	verdict := "converged"
	if !r.Converged {
		verdict = "NOT CONVERGED"
	}
	fmt.Fprintf(w, "%s: %d iterations, residual %.6e of the first, x %s…\n", verdict, r.Iterations, float64(r.Residual), r.XSHA256[:16])
	fmt.Fprintf(w, "operator complexity %.4f, grid complexity %.4f\n", r.OperatorComplexity, r.GridComplexity)
	fmt.Fprintf(w, "%-12s %10s %7s\n", "", "seconds", "share")
	for _, l := range []struct {
		name    string
		seconds float64
	}{
		{"set-up", r.Times.SetUp}, {"  products", r.Times.Products}, {"solution", r.Times.Solve}, {"  spmv", r.Times.Multiply},
		{"  amg", r.Times.Precondition}, {"  waxpby", r.Times.Waxpby}, {"  ddot", r.Times.Dot},
	} {
		fmt.Fprintf(w, "%-12s %10.4f %6.1f%%\n", l.name, l.seconds, 100*l.seconds/max(r.Seconds, 1e-300))
	}
}
