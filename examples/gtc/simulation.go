package main

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/fields"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
	"github.com/intrahpc/intra/examples/gtc/internal/ions"
)

// simulation is the simulation on one rank. A process that continues from saved state
// builds the grid and the Poisson operator again.
//
//intra:state skip(p, tasks, grid, poisson, parts, sums, heat, stopTotal)
type simulation struct {
	p     *intra.Process
	tasks int

	grid    *grid.Grid
	ions    *ions.Ions
	fields  *fields.Fields
	poisson *fields.Poisson
	field   ions.Field // the field in which the ions move

	parts  [][]float64 // charge that each task deposits
	sums   []ions.Sums
	heat   []ions.Heat
	excess [grid.Bins]float64 // excess of temperature, averaged over time
	done   int                // number of completed steps
	past   []diagnosis

	seconds   seconds
	stopTotal func()
}

// seconds is the time spent in each part, on one replica.
type seconds struct {
	Push    float64 `json:"push"`
	Charge  float64 `json:"charge"`
	Shift   float64 `json:"shift"`
	Poisson float64 `json:"poisson"`
	Smooth  float64 `json:"smooth"`
	Field   float64 `json:"field"`
	Load    float64 `json:"load"`
	Total   float64 `json:"total"`
}

// Measured implements intra.Measured.
func (seconds) Measured() {}

// clock starts a stopwatch. The returned function adds the elapsed time to sum.
func clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSimulation(p *intra.Process, set settings) (*simulation, error) {
	s := &simulation{p: p, tasks: set.tasks}
	s.stopTotal = clock(&s.seconds.Total)
	defer clock(&s.seconds.Load)()
	if err := set.size.Check(p.Size()); err != nil {
		return nil, err
	}
	w, err := grid.NewWedge(p.World(), set.size.ParticleDomains)
	if err != nil {
		return nil, err
	}
	s.grid = grid.New(grid.Cyclone(), set.size, w)
	s.fields = fields.New(s.grid)
	if s.poisson, err = fields.NewPoisson(s.grid); err != nil {
		return nil, err
	}
	s.field = ions.Field{Grid: s.grid, Gradient: s.fields.Gradient}
	s.sums, s.heat = intra.Alloc[ions.Sums](set.tasks), intra.Alloc[ions.Heat](set.tasks)
	for range deposits(s.grid, set.tasks) {
		s.parts = append(s.parts, s.grid.Field())
	}
	s.ions = &ions.Ions{}
	s.Protect(p, "gtc")
	what := problem{set.size, set.tasks}
	was := what
	if intra.Protect(p, "problem", &was); was != what {
		return nil, fmt.Errorf("the saved state is of %+v, not of %+v: go on with the same", was, what)
	}
	if !p.Restored() {
		*s.ions = *ions.Draw(s.grid)
		s.load()
	}
	return s, nil
}

// problem holds the settings that must not change when a simulation continues from saved
// state.
type problem struct {
	grid.Size
	Tasks int
}

// deposits returns the number of tasks for the charge. Each task has to clear, send and add
// a field of its own. So there are at most as many tasks as the ratio of ions to values in
// a field allows.
func deposits(g *grid.Grid, tasks int) int {
	n := 1
	for 2*n <= tasks && 2*n*g.Points*(g.Planes+1) <= g.Ions {
		n *= 2
	}
	return min(max(n, 4), tasks)
}

// step carries out one time step, and diagnoses it if a diagnosis is due.
func (s *simulation) step(number int) (d *diagnosis, err error) {
	dt := s.grid.TimeStep
	due := number%s.grid.DiagnosisInterval == 0
	if err := s.findField(); err != nil {
		return nil, err
	}
	s.ions.Begin()
	if err := s.predict(dt / 2); err != nil {
		return nil, err
	}
	if due {
		if d, err = s.diagnose(number); err != nil {
			return nil, err
		}
	}
	if err := s.redistribute(true); err != nil {
		return nil, err
	}

	if err := s.findField(); err != nil {
		return nil, err
	}
	s.correct(dt)
	if due {
		if err := s.keepProfile(); err != nil {
			return nil, err
		}
	}
	return d, s.redistribute(false)
}

// findField smooths the potential and computes its gradient.
func (s *simulation) findField() error {
	done := clock(&s.seconds.Smooth)
	err := s.fields.Smooth(s.fields.Potential)
	s.fields.SolveZonal()
	done()
	if err != nil {
		return fmt.Errorf("smooth the potential: %w", err)
	}
	defer clock(&s.seconds.Field)()
	return s.fields.Differentiate()
}

// redistribute moves the ions to the wedges where they are now, and computes the potential
// that they create there.
func (s *simulation) redistribute(old bool) error {
	done := clock(&s.seconds.Shift)
	if s.grid.Wedges > 1 { // ions move from array to array
		if err := intra.Fetch(s.p, s.ions.Arrays()...); err != nil {
			return err
		}
	}
	err := s.ions.Shift(s.p.World(), s.grid, old)
	done()
	if err != nil {
		return err
	}
	done = clock(&s.seconds.Charge)
	s.charge()
	if err = intra.Fetch(s.p, s.parts...); err == nil {
		err = s.fields.Collect(s.parts)
	}
	done()
	if err != nil {
		return err
	}
	done = clock(&s.seconds.Smooth)
	err = s.fields.Smooth(s.fields.Density)
	done()
	if err != nil {
		return fmt.Errorf("smooth the density: %w", err)
	}
	defer clock(&s.seconds.Poisson)()
	return s.solve()
}

// solve computes the potential of the density.
func (s *simulation) solve() error {
	for k := s.poisson.First(); k < s.poisson.End(); k++ {
		s.poisson.Begin(s.fields, k)
		for range s.poisson.Iterations() {
			s.average(k)
			s.poisson.Improve()
		}
		s.poisson.Store(s.fields, k)
	}
	return s.poisson.Close(s.fields)
}

// keepProfile subtracts from the weights the change of the temperature profile that the
// turbulence has caused, averaged over a hundred steps.
func (s *simulation) keepProfile() error {
	defer clock(&s.seconds.Push)()
	var all ions.Heat
	tasks := s.measureHeat()
	if err := intra.Fetch(s.p, s.heat); err != nil {
		return err
	}
	for i := range tasks {
		all.Add(&s.heat[i])
	}
	all, err := comm.AllreduceValue(s.p.World(), all, func(a, b ions.Heat) ions.Heat {
		a.Add(&b)
		return a
	})
	if err != nil {
		return fmt.Errorf("add up the heat: %w", err)
	}
	temperature := s.grid.Gyroradius * s.grid.Gyroradius
	share := s.memory()
	for i := range s.excess {
		now := all.Weighted[i] / temperature / max(1, all.Ions[i])
		s.excess[i] = float64((1-share)*s.excess[i]) + float64(share*now)
	}
	s.restore()
	return nil
}

// memory is the weight of the newest value in averages over time.
func (s *simulation) memory() float64 {
	return float64(float32(0.01) * float32(s.grid.DiagnosisInterval))
}
