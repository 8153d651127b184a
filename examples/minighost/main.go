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
	stencil stencil
	method  method
	n       [3]int // points of each rank
	ranks   [3]int // in each direction
	vars    int
	steps   int
	spikes  int
	tasks   int
	json    bool
}

// mostVars is the maximum number of variables, as in the original.
const mostVars = 40

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := settings{tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.tasks, "most tasks for the rows of a grid", &s.json)
	for d, axis := range []string{"x", "y", "z"} {
		f.IntVar(&s.n[d], "n"+axis, 100, "points in "+axis+" of each rank")
		f.IntVar(&s.ranks[d], "np"+axis, 0, "ranks in "+axis+"; if none of the three is given, they are as cubic as possible")
	}
	f.IntVar(&s.vars, "vars", 5, "variables, each on a grid of its own")
	f.IntVar(&s.steps, "steps", 100, "time steps after each spike")
	f.IntVar(&s.spikes, "spikes", 1, "spikes: one in the centre at the beginning, others elsewhere later")
	name := f.String("stencil", "2d5", "neighbours that a point is averaged with: "+strings.Join(stencils, ", "))
	how := f.String("comm", "bspma", "messages: bspma, faces of all variables together, or svaf, one variable after another")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.stencil, s.method = stencil(slices.Index(stencils, *name)), method(slices.Index(methods, *how))
	switch {
	case s.stencil < 0:
		return s, fmt.Errorf("-stencil %s: want %s", *name, strings.Join(stencils, ", "))
	case s.method < 0:
		return s, fmt.Errorf("-comm %s: want %s", *how, strings.Join(methods, ", "))
	case slices.Min(s.n[:]) < 1:
		return s, errors.New("-nx, -ny and -nz must be at least 1")
	case slices.Min(s.ranks[:]) < 0:
		return s, errors.New("-npx, -npy and -npz must not be negative")
	case s.vars < 1 || s.vars > mostVars:
		return s, fmt.Errorf("-vars must be 1 to %d", mostVars)
	case s.steps < 0:
		return s, errors.New("-steps must not be negative")
	case s.spikes < 1:
		return s, errors.New("-spikes must be at least 1")
	}
	for points, d := 1, 0; d < 3; d++ {
		if points *= s.n[d] + 2; s.n[d] > 1<<30 || points > 1<<30 {
			return s, fmt.Errorf("%d × %d × %d points are too many for one rank: use more ranks", s.n[0], s.n[1], s.n[2])
		}
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	// The halo unpacks faces in order of arrival, but each face has its own memory.
	if err := p.World().AssertSendDeterministic(); err != nil {
		return err
	}
	s, err := newSimulation(p, set)
	if err != nil {
		return err
	}
	if talks := p.Rank() == 0 && !set.json; talks {
		if !p.Restored() {
			fmt.Printf("miniGhost, %s stencil, %d variables on %d × %d × %d points for each of %d × %d × %d ranks, %s, at most %d tasks a grid\n",
				set.stencil, set.vars, set.n[0], set.n[1], set.n[2], s.box.ranks[0], s.box.ranks[1], s.box.ranks[2], set.method, set.tasks)
		}
		s.progress = func() {
			if s.step%20 == 0 {
				fmt.Printf("step %5d  variable 1: sum %.15e  left the domain %.6e  largest error %.3e\n", s.step, s.variables[0].total, s.variables[0].lost, s.worst)
			}
		}
	}
	if err := s.run(); err != nil {
		return err
	}
	r, err := s.result()
	if err != nil || p.Rank() > 0 {
		return err
	}
	if !r.Verified {
		fmt.Fprintf(os.Stderr, "minighost: not verified: a sum is %g of it from what it was, at most %g is right\n", float64(r.Error), tolerance)
	}
	return cli.Print(os.Stdout, r, set.json)
}
