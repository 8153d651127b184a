package nas

import (
	"fmt"
	"io"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
)

// Program is a benchmark. P is the type of its problems, B its part on a rank, and R its
// result.
type Program[P any, B Benchmark[R], R Outcome] struct {
	Name     string
	Problems map[Class]P
	Describe func(P) Problem
	New      func(Run, P) (B, error) // makes the part of a rank, and registers its state
}

// Benchmark is the whole run on one rank: a struct that holds a Run.
type Benchmark[R Outcome] interface {
	Measure() (R, error) // runs it, and tests the result
	Elapsed() Seconds
}

// Outcome is the output of a benchmark: a Result, and further fields.
type Outcome interface {
	cli.Result
	common() *Result
}

// Main is the main function of a benchmark.
func (x Program[P, B, R]) Main() { intra.Main(cli.Program(Parse, x.run)) }

func (x Program[P, B, R]) run(p *intra.Process, set Settings) error {
	var progress io.Writer
	if p.Rank() == 0 && !set.JSON {
		progress = os.Stdout
	}
	_, r, err := x.solve(Run{P: p, Set: set, progress: progress}, x.Problems[set.Class])
	if err != nil || p.Rank() > 0 {
		return err
	}
	return cli.Print(os.Stdout, r, set.JSON)
}

// solve solves a problem. It also returns the part of this rank in its final state.
func (x Program[P, B, R]) solve(run Run, of P) (b B, r R, err error) {
	if b, err = x.New(run, of); err != nil {
		return b, r, err
	}
	if err = run.Set.protect(run.P); err != nil {
		return b, r, err
	}
	if r, err = b.Measure(); err != nil {
		return b, r, err
	}
	return b, r, r.common().describe(run.P, x.Name, run.Set, x.Describe(of), b.Elapsed())
}

// Untimed solves a problem with a number of tasks, for a test. It uses class S. The result
// has no times, so that the results of all replicas are equal.
func (x Program[P, B, R]) Untimed(p *intra.Process, tasks int, of P) (B, R, error) {
	b, r, err := x.solve(Run{P: p, Set: Settings{Class: 'S', Tasks: tasks}}, of)
	if err != nil {
		return b, r, err
	}
	c := r.common()
	if c.Mops <= 0 {
		return b, r, fmt.Errorf("%g Mop/s", c.Mops)
	}
	c.Seconds, c.Mops = 0, 0
	return b, r, nil
}
