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
	graph graph
	steps int
	iters int
	json  bool
}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	var s settings
	f := cli.NewFlags(nil, "", &s.json)
	name := f.String("pattern", stencil1D.String(), "points that a point needs: "+strings.Join(patterns, ", "))
	f.IntVar(&s.graph.width, "width", 16, "points of a step, over all ranks; each is a task")
	f.IntVar(&s.steps, "steps", 1000, "steps")
	f.IntVar(&s.iters, "iters", 64, fmt.Sprintf("iterations of each task, of %d floating-point operations each", lanes*operations))
	f.IntVar(&s.graph.radix, "radix", 5, "points from which random_nearest draws those that a point needs")
	f.Float64Var(&s.graph.fraction, "fraction", 0.25, "probability with which it draws each of them; it always draws the point itself")
	f.Uint64Var(&s.graph.seed, "seed", 1, "seed of the values, and of random_nearest")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.graph.pattern = pattern(slices.Index(patterns, *name))
	switch {
	case s.graph.pattern < 0:
		return s, fmt.Errorf("-pattern %s: want %s", *name, strings.Join(patterns, ", "))
	case s.graph.width < 1 || s.steps < 1:
		return s, errors.New("-width and -steps must be at least 1")
	case s.iters < 0:
		return s, errors.New("-iters must not be negative")
	case s.graph.radix < 1:
		return s, errors.New("-radix must be at least 1")
	case !(s.graph.fraction >= 0 && s.graph.fraction <= 1):
		return s, errors.New("-fraction must be 0 to 1")
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	r, err := measure(p, set)
	if err != nil || p.Rank() > 0 {
		return err
	}
	return cli.Print(os.Stdout, r, set.json)
}
