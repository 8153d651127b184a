package main

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
	"github.com/intrahpc/intra/examples/gtc/internal/ions"
	"github.com/intrahpc/intra/examples/internal/cli"
)

// diagnosis describes the state at the beginning of a step.
type diagnosis struct {
	Step           int            `json:"step"`
	RMS            cli.Number     `json:"rms"`             // potential, in units of the ions' temperature
	Eradial        cli.Number     `json:"eradial"`         // amplitude of the zonal flow
	HeatFlux       cli.Number     `json:"heat_flux"`       // of the ions, at half radius
	WeightedEnergy cli.Number     `json:"weighted_energy"` // of the ions, times their weights
	TotalEnergy    cli.Number     `json:"total_energy"`    // of the ions
	FieldEnergy    [3]cli.Number  `json:"field_energy"`    // turbulent, total, zonal
	Markers        [grid.Bins]int `json:"markers"`         // ions by radius
}

// diagnose computes a diagnosis from the sums of the push, and updates the net flow.
func (s *simulation) diagnose(step int) (*diagnosis, error) {
	defer clock(&s.seconds.Push)()
	type all struct {
		ions.Sums
		MeanSquare float64
	}
	if err := intra.Fetch(s.p, s.sums); err != nil {
		return nil, err
	}
	local := all{MeanSquare: s.fields.MeanSquare()}
	for i := range s.sums {
		local.Add(&s.sums[i])
	}
	total, err := comm.AllreduceValue(s.p.World(), local, func(a, b all) all {
		a.Add(&b.Sums)
		a.MeanSquare += b.MeanSquare
		return a
	})
	if err != nil {
		return nil, fmt.Errorf("add up the diagnostics: %w", err)
	}
	energy, err := s.fields.Energies()
	if err != nil {
		return nil, err
	}
	share := s.memory()
	for i := range s.field.Flow {
		now := total.Flow[i] / max(1, total.Markers[i])
		s.field.Flow[i] = float64((1-share)*s.field.Flow[i]) + float64(share*now)
	}
	g := s.grid
	const middle = grid.Bins / 2
	r := g.Inner + float64((g.Outer-g.Inner)/grid.Bins*(middle+0.5))
	y := math.Pow(g.Steepness*(r-g.Centre), 6)
	gradient := max(0.1, math.Exp(-y)) * g.KappaT * g.Gyroradius
	thermal := g.Gyroradius * g.Gyroradius * g.Gyroradius
	d := &diagnosis{
		Step:           step,
		RMS:            cli.Number(math.Sqrt(total.MeanSquare / float64(s.p.Size()))),
		Eradial:        cli.Number(s.fields.ZonalAmplitude()),
		HeatFlux:       cli.Number(total.HeatFlux[middle] / thermal / gradient / max(1, total.Markers[middle])),
		WeightedEnergy: cli.Number(total.Weighted),
		TotalEnergy:    cli.Number(total.Energy),
	}
	for i, e := range energy {
		d.FieldEnergy[i] = cli.Number(e)
	}
	for i, n := range total.Markers {
		d.Markers[i] = int(n)
	}
	return d, nil
}
