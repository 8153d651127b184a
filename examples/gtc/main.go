package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
	"github.com/intrahpc/intra/examples/internal/cli"
	"github.com/intrahpc/intra/examples/internal/digest"
)

//go:generate go tool intragen

// settings are the flags.
type settings struct {
	size  grid.Size
	steps int
	tasks int
	json  bool
	plot  string
}

func defaults() settings {
	return settings{
		size: grid.Size{
			IonsPerCell: 2, Surfaces: 90, MaxTheta: 640, MaxZeta: 2,
			ParticleDomains: 1, DiagnosisInterval: 1,
		},
		steps: 4, tasks: (*intra.Process)(nil).Tasks(),
	}
}

// parse reads the flags. It is called again when the job rolls back.
func parse() (settings, error) {
	s := defaults()
	f := cli.NewFlags(&s.tasks, "most tasks of a section; the last digits of the result depend on it", &s.json)
	f.IntVar(&s.size.IonsPerCell, "micell", s.size.IonsPerCell, "ions for each point of the grid")
	f.IntVar(&s.size.Surfaces, "mpsi", s.size.Surfaces, "radial cells; even")
	f.IntVar(&s.size.MaxTheta, "mthetamax", s.size.MaxTheta, "most poloidal points")
	f.IntVar(&s.size.MaxZeta, "mzetamax", s.size.MaxZeta, "toroidal planes, a multiple of the wedges")
	f.IntVar(&s.size.ParticleDomains, "npartdom", s.size.ParticleDomains, "ranks that share the ions of one wedge")
	f.IntVar(&s.steps, "steps", s.steps, "time steps")
	f.IntVar(&s.size.DiagnosisInterval, "ndiag", s.size.DiagnosisInterval, "steps from one diagnosis to the next")
	f.StringVar(&s.plot, "plot", "", "write a picture of the potential in one poloidal plane to this PNG `FILE`")
	if err := f.Parse(); err != nil {
		return s, err
	}
	if s.steps < 1 {
		return s, errors.New("-steps must be at least 1")
	}
	return s, nil
}

func main() { intra.Main(cli.Program(parse, run)) }

func run(p *intra.Process, set settings) error {
	talks := p.Rank() == 0 && !set.json
	progress := func(d diagnosis) {}
	if talks {
		progress = func(d diagnosis) { d.print(os.Stdout) }
	}
	s, r, err := simulate(p, set, progress)
	if err != nil {
		return err
	}
	if set.plot != "" && p.Rank() == 0 {
		if err := s.plot(set.plot); err != nil {
			return err
		}
	}
	if p.Rank() > 0 {
		return nil
	}
	return cli.Print(os.Stdout, &r, set.json)
}

// simulate runs the whole simulation. The result is complete on rank 0.
func simulate(p *intra.Process, set settings, progress func(diagnosis)) (*simulation, result, error) {
	r := result{Ranks: p.Size(), Steps: []diagnosis{}}
	s, err := newSimulation(p, set)
	if err != nil {
		return nil, r, err
	}
	for s.done < set.steps {
		if err := p.SafePoint(); err != nil {
			return nil, r, err
		}
		p.Progress(s.done, set.steps)
		d, err := s.step(s.done + 1)
		if err != nil {
			return nil, r, fmt.Errorf("step %d: %w", s.done+1, err)
		}
		if d != nil {
			s.past = append(s.past, *d)
			progress(*d)
		}
		s.done++
	}
	r.Steps = append(r.Steps, s.past...)
	s.stopTotal()
	if r.StateSHA256, err = s.digest(); err != nil {
		return nil, r, err
	}
	// Replicas measure different times, but must print the same output.
	if r.Seconds, err = intra.Once(p, func() (seconds, error) { return s.seconds, nil }); err != nil {
		return nil, r, fmt.Errorf("agree on the times: %w", err)
	}
	return s, r, nil
}

// digest returns, on rank 0, the digest of the state of all ranks: coordinates of the ions
// and the potential.
func (s *simulation) digest() (string, error) {
	if err := s.p.Settle(); err != nil {
		return "", err
	}
	now := &s.ions.Now
	return digest.Of(s.p.World(), now.Psi, now.Theta, now.Zeta, now.Rho, now.Weight, s.ions.Mu, s.fields.Potential)
}
