package fields

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// whole is the grid of a torus with a single rank.
func whole(t *testing.T, surfaces, theta, planes int) *grid.Grid {
	t.Helper()
	w, err := grid.NewWedge(comm.Self(), 1)
	require.NoError(t, err)
	return grid.New(grid.Cyclone(), grid.Size{
		IonsPerCell: 1, Surfaces: surfaces, MaxTheta: theta, MaxZeta: planes, ParticleDomains: 1, DiagnosisInterval: 1,
	}, w)
}

// fill sets f to a function of radius, poloidal and toroidal angle.
func fill(g *grid.Grid, f []float64, value func(r, theta, zeta float64) float64) {
	for i, r := range g.Radius {
		first := int(g.Surface[i].Start)
		for j := range int(g.Surface[i].N) + 1 {
			for k := range g.Planes + 1 {
				f[g.Index(first+j, k)] = value(r, g.Theta(i, j, k), g.Zeta(k))
			}
		}
	}
}

// inside calls f for each point that has a field.
func inside(g *grid.Grid, f func(r, theta, zeta float64, at int)) {
	for i := 1; i < g.Surfaces; i++ {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			for k := range g.Planes + 1 {
				f(g.Radius[i], g.Theta(i, p-lo+1, k), g.Zeta(k), g.Index(p, k))
			}
		}
	}
}

// GTC prints these numbers about its solver.
func TestPoissonOperatorOfTheBenchmark(t *testing.T) {
	w, err := grid.NewWedge(comm.Self(), 1)
	require.NoError(t, err)
	w.Wedges, w.ZetaMax = 2, math.Pi
	g := grid.New(grid.Cyclone(), grid.Size{IonsPerCell: 1, Surfaces: 90, MaxTheta: 640, MaxZeta: 2, ParticleDomains: 1, DiagnosisInterval: 1}, w)
	s, err := NewPoisson(g)
	require.NoError(t, err)
	require.InDelta(t, 0.99999997764825899, s.Shape.Largest, 1e-15)
	s.Shape.Largest = 0
	require.Equal(t, Shape{Most: 51, Least: 0, Entries: 1211758}, s.Shape)
}

// The average of a field of ones is one: the sums of the rows are the weights of the rings.
func TestPoissonRowsAddUpToOne(t *testing.T) {
	g := whole(t, 20, 64, 2)
	s, err := NewPoisson(g)
	require.NoError(t, err)
	for i := range s.guess {
		s.guess[i] = 1
	}
	s.Average(2, 0, g.Points)
	for i := range g.Surface {
		lo, hi := g.Range(i)
		require.Zero(t, s.average[lo-1])
		for p := lo; p < hi; p++ {
			require.InDelta(t, 1, s.average[p], 1e-7)
		}
	}
}

// With more iterations, the solver reproduces a known potential from its density.
func TestPoissonFindsAKnownSolution(t *testing.T) {
	g := whole(t, 20, 64, 1)
	s, err := NewPoisson(g)
	require.NoError(t, err)
	f := New(g)
	potential := g.Field()
	fill(g, potential, func(r, theta, zeta float64) float64 {
		return math.Sin(math.Pi*(r-g.Inner)/(g.Outer-g.Inner)) * (1 + math.Cos(2*theta)/3)
	})
	f.zeroRim(potential)
	for i := range s.guess {
		s.guess[i] = potential[g.Index(i, 1)]
	}
	s.Average(1, 0, g.Points)
	for i, a := range s.average {
		f.Density[g.Index(i, 1)] = (1+g.TiTe)*s.guess[i] - a
	}
	s.Begin(f, 1)
	for range 100 {
		s.Average(1, 0, g.Points)
		s.Improve()
	}
	s.Store(f, 1)
	require.NoError(t, s.Close(f))
	unit := g.Gyroradius * g.Gyroradius
	inside(g, func(_, _, _ float64, at int) {
		if at%(g.Planes+1) == 1 {
			require.InDelta(t, potential[at], f.Potential[at]/unit, 1e-9)
		}
	})
}

func TestSmoothingKeepsAConstant(t *testing.T) {
	for _, planes := range []int{1, 2, 5} {
		g := whole(t, 20, 64, planes)
		f := New(g)
		v := g.Field()
		fill(g, v, func(_, _, _ float64) float64 { return 3 })
		require.NoError(t, f.Smooth(v))
		inside(g, func(r, _, _ float64, at int) { require.InDelta(t, 3, v[at], 1e-12) })
		require.Zero(t, v[0])
		require.Zero(t, v[len(v)-1])
	}
}

