package ions

import (
	"math"
	"slices"
	"sort"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"

	"github.com/intrahpc/intra/intratest"
)

var little = grid.Size{IonsPerCell: 20, Surfaces: 20, MaxTheta: 64, MaxZeta: 4, ParticleDomains: 1, DiagnosisInterval: 1}

// loaded returns ions of the first of two wedges.
func loaded(t *testing.T) (*grid.Grid, *Ions) {
	t.Helper()
	g := half(t, little)
	z := Draw(g)
	z.Load(g, 0, z.Len())
	return g, z
}

func TestFunctions(t *testing.T) {
	for x := -50.0; x < 50; x += 0.0137 {
		s, c := sincos(x)
		require.InDelta(t, math.Sin(x), s, 4e-16, "sin %v", x)
		require.InDelta(t, math.Cos(x), c, 4e-16, "cos %v", x)
	}
	for x := 0.0; x < 690; x += 0.0731 {
		require.InEpsilon(t, math.Exp(-x), decay(x), 1e-15, "exp -%v", x)
	}
	require.Equal(t, 1.0, decay(0))
	require.Less(t, decay(1e9), 1e-300)
	for _, tt := range [][2]float64{{1, 1}, {-1, 2*math.Pi - 1}, {7, 7 - 2*math.Pi}, {-20, -20 + 8*math.Pi}, {20, 20 - 6*math.Pi}} {
		require.InDelta(t, tt[1], turn(tt[0]), 1e-14)
	}
}

func TestRandom(t *testing.T) {
	a, b := make([]float64, 1000), make([]float64, 1000)
	NewRandom(generatorSeed).Fill(a)
	r := NewRandom(generatorSeed)
	for i := 0; i < len(b); i += 37 {
		r.Fill(b[i:min(i+37, len(b))])
	}
	require.Equal(t, a, b)
	NewRandom(generatorSeed + 1).Fill(b)
	require.NotEqual(t, a, b)
	long := make([]float64, 200000)
	r.Fill(long)
	var mean, square float64
	for _, v := range long {
		require.Greater(t, v, 0.0)
		require.Less(t, v, 1.0)
		mean += v / float64(len(long))
		square += v * v / float64(len(long))
	}
	require.InDelta(t, 0.5, mean, 0.003)
	require.InDelta(t, 1.0/3, square, 0.003)
}

// The loaded plasma is a Maxwellian of temperature 1 that is uniform in space.
func TestLoad(t *testing.T) {
	g, z := loaded(t)
	n := float64(z.Len())
	var parallel, perpendicular, area, weight float64
	for i := 1; i < z.Len(); i++ {
		psi, theta, zeta := z.Now.Psi[i], z.Now.Theta[i], z.Now.Zeta[i]
		require.True(t, 0 <= theta && theta < 2*math.Pi && g.ZetaMin <= zeta && zeta <= g.ZetaMax)
		require.True(t, psi >= 0.5*g.Inner*g.Inner && psi <= 0.5*g.Outer*g.Outer)
		b := 1 / (1 + math.Sqrt(2*psi)*math.Cos(theta))
		parallel += math.Pow(z.Now.Rho[i]*b/g.Gyroradius, 2) / n
		perpendicular += math.Pow(z.Mu[i]/g.Gyroradius, 2) * b / n
		area += 2 * psi / n
		weight += z.Now.Weight[i] / n
	}
	require.InDelta(t, 1, parallel, 0.03)
	require.InDelta(t, 1, perpendicular, 0.03)
	require.InEpsilon(t, (g.Inner*g.Inner+g.Outer*g.Outer)/2, area, 1e-3)
	require.InDelta(t, 0, weight, 1e-4)
	require.Equal(t, g.Gyroradius, z.Mu[0], "the ion that is followed")
	whole := slices.Clone(z.Now.Rho)
	z = Draw(g)
	for lo, hi := range intra.Blocks(z.Len(), 7) {
		z.Load(g, lo, hi)
	}
	require.Equal(t, whole, z.Now.Rho, "in blocks as in one")
}

// The sum of the charge is that of the weights.
func TestChargeAddsUp(t *testing.T) {
	g, z := loaded(t)
	var weights, charge, largest float64
	for i := range z.Now.Weight {
		z.Now.Weight[i] = 1 + math.Sin(float64(i))
		weights += z.Now.Weight[i]
	}
	for lo, hi := range intra.Blocks(z.Len(), 3) {
		density := g.Field()
		for i := range density {
			density[i] = math.NaN() // previous contents do not matter
		}
		z.Charge(g, lo, hi, density)
		for _, v := range density {
			require.GreaterOrEqual(t, v, 0.0)
			charge += v
			largest = max(largest, v)
		}
	}
	require.InEpsilon(t, 4*weights, charge, 1e-12)
	require.Less(t, largest, charge/100, "it is spread out")
}

