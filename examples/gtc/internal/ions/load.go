package ions

import (
	"math"

	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// generatorSeed is the seed of the benchmark. All ranks draw the same numbers.
const generatorSeed = 12345677

// Draw makes the ions of a rank from random numbers. Load turns them into a plasma.
func Draw(g *grid.Grid) *Ions {
	z := New(g.Ions)
	r := NewRandom(generatorSeed)
	for _, a := range [][]float64{z.Now.Theta, z.Now.Zeta, z.Now.Rho, z.Now.Weight, z.Mu} {
		r.Fill(a)
	}
	return z
}

// Load turns the random numbers of the ions lo to hi-1 into a Maxwellian
// plasma of uniform density, with small random weights.
//
//intra:task in(g, lo, hi, z) out(z.Now.Psi[lo:hi]) inout(z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi], z.Now.Rho[lo:hi], z.Now.Weight[lo:hi], z.Mu[lo:hi])
func (z *Ions) Load(g *grid.Grid, lo, hi int) {
	const noise = float64(float32(1.0e-3))
	total := 1 / float32(g.Ions*g.ParticleDomains) // single precision: see package grid
	share := float64(total)
	area := float64(g.Outer*g.Outer) - float64(g.Inner*g.Inner)
	first := g.Domain * g.Ions // number of this rank's first ion in the wedge
	psi, theta, zeta := z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi]
	rho, weight, mu := z.Now.Rho[lo:hi], z.Now.Weight[lo:hi], z.Mu[lo:hi]
	for i := range psi {
		r := math.Sqrt(float64(g.Inner*g.Inner) + float64((float64(first+lo+i)+0.5)*area*share))
		t := poloidal(r, theta[i])
		_, cos := sincos(t)
		field := 1 / (1 + float64(r*cos))
		psi[i] = float64(0.5 * r * r)
		theta[i] = t
		zeta[i] = g.ZetaMin + float64((g.ZetaMax-g.ZetaMin)*zeta[i])
		rho[i] = g.Gyroradius * maxwell(rho[i], g.MaxSpeed) / field
		weight[i] = 2 * noise * (weight[i] - 0.5) * (1 + cos)
		energy := max(tiny, min(g.MaxSpeed*g.MaxSpeed, -math.Log(max(tiny, mu[i]))))
		mu[i] = math.Sqrt(g.Gyroradius * g.Gyroradius * energy / field)
	}
	if lo == 0 && g.First() && g.Domain == 0 {
		// One ion without weight, in the middle, whose motion GTC reports.
		middle := 0.5 * (g.Inner + g.Outer)
		psi[0], theta[0], zeta[0] = float64(0.5*middle*middle), 0, 0.5*(g.ZetaMin+g.ZetaMax)
		rho[0], weight[0], mu[0] = 0.5*g.Gyroradius, 0, g.Gyroradius
	}
}

// tiny keeps the arguments of logarithms above 0.
const tiny = 1e-20

// poloidal maps a uniform u to an angle whose distribution is that of the volume at radius
// r. The angle is the solution of θ + 2r·sin θ = 2π(u - ½).
func poloidal(r, u float64) float64 {
	uniform := float64(2 * math.Pi * (u - 0.5))
	t := uniform
	for range 10 {
		sin, _ := sincos(t)
		t = uniform - float64(2*r*sin)
	}
	turns := float64(t*(0.5/math.Pi)) + 10
	return float64(2 * math.Pi * (turns - math.Trunc(turns)))
}

// maxwell maps a uniform u to a normally distributed number of variance 1 and at most
// limit. It uses a rational approximation of the inverse error function (Abramowitz and
// Stegun, 26.2.23).
func maxwell(u, limit float64) float64 {
	const (
		c0, c1, c2 = float64(float32(2.515517)), float64(float32(0.802853)), float64(float32(0.010328))
		d1, d2, d3 = float64(float32(1.432788)), float64(float32(0.189269)), float64(float32(0.001308))
	)
	x := u - 0.5
	v := math.Sqrt(max(tiny, math.Log(1/max(tiny, float64(x*x)))))
	v -= (c0 + float64(c1*v) + float64(c2*v*v)) / (1 + float64(d1*v) + float64(d2*v*v) + float64(d3*v*v*v))
	if v > limit {
		v = u
	}
	return math.Copysign(min(limit, v), x)
}
