package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/internal/digest"
)

// settings are the flags.
type settings struct {
	nx, ny, nz int
	iters      int
	tolerance  float64
	tasks      int
	how        arithmetic
	format     format
	fused      bool
	json       bool
	times      string
	field, log string
}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := settings{tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.tasks, "tasks of each section; the result depends on it", &s.json)
	f.IntVar(&s.nx, "nx", 64, "points in x")
	f.IntVar(&s.ny, "ny", 64, "points in y")
	f.IntVar(&s.nz, "nz", 64, "points in z, of each rank")
	f.IntVar(&s.iters, "iters", 150, "one more than the most passes, as the original counts")
	f.Float64Var(&s.tolerance, "tol", 0, "stop when the residual norm is not above this")
	how := f.String("kernels", "simd", "simd, or sequential: plain loops that add in order, as the original")
	form := f.String("matrix", "sliced", "sliced, or csr: the form that the matrix is held in; the result is the same")
	f.BoolVar(&s.fused, "fused", false, "compute inner products in the tasks that write their vectors; the result differs in the last digits")
	f.StringVar(&s.times, "times", "", "have every process write the times by its own clock to a file in this `folder`")
	f.StringVar(&s.field, "field", "", "write x of all ranks to this `file`, every 10 passes and at the end")
	f.StringVar(&s.log, "log", "", "append a line to this `file` in each pass: its number and the norm of the residual")
	if err := f.Parse(); err != nil {
		return s, err
	}
	switch *how {
	case "simd":
		s.how = simd
	case "sequential":
		s.how = sequential
	default:
		return s, fmt.Errorf("-kernels %s: want simd or sequential", *how)
	}
	switch *form {
	case "sliced":
		s.format = sliced
	case "csr":
		s.format = csr
	default:
		return s, fmt.Errorf("-matrix %s: want sliced or csr", *form)
	}
	switch {
	case s.nx < 1 || s.ny < 1 || s.nz < 1:
		return s, errors.New("-nx, -ny and -nz must be at least 1")
	case s.nx*s.ny*(s.nz+2) > 1<<31-1:
		return s, fmt.Errorf("%d × %d × %d points are too many for one rank: use more ranks", s.nx, s.ny, s.nz)
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	// The halo receives from any source, but stores each plane by its source.
	if err := p.World().AssertSendDeterministic(); err != nil {
		return err
	}
	b := box{nx: set.nx, ny: set.ny, nz: set.nz, rank: p.Rank(), size: p.Size()}
	s, err := newSolver(p, b, set)
	if err != nil {
		return err
	}
	talks := p.Rank() == 0 && !set.json
	if talks && !p.Restored() {
		fmt.Printf("HPCCG on %d × %d × %d points for each of %d ranks, %d tasks a section\n", set.nx, set.ny, set.nz, p.Size(), set.tasks)
	}
	if talks {
		s.progress = func(pass int, residual float64) {
			if every := max(1, (set.iters-1)/10); pass%every == 0 || pass == 1 {
				fmt.Printf("pass %3d  residual %.6e\n", pass, residual)
			}
		}
	}
	if s.out, err = newOutput(p, set.field, set.log); err != nil {
		return err
	}
	history, first, err := s.solve(set.iters, set.tolerance)
	if err != nil {
		return err
	}
	if err := intra.Fetch(p, s.x); err != nil {
		return err
	}
	if err := s.out.close(s.x); err != nil {
		return err
	}
	r := result{Ranks: p.Size(), NX: set.nx, NY: set.ny, NZ: set.nz, Iterations: len(history), Residual: cli.Number(first), History: []cli.Number{}}
	for _, h := range history {
		r.History, r.Residual = append(r.History, cli.Number(h)), cli.Number(h)
	}
	worst, err := s.largestError()
	if err != nil {
		return fmt.Errorf("compare with the exact solution: %w", err)
	}
	r.Error = cli.Number(worst)
	if r.XSHA256, err = digest.Of(p.World(), s.x); err != nil {
		return err
	}
	// Replicas measure different times, but must print the same output.
	if r.Seconds, err = intra.Once(p, func() (seconds, error) { return s.seconds, nil }); err != nil {
		return fmt.Errorf("agree on the times: %w", err)
	}
	if err := s.seconds.write(set.times, p); err != nil {
		return fmt.Errorf("write the times of this process: %w", err)
	}
	if p.Rank() > 0 {
		return nil
	}
	for _, w := range r.warnings() {
		fmt.Fprintln(os.Stderr, "hpccg:", w)
	}
	return cli.Print(os.Stdout, &r, set.json)
}