// An ion is at the centre of its gyration, and its charge is deposited there.
func TestChargeIsWhereTheIonIs(t *testing.T) {
	g, z := loaded(t)
	for i := 1; i < z.Len(); i += 97 {
		z.Now.Weight[i] = 1
		density := g.Field()
		z.Charge(g, i, i+1, density)
		var r, plane float64
		for s := range g.Surface {
			first := int(g.Surface[s].Start)
			for j := range int(g.Surface[s].N) + 1 {
				for k := range g.Planes + 1 {
					r += density[g.Index(first+j, k)] / 4 * g.Radius[s]
					plane += density[g.Index(first+j, k)] / 4 * g.Zeta(k)
				}
			}
		}
		if want := math.Sqrt(2 * z.Now.Psi[i]); want > 0.1 && want < 0.25 {
			require.InDelta(t, want, r, 0.01) // the bulge of the gyration moves the mean outwards
		}
		require.InDelta(t, z.Now.Zeta[i], plane, 1e-12)
	}
}

// No corner reaches beyond the last point of a surface.
func TestCornersStayOnTheGrid(t *testing.T) {
	g := half(t, little)
	l := newLocator(g)
	for _, r := range []float64{0, g.Inner, 0.1, 0.2, g.Outer, 1} {
		for _, turns := range []float64{10, math.Nextafter(11, 0), 10 + math.Nextafter(1, 0), 10.5} {
			var c corners
			l.point(&c, 0, r, turns, 0)
			sum := 0.0
			for n, p := range c.at[:2] {
				s := sort.Search(len(g.Surface), func(i int) bool { return g.Surface[i].Start > p }) - 1
				require.Less(t, p, g.Surface[s].Start+g.Surface[s].N, "the next point is on the surface too")
				require.GreaterOrEqual(t, c.here[n], -1e-15)
				require.GreaterOrEqual(t, c.next[n], -1e-15)
				sum += c.here[n] + c.next[n]
			}
			require.InDelta(t, 1, sum, 1e-15)
		}
	}
}

// The average of a constant field is that field.
func TestGatherOfAConstant(t *testing.T) {
	g, z := loaded(t)
	f := &Field{Grid: g, Gradient: make([]float64, 3*len(g.Field()))}
	for i := range f.Gradient {
		f.Gradient[i] = float64(i%3) + 1
	}
	m := newMotion(f)
	for i := range z.Mu {
		var c corners
		m.locate(&c, z.Now.Psi[i], z.Now.Theta[i], z.Now.Zeta[i], z.Mu[i])
		e := m.gather(&c, z.Now.Zeta[i])
		require.InDelta(t, 1, e.psi, 1e-14)
		require.InDelta(t, 2, e.theta, 1e-14)
		require.InDelta(t, 3, e.zeta, 1e-14)
	}
}

// orbit pushes one ion without a field, and returns its coordinates after a time.
func orbit(t *testing.T, start ion, mu, time float64, steps int) ion {
	t.Helper()
	g := half(t, little)
	f := &Field{Grid: g, Gradient: make([]float64, 3*len(g.Field()))}
	z := New(1)
	z.Mu[0] = mu
	z.Now.Psi[0], z.Now.Theta[0], z.Now.Zeta[0], z.Now.Rho[0] = start.psi, start.theta, start.zeta, start.rho
	dt := time / float64(steps)
	for range steps {
		z.Begin()
		var s Sums
		z.Predict(f, dt/2, 0, 1, &s)
		z.Correct(f, dt, 0, 1)
	}
	return z.Now.ion(0)
}

// invariants are the energy and the canonical angular momentum.
func invariants(z ion, mu float64) (energy, momentum float64) {
	_, energy = kinetic(z.psi, z.theta, z.rho, mu)
	p := grid.Cyclone()
	const cuts = 1000
	for i := range cuts { // poloidal flux: ∫ dψ/q
		psi := z.psi * (float64(i) + 0.5) / cuts
		momentum += z.psi / cuts / p.Safety(math.Sqrt(2*psi))
	}
	return energy, momentum - z.rho
}

// A slow ion without magnetic moment stays on its field line.
func TestFreeIonStaysOnItsFieldLine(t *testing.T) {
	p := grid.Cyclone()
	start := ion{psi: 0.5 * 0.18 * 0.18, theta: 1, zeta: 0.5, rho: 1e-6}
	end := orbit(t, start, 0, 2e5, 200)
	q := p.Safety(0.18)
	require.InEpsilon(t, start.psi, end.psi, 1e-4)
	moved := end.zeta - start.zeta
	require.Greater(t, moved, 0.1)
	require.InDelta(t, moved/q, end.theta-start.theta, 1e-3*moved)
}

