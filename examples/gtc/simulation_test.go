package main

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
	"github.com/intrahpc/intra/examples/internal/cli"

	"github.com/intrahpc/intra/intratest"
)

// small is a case that runs for milliseconds.
func small(steps int) settings {
	return settings{
		size:  grid.Size{IonsPerCell: 4, Surfaces: 10, MaxTheta: 24, MaxZeta: 2, ParticleDomains: 1, DiagnosisInterval: 1},
		steps: steps, tasks: 4,
	}
}

// results runs a job and returns the result of every replica of rank 0 that
// finished.
func results(t *testing.T, spec intra.Spec, set settings, opts ...intratest.Option) ([]result, intratest.Report) {
	t.Helper()
	var mu sync.Mutex
	var all []result
	report := intratest.Run(t, spec, func(p *intra.Process) error {
		_, r, err := simulate(p, set, func(diagnosis) {})
		if err == nil && p.Rank() == 0 {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, r)
		}
		return err
	}, opts...)
	return all, report
}

// The results agree with the reference run of GTC v2 in double precision.
func TestAgreesWithGTC(t *testing.T) {
	set := defaults()
	set.size.IonsPerCell = 10
	set.steps = 2
	all, _ := results(t, intra.Spec{Ranks: 2}, set)
	require.Len(t, all, 1)
	require.Len(t, all[0].Steps, 2)
	step := all[0].Steps[1]
	for _, tt := range []struct {
		name      string
		got       cli.Number
		want      float64
		precision float64
	}{
		{"rms", step.RMS, 1.9144942406956710e-05, 1e-12},
		{"eradial", step.Eradial, 6.0880808915275529e-05, 1e-12},
		{"heat flux", step.HeatFlux, 6.2355141973104181e-10, 1e-11},
		{"weighted energy", step.WeightedEnergy, -8.7171549231943460e-06, 1e-12},
		{"total energy", step.TotalEnergy, 7.9675573858907178, 1e-12},
	} {
		require.InEpsilon(t, tt.want, float64(tt.got), tt.precision, tt.name)
	}
	for _, d := range all[0].Steps {
		require.Equal(t, 2*323590, markers(d), "step %d", d.Step)
	}
}

func markers(d diagnosis) (n int) {
	for _, m := range d.Markers {
		n += m
	}
	return n
}

// Torus and ions can be divided in every way. No ion is lost, and the field is that of a
// plasma.
func TestDecompositions(t *testing.T) {
	for _, tt := range []struct{ ranks, domains, planes int }{
		{1, 1, 1}, {1, 1, 3}, {2, 1, 2}, {2, 2, 1}, {2, 2, 2}, {3, 1, 6}, {4, 2, 4}, {6, 2, 12}, {6, 3, 2},
	} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			set := small(6)
			set.size.ParticleDomains, set.size.MaxZeta = tt.domains, tt.planes
			all, _ := results(t, intra.Spec{Ranks: tt.ranks}, set)
			require.Len(t, all, 1)
			require.Len(t, all[0].Steps, 6)
			for _, d := range all[0].Steps {
				require.Equal(t, markers(all[0].Steps[0]), markers(d))
				require.False(t, math.IsNaN(float64(d.RMS)))
				require.InDelta(t, 0, float64(d.RMS), 1e-2)
				require.InEpsilon(t, float64(all[0].Steps[0].TotalEnergy), float64(d.TotalEnergy), 1e-3)
			}
			require.NotZero(t, all[0].Steps[5].RMS)
		})
	}
}

func TestRefusesWhatItCannotRun(t *testing.T) {
	for _, tt := range []struct {
		text   string
		change func(*grid.Size)
	}{
		{"planes", func(s *grid.Size) { s.MaxZeta = 3 }},
		{"domains", func(s *grid.Size) { s.ParticleDomains = 3 }},
		{"ion", func(s *grid.Size) { s.IonsPerCell = 0 }},
		{"even", func(s *grid.Size) { s.Surfaces = 11 }},
		{"poloidal", func(s *grid.Size) { s.MaxTheta = 4 }},
		{"interval", func(s *grid.Size) { s.DiagnosisInterval = 0 }},
	} {
		set := small(1)
		tt.change(&set.size)
		_, report := results(t, intra.Spec{Ranks: 2}, set, intratest.Fails())
		require.ErrorContains(t, report.Err, tt.text)
	}
}

// The results do not depend on the interval of the diagnosis. The test compares markers and
// energy of the steps that both runs diagnose.
func TestDiagnosisInterval(t *testing.T) {
	set := small(6)
	set.size.DiagnosisInterval = 3
	all, _ := results(t, intra.Spec{Ranks: 2}, set)
	require.Len(t, all, 1)
	require.Len(t, all[0].Steps, 2)
	require.Equal(t, 3, all[0].Steps[0].Step)
	require.Equal(t, 6, all[0].Steps[1].Step)
}
