package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/internal/digest"
)

// settings are the flags.
type settings struct {
	n        int
	tasks    int
	repeat   int
	ordinary bool
	json     bool
}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := settings{tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.tasks, "most tasks of a section", &s.json)
	f.IntVar(&s.n, "n", 400, "rows and columns of the matrix")
	f.IntVar(&s.repeat, "repeat", 1, "how often the matrix is factored")
	f.BoolVar(&s.ordinary, "ordinary", false, "keep the matrix in an ordinary slice: replicas that share send each other all rows")
	if err := f.Parse(); err != nil {
		return s, err
	}
	switch {
	case s.n < 1 || s.n > 1<<15:
		return s, fmt.Errorf("-n must be 1 to %d", 1<<15)
	case s.repeat < 1:
		return s, errors.New("-repeat must be at least 1")
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	if p.Size() > 1 {
		return fmt.Errorf("this program has one rank, and there are %d: run it with -n 1", p.Size())
	}
	r, err := measure(p, set)
	if err != nil {
		return err
	}
	if !r.Verified {
		fmt.Fprintf(os.Stderr, "lu: not verified: the largest error of the solution is %g, at most %g is right\n", float64(r.Error), tolerance)
	}
	return cli.Print(os.Stdout, r, set.json)
}

// measure factors the matrix as often as requested, and solves a system with the factors.
func measure(p *intra.Process, set settings) (*result, error) {
	f := newFactors(p, set)
	for len(f.times) < set.repeat {
		if f.column == f.n {
			f.fill()
		}
		if err := f.factor(); err != nil {
			return nil, err
		}
	}
	x, most := f.deviation()
	r := &result{N: set.n, Tasks: set.tasks, Error: cli.Number(most), Verified: most <= tolerance}
	var err error
	if r.XSHA256, err = digest.Of(p.World(), f.a, x); err != nil {
		return nil, err
	}
	// Replicas measure different times, but must print the same output.
	if r.Seconds, err = intra.Once(p, func() (seconds, error) { return slices.Min(f.times), nil }); err != nil {
		return nil, fmt.Errorf("agree on the times: %w", err)
	}
	return r, nil
}

// tolerance is the largest error of a correct solution.
const tolerance = 1e-6

// result is the output of a run. As JSON it is one line.
type result struct {
	N        int        `json:"n"`
	Tasks    int        `json:"tasks"`
	Error    cli.Number `json:"error"` // largest error of the solution of a system
	Verified bool       `json:"verified"`
	XSHA256  string     `json:"x_sha256"` // of the factors and of the solution
	Seconds  seconds    `json:"seconds"`  // of the fastest factorization
}

// Print writes the result as text for people.
func (r *result) Print(w io.Writer) {
	verdict := "verified"
	if !r.Verified {
		verdict = "NOT VERIFIED"
	}
	n := float64(r.N)
	fmt.Fprintf(w, "%s: %d × %d elements, largest error of the solution %.3e, x %s…\n", verdict, r.N, r.N, float64(r.Error), r.XSHA256[:16])
	fmt.Fprintf(w, "%.3f ms, %.0f MFLOP/s\n", 1e3*r.Seconds, 2*n*n*n/3/float64(r.Seconds)/1e6)
}
