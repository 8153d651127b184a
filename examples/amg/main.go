package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
)

// settings are the flags.
type settings struct {
	stencil    stencil
	n          [3]int // points of each rank
	method     string
	tolerance  float64
	iterations int
	tasks      int
	json       bool
}

var methods = []string{"pcg", "gmres"}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := settings{tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.tasks, "most tasks of each section; the result depends on it", &s.json)
	name := f.String("problem", "27pt", "stencil: "+strings.Join(stencils, ", "))
	f.IntVar(&s.n[0], "nx", 32, "points in x of each rank")
	f.IntVar(&s.n[1], "ny", 32, "points in y")
	f.IntVar(&s.n[2], "nz", 0, "points in z (default 32, and 1 of the flat problem 5pt)")
	f.StringVar(&s.method, "solver", "pcg", "pcg, conjugate gradients, or gmres, GMRES(20)")
	f.Float64Var(&s.tolerance, "tolerance", 1e-8, "residual, relative to the first one, at which it ends")
	f.IntVar(&s.iterations, "iterations", 500, "most iterations")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.stencil = stencil(slices.Index(stencils, *name))
	if s.n[2] == 0 {
		s.n[2] = 32
		if s.stencil == cross5 {
			s.n[2] = 1
		}
	}
	switch {
	case s.stencil < 0:
		return s, fmt.Errorf("-problem %s: want %s", *name, strings.Join(stencils, ", "))
	case !slices.Contains(methods, s.method):
		return s, fmt.Errorf("-solver %s: want %s", s.method, strings.Join(methods, ", "))
	case slices.Min(s.n[:]) < 1:
		return s, errors.New("-nx, -ny and -nz must be at least 1")
	case s.stencil.flat() && s.n[2] > 1:
		return s, errors.New("-problem 5pt is flat: -nz must be 1")
	case !(s.tolerance >= 0 && s.tolerance < 1):
		return s, errors.New("-tolerance must be at least 0 and less than 1")
	case s.iterations < 0:
		return s, errors.New("-iterations must not be negative")
	}
	for points, d := 1, 0; d < 3; d++ {
		if points *= s.n[d]; s.n[d] > 1<<28 || points > 1<<28 {
			return s, fmt.Errorf("%d × %d × %d points are too many for one rank: use more ranks", s.n[0], s.n[1], s.n[2])
		}
	}
	return s, nil
}

// problem holds the settings that must not change when a run continues from saved state.
type problem struct {
	Stencil stencil
	Points  [3]int
	GMRES   bool
	Tasks   int
}

func (s settings) problem() problem { return problem{s.stencil, s.n, s.method == "gmres", s.tasks} }

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	talks := p.Rank() == 0 && !set.json
	if talks && !p.Restored() {
		fmt.Printf("AMG, %s stencil on %d × %d × %d points for each of %d ranks, %s, at most %d tasks a section\n",
			set.stencil, set.n[0], set.n[1], set.n[2], p.Size(), set.method, set.tasks)
	}
	s, err := newSolver(p, set)
	if err != nil {
		return err
	}
	if talks {
		if !p.Restored() {
			for k, n := range s.hierarchy.unknowns {
				fmt.Printf("level %d: %10d unknowns, %11d nonzeros\n", k, n, s.hierarchy.nonzeros[k])
			}
		}
		s.progress = func() {
			fmt.Printf("iteration %3d  residual %.6e\n", s.iterations(), s.norm()/s.history[0])
		}
	}
	if err := s.run(); err != nil {
		return err
	}
	r, err := s.result()
	if err != nil || p.Rank() > 0 {
		return err
	}
	if !r.Converged {
		fmt.Fprintf(os.Stderr, "amg: not converged: the residual is %.3g of the first after %d iterations, and has to be %.3g\n", float64(r.Residual), r.Iterations, set.tolerance)
	}
	return cli.Print(os.Stdout, r, set.json)
}