// Smoothing removes short waves and keeps long ones.
func TestSmoothingIsALowPass(t *testing.T) {
	g := whole(t, 20, 64, 8)
	f := New(g)
	rest := func(m float64) float64 {
		v := g.Field()
		fill(g, v, func(_, theta, zeta float64) float64 { return math.Cos(m * theta) })
		require.NoError(t, f.Smooth(v))
		sum := 0.0
		for i := 8; i <= 12; i++ {
			lo, hi := g.Range(i)
			for p := lo; p < hi; p++ {
				sum += math.Abs(v[g.Index(p, 4)]) / float64(hi-lo) / 5
			}
		}
		return sum * math.Pi / 2
	}
	require.InDelta(t, 1, rest(1), 0.1)
	require.Less(t, rest(16), 0.5)
}

// Central differences are exact for parabolas, and of second order otherwise.
func TestGradient(t *testing.T) {
	g := whole(t, 20, 64, 4)
	f := New(g)
	fill(g, f.Potential, func(r, _, _ float64) float64 { return r * r })
	require.NoError(t, f.Differentiate())
	inside(g, func(_, _, _ float64, at int) {
		require.InDelta(t, 2, f.Gradient[3*at], 1e-9, "by flux, half the square of the radius")
		require.InDelta(t, 0, f.Gradient[3*at+1], 1e-9)
		require.InDelta(t, 0, f.Gradient[3*at+2], 1e-9)
	})
	worst := func(theta, planes int) (worst float64) {
		g := whole(t, 20, theta, planes)
		f := New(g)
		fill(g, f.Potential, func(r, theta, zeta float64) float64 { return math.Sin(theta) })
		require.NoError(t, f.Differentiate())
		inside(g, func(r, theta, _ float64, at int) {
			if r < 2*g.Inner {
				return // there are too few points
			}
			want := math.Cos(theta)
			worst = max(worst, math.Abs(f.Gradient[3*at+1]-want), math.Abs(f.Gradient[3*at+2]-want/g.Safety(r)))
		})
		return worst
	}
	coarse, fine := worst(64, 16), worst(128, 32)
	require.Less(t, coarse, 0.1)
	require.Less(t, fine, coarse/3)
}

func TestZonalFlow(t *testing.T) {
	g := whole(t, 20, 64, 1)
	f := New(g)
	f.SolveZonal()
	require.Zero(t, f.ZonalAmplitude())
	for i := range f.Averages {
		f.Averages[i] = 1e-3
	}
	f.SolveZonal()
	require.Zero(t, f.Zonal[0])
	// Gauss's law: r·E = ∫ n r dr, for a density that is constant away from the rim.
	r := g.Radius[10]
	require.InEpsilon(t, -1e-3*(r*r-g.Inner*g.Inner)/2/r, f.Zonal[10], 0.15)
	require.NoError(t, f.Differentiate())
	require.InEpsilon(t, f.Zonal[10]/r, f.Gradient[3*g.Index(int(g.Surface[10].Start)+3, 1)], 1e-12)
	energy, err := f.Energies()
	require.NoError(t, err)
	require.InDelta(t, 0, energy[0], 1e-20, "there is no turbulence")
	require.Positive(t, energy[1])
}

// The density has no average left, and the averages have no total charge.
func TestCollect(t *testing.T) {
	g := whole(t, 20, 64, 2)
	f := New(g)
	parts := [][]float64{g.Field(), g.Field(), g.Field()}
	for n, part := range parts {
		for i := range part {
			part[i] = float64((i*7+n)%11) - 4
		}
	}
	require.NoError(t, f.Collect(parts))
	charge := 0.0
	for i, r := range g.Radius {
		lo, hi := g.Range(i)
		sum := 0.0
		for p := lo; p < hi; p++ {
			for k := 1; k <= g.Planes; k++ {
				sum += f.Density[g.Index(p, k)] / g.Markers[g.Index(p, k)]
			}
		}
		require.InDelta(t, 0, sum*g.PerRing[i], 1e-12)
		if i > 0 && i < g.Surfaces {
			charge += r * f.Averages[i]
		}
	}
	require.InDelta(t, 0, charge, 1e-12)
}

func TestAtInterpolates(t *testing.T) {
	g := whole(t, 40, 256, 2)
	f := New(g)
	v := g.Field()
	value := func(r, theta, _ float64) float64 { return r * math.Cos(theta) }
	fill(g, v, value)
	for _, r := range []float64{g.Inner, 0.1, 0.2, g.Outer} {
		for theta := -4.0; theta < 8; theta += 0.7 {
			require.InDelta(t, value(r, theta, 0), f.At(v, r, theta, 2), 2e-3)
		}
	}
}
