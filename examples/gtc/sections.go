//go:build !intra

package main

import (
	"github.com/intrahpc/intra"
)

// load turns random numbers into a plasma, in shared tasks.
func (s *simulation) load() {
	//intra:section on(s.p)
	for lo, hi := range intra.Blocks(s.ions.Len(), s.tasks) {
		s.ions.Load(s.grid, lo, hi)
	}
}

// predict moves the ions by half a step, in shared tasks.
func (s *simulation) predict(dt float64) error {
	defer clock(&s.seconds.Push)()
	if err := intra.Fetch(s.p, s.sums); err != nil {
		return err
	}
	clear(s.sums)
	task := 0
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(s.ions.Len(), s.tasks) {
		s.ions.Predict(&s.field, dt, lo, hi, &s.sums[task])
		task++
	}
	return nil
}

// correct moves the ions by the whole step, in place, in shared tasks.
func (s *simulation) correct(dt float64) {
	defer clock(&s.seconds.Push)()
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(s.ions.Len(), s.tasks) {
		s.ions.Correct(&s.field, dt, lo, hi)
	}
}

// charge deposits the charge of the ions on the grid, in shared tasks. Each task has its
// own field.
func (s *simulation) charge() {
	task := 0
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(s.ions.Len(), len(s.parts)) {
		s.ions.Charge(s.grid, lo, hi, s.parts[task])
		task++
	}
}

// average applies the Poisson operator to a plane, in shared tasks.
func (s *simulation) average(plane int) {
	//intra:section on(s.p)
	for lo, hi := range intra.Blocks(s.grid.Points, s.tasks) {
		s.poisson.Average(plane, lo, hi)
	}
}

// measureHeat measures the heat of the ions, in shared tasks. It returns the number of
// tasks.
func (s *simulation) measureHeat() (tasks int) {
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(s.ions.Len(), s.tasks) {
		s.ions.Heat(s.grid, lo, hi, &s.heat[tasks])
		tasks++
	}
	return tasks
}

// restore subtracts the excess of temperature from the weights, in shared tasks.
func (s *simulation) restore() {
	//intra:section on(s.p) keep
	for lo, hi := range intra.Blocks(s.ions.Len(), s.tasks) {
		s.ions.Restore(s.grid, s.excess, lo, hi)
	}
}