// Energy and angular momentum are conserved in the limit of small steps, with second order.
func TestOrbitsConserve(t *testing.T) {
	g := grid.Cyclone()
	for _, tt := range []struct {
		name    string
		rho, mu float64
	}{{"passing", 2, 0.5}, {"trapped", 0.3, 1}} {
		t.Run(tt.name, func(t *testing.T) {
			mu := tt.mu * g.Gyroradius
			start := ion{psi: 0.5 * 0.18 * 0.18, theta: 0.3, zeta: 1, rho: tt.rho * g.Gyroradius}
			energy, momentum := invariants(start, mu)
			var last [2]float64
			for i, steps := range []int{100, 200, 400} {
				end := orbit(t, start, mu, 2000, steps)
				e, m := invariants(end, mu)
				errors := [2]float64{math.Abs(e/energy - 1), math.Abs(m-momentum) / g.Gyroradius}
				for k := range errors {
					require.Less(t, errors[k], 2e-3)
					if i > 0 && last[k] > 1e-6 {
						require.Less(t, errors[k], last[k]/3, "half the step, a quarter of the error")
					}
				}
				last = errors
			}
		})
	}
}

// An ion that would leave the plasma returns mirrored.
func TestBoundary(t *testing.T) {
	g := half(t, little)
	f := &Field{Grid: g, Gradient: make([]float64, 3*len(g.Field()))}
	z := New(2)
	for i := range 2 {
		z.Old.Psi[i], z.Old.Theta[i], z.Old.Weight[i] = 0.5*0.2*0.2, 1, 0.25
		z.Now.Psi[i], z.Now.Theta[i], z.Mu[i] = 0.5*0.2*0.2, 1, 0.003
	}
	z.Correct(f, 1e9, 0, 1)
	z.Correct(f, 1e-3, 1, 2)
	require.Equal(t, z.Old.Psi[0], z.Now.Psi[0])
	require.Equal(t, 2*math.Pi-1, z.Now.Theta[0])
	require.Equal(t, 0.25, z.Now.Weight[0])
	require.NotEqual(t, z.Old.Psi[1], z.Now.Psi[1])
	require.InDelta(t, 1, z.Now.Theta[1], 1e-4)
}

func TestHeatAndRestore(t *testing.T) {
	g, z := loaded(t)
	var all, sum Heat
	z.Heat(g, 0, z.Len(), &all)
	for lo, hi := range intra.Blocks(z.Len(), 5) {
		var h Heat
		z.Heat(g, lo, hi, &h)
		sum.Add(&h)
	}
	require.Equal(t, all.Ions, sum.Ions)
	n := 0.0
	for bin := range all.Ions {
		n += all.Ions[bin]
		require.InDelta(t, all.Weighted[bin], sum.Weighted[bin], 1e-12)
	}
	require.Equal(t, float64(z.Len()), n)
	before := slices.Clone(z.Now.Weight)
	z.Restore(g, [grid.Bins]float64{}, 0, z.Len())
	require.Equal(t, before, z.Now.Weight)
	z.Restore(g, [grid.Bins]float64{1, 1, 1, 1, 1}, 0, z.Len())
	shift := 0.0
	for i, w := range z.Now.Weight {
		shift += (before[i] - w) / float64(z.Len())
	}
	require.InDelta(t, 0, shift, 0.05, "no ions are made: the average of energy is 3/2")
}

// Ions at any place of the torus reach their wedges. None is lost or changed.
func TestShift(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5, 8} {
		for _, old := range []bool{true, false} {
			var mu sync.Mutex
			var before, after []float64
			intratest.Run(t, intra.Spec{Ranks: ranks}, func(p *intra.Process) error {
				w, err := grid.NewWedge(p.World(), 1)
				if err != nil {
					return err
				}
				size := little
				size.MaxZeta = ranks
				g := grid.New(grid.Cyclone(), size, w)
				z := New(100)
				r := NewRandom(uint64(p.Rank()))
				for _, a := range z.arrays() {
					r.Fill(*a)
				}
				if p.Rank()%2 == 1 {
					z.resize(37)
				}
				for i := range z.Now.Zeta {
					z.Now.Zeta[i] *= 2 * math.Pi
					z.Now.Psi[i] = z.Now.Zeta[i] + z.Mu[i]
					z.Old.Psi[i] = -z.Mu[i]
				}
				mu.Lock()
				before = append(before, z.Mu...)
				mu.Unlock()
				if err := z.Shift(p.World(), g, old); err != nil {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				for i, zeta := range z.Now.Zeta {
					after = append(after, z.Mu[i])
					if zeta < g.ZetaMin || zeta > g.ZetaMax || z.Now.Psi[i] != zeta+z.Mu[i] {
						t.Errorf("rank %d: ion %d at %v", p.Rank(), i, zeta)
					}
					if old && z.Old.Psi[i] != -z.Mu[i] {
						t.Errorf("rank %d: ion %d came without its past", p.Rank(), i)
					}
				}
				return nil
			})
			slices.Sort(before)
			slices.Sort(after)
			require.Equal(t, before, after)
		}
	}
}
