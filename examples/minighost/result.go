package main

import (
	"fmt"
	"io"
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/internal/cli"
)

// tolerance is the largest relative error of a correct sum.
const tolerance = 1e-8

// result is the output of a run. As JSON it is one line.
type result struct {
	Stencil  string     `json:"stencil"`
	Comm     string     `json:"comm"`
	Ranks    int        `json:"ranks"`
	Grid     [3]int     `json:"grid"` // of the ranks
	NX       int        `json:"nx"`
	NY       int        `json:"ny"`
	NZ       int        `json:"nz"`
	Vars     int        `json:"vars"`
	Steps    int        `json:"steps"`
	Spikes   int        `json:"spikes"`
	Tasks    int        `json:"tasks"`
	Sources  []float64  `json:"sources"` // total value that was added to each grid
	Sums     []float64  `json:"sums"`    // sum of each grid and its losses
	Error    cli.Number `json:"error"`   // largest relative error of a sum, over all steps
	Verified bool       `json:"verified"`
	Hash     string     `json:"hash"` // hash of all bits of the grids, independent of their division
	Seconds  float64    `json:"seconds"`
	Times    seconds    `json:"times"`
}

// result computes the result.
func (s *simulation) result() (*result, error) {
	set := s.set
	r := &result{
		Stencil: set.stencil.String(), Comm: set.method.String(), Ranks: s.p.Size(), Grid: s.box.ranks,
		NX: set.n[0], NY: set.n[1], NZ: set.n[2], Vars: set.vars, Steps: set.steps, Spikes: set.spikes, Tasks: set.tasks,
		Error: cli.Number(s.worst), Verified: s.worst <= tolerance,
	}
	for _, v := range s.variables {
		r.Sources, r.Sums = append(r.Sources, v.source), append(r.Sums, v.total)
	}
	var err error
	if r.Hash, err = s.hash(); err != nil {
		return nil, err
	}
	// Replicas measure different times, but must print the same output.
	if r.Times, err = intra.Once(s.p, func() (seconds, error) { return s.seconds, nil }); err != nil {
		return nil, fmt.Errorf("agree on the times: %w", err)
	}
	r.Seconds = r.Times.Total
	return r, nil
}

// hash distinguishes the states of the grids. It is a sum over all points, so it does not
// depend on which rank owns them.
func (s *simulation) hash() (string, error) {
	var sums [2]uint64
	for i, v := range s.variables {
		s.each(func(at int, number uint64) {
			for k := range sums {
				sums[k] += mix(mix(uint64(2*i+k), number), math.Float64bits(v.grid[at]))
			}
		})
	}
	all, err := comm.AllreduceValue(s.p.World(), sums, func(a, b [2]uint64) [2]uint64 { return [2]uint64{a[0] + b[0], a[1] + b[1]} })
	if err != nil {
		return "", fmt.Errorf("add up the hash of the grids: %w", err)
	}
	return fmt.Sprintf("%016x%016x", all[0], all[1]), nil
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	verdict := "verified"
	if !r.Verified {
		verdict = "NOT VERIFIED"
	}
	fmt.Fprintf(w, "%s: %d variables, largest error of a sum %.3e, hash %s\n", verdict, r.Vars, float64(r.Error), r.Hash)
	fmt.Fprintf(w, "%-10s %10s %7s\n", "", "seconds", "share")
	for _, l := range []struct {
		name    string
		seconds float64
	}{
		{"total", r.Times.Total}, {"exchange", r.Times.Exchange}, {"stencil", r.Times.Stencil}, {"sum", r.Times.Sum}, {"allreduce", r.Times.Allreduce},
	} {
		fmt.Fprintf(w, "%-10s %10.4f %6.1f%%\n", l.name, l.seconds, 100*l.seconds/max(r.Times.Total, 1e-300))
	}
}
