package main

import (
	"fmt"
	"io"

	"github.com/intrahpc/intra"
)

// result is the output of a run. As JSON it is one line.
type result struct {
	Pattern string  `json:"pattern"`
	Ranks   int     `json:"ranks"`
	Width   int     `json:"width"`
	Steps   int     `json:"steps"`
	Iters   int     `json:"iters"`
	Tasks   int     `json:"tasks"`    // of all steps
	XSHA256 string  `json:"x_sha256"` // of the values of all steps
	Seconds float64 `json:"seconds"`  // of the measured steps
	Task    float64 `json:"us_task"`  // microseconds in which a rank completes one task
	Flops   float64 `json:"flops"`    // floating-point operations in a second, of all ranks
}

// measure computes a grid. Rank 0 returns the result.
func measure(p *intra.Process, set settings) (*result, error) {
	g := newGrid(p, set)
	own, err := g.run()
	if err != nil {
		return nil, err
	}
	r := &result{Pattern: set.graph.pattern.String(), Ranks: p.Size(), Width: set.graph.width, Steps: set.steps, Iters: set.iters, Tasks: g.tasks(0)}
	if r.XSHA256, err = g.hash(); err != nil {
		return nil, err
	}
	// Replicas measure different times, but must print the same output.
	took, err := intra.Once(p, func() (spent, error) { return own, nil })
	if err != nil {
		return nil, fmt.Errorf("agree on the time: %w", err)
	}
	r.Seconds, r.Task = took.seconds, 1e6*took.seconds*float64(r.Ranks)/float64(took.tasks)
	r.Flops = float64(took.tasks) * float64(r.Iters*lanes*operations) / took.seconds
	return r, nil
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	fmt.Fprintf(w, "%s of %d × %d points, %d tasks, x %s…\n", r.Pattern, r.Width, r.Steps, r.Tasks, r.XSHA256[:16])
	fmt.Fprintf(w, "%.3f µs a task of a rank, %.0f MFLOP/s\n", r.Task, r.Flops/1e6)
}
