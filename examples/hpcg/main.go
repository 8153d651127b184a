package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/internal/digest"
)

// settings are the flags.
type settings struct {
	nx, ny, nz int
	sets       int
	time       time.Duration
	smoother   smoother
	tasks      int
	json       bool
}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := settings{tasks: (*intra.Process)(nil).Tasks()}
	f := cli.NewFlags(&s.tasks, "most tasks of each section, and slabs; the result depends on it", &s.json)
	f.IntVar(&s.nx, "nx", 104, "points in x of each rank: a multiple of 8")
	f.IntVar(&s.ny, "ny", 104, "points in y")
	f.IntVar(&s.nz, "nz", 104, "points in z")
	f.IntVar(&s.sets, "sets", 1, "timed sets")
	f.DurationVar(&s.time, "time", 0, "run as many sets as fill this time instead; official results take 30m")
	how := f.String("smoother", "slab", "order of Gauss-Seidel, on which the result depends: natural, as the original's; slab; or colour")
	if err := f.Parse(); err != nil {
		return s, err
	}
	s.smoother = smoother(slices.Index(smoothers, *how))
	least, most := min(s.nx, s.ny, s.nz), max(s.nx, s.ny, s.nz)
	switch {
	case s.smoother < 0:
		return s, fmt.Errorf("-smoother %s: want %s", *how, strings.Join(smoothers, ", "))
	case least < 16 || s.nx%8 != 0 || s.ny%8 != 0 || s.nz%8 != 0:
		return s, errors.New("-nx, -ny and -nz must be multiples of 8, and at least 16")
	case most > flattest*least:
		return s, fmt.Errorf("of -nx, -ny and -nz none may be more than %d times another", flattest)
	case s.nx*s.ny*s.nz > 1<<30:
		return s, fmt.Errorf("%d × %d × %d points are too many for one rank: use more ranks", s.nx, s.ny, s.nz)
	case s.sets < 1:
		return s, errors.New("-sets must be at least 1")
	case s.time < 0:
		return s, errors.New("-time must not be negative")
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	b, err := newBenchmark(p, set)
	if err != nil {
		return err
	}
	if talks := p.Rank() == 0 && !set.json; talks {
		if !p.Restored() {
			fmt.Printf("HPCG on %d × %d × %d points for each of %d × %d × %d ranks, smoother %v, at most %d tasks a section\n",
				set.nx, set.ny, set.nz, b.box.ranks[0], b.box.ranks[1], b.box.ranks[2], set.smoother, set.tasks)
		}
		b.progress = func(what string, iteration int, residual float64) {
			if iteration == 1 || iteration%10 == 0 {
				fmt.Printf("%-29s  iteration %3d  residual %.6e\n", what, iteration, residual)
			}
		}
	}
	if err := b.run(); err != nil {
		return err
	}
	r, err := b.result()
	if err != nil || p.Rank() > 0 {
		return err
	}
	for _, f := range r.faults() {
		fmt.Fprintln(os.Stderr, "hpcg: not valid:", f)
	}
	return cli.Print(os.Stdout, r, set.json)
}

// result computes the result, which is complete on rank 0.
func (b *benchmark) result() (*result, error) {
	r := &result{
		Ranks: b.p.Size(), Grid: b.box.ranks, NX: b.set.nx, NY: b.set.ny, NZ: b.set.nz,
		Smoother: b.set.smoother.String(), Tasks: b.set.tasks,
		R0: b.first, Goal: b.goal, History: b.history, Iterations: b.reached, Sets: len(b.ends),
		Spectral: b.spectral, Symmetry: b.symmetry,
	}
	r.Residual, r.Variance = summarise(b.ends)
	if err := intra.Fetch(b.p, b.cg.x); err != nil {
		return nil, err
	}
	x := make([]float64, b.box.points())
	for row, point := range b.cg.op.order.points {
		x[point] = b.cg.x[row]
	}
	var err error
	if r.XSHA256, err = digest.Of(b.p.World(), x); err != nil {
		return nil, err
	}
	// Replicas measure different times, but must print the same output.
	if r.Times, err = intra.Once(b.p, func() (times, error) { return b.times, nil }); err != nil {
		return nil, fmt.Errorf("agree on the times: %w", err)
	}
	r.rate()
	r.Valid = len(r.faults()) == 0
	return r, nil
}
