package ions

import (
	"math"

	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// Heat is the thermal energy of the ions beyond that of the equilibrium.
type Heat struct {
	Weighted [grid.Bins]float64 // energy times weight
	Ions     [grid.Bins]float64
}

// Add adds the heat of another task.
func (h *Heat) Add(o *Heat) {
	for i := range h.Weighted {
		h.Weighted[i] += o.Weighted[i]
		h.Ions[i] += o.Ions[i]
	}
}

// Heat measures the heat of the ions lo to hi-1.
//
//intra:task in(g, lo, hi, z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Rho[lo:hi], z.Now.Weight[lo:hi], z.Mu[lo:hi]) out(heat)
func (z *Ions) Heat(g *grid.Grid, lo, hi int, heat *Heat) {
	var h Heat
	now, mu := &z.Now, z.Mu
	perBin := grid.Bins / (g.Outer - g.Inner)
	for i := lo; i < hi; i++ {
		r, energy := kinetic(now.Psi[i], now.Theta[i], now.Rho[i], mu[i])
		bin := max(0, min(grid.Bins-1, int(float64((r-g.Inner)*perBin))))
		h.Weighted[bin] += float64(energy * now.Weight[i])
		h.Ions[bin]++
	}
	*heat = h
}

// Restore subtracts the excess of temperature from the weights of the ions lo to hi-1, so
// that the profile that drives the turbulence is maintained.
//
//intra:task in(g, excess, lo, hi, z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Rho[lo:hi], z.Mu[lo:hi]) inout(z.Now.Weight[lo:hi])
func (z *Ions) Restore(g *grid.Grid, excess [grid.Bins]float64, lo, hi int) {
	now, mu, weight := &z.Now, z.Mu, z.Now.Weight[lo:hi]
	perTemperature := 1 / (g.Gyroradius * g.Gyroradius)
	perBin := grid.Bins / (g.Outer - g.Inner)
	for n := range weight {
		i := lo + n
		r, energy := kinetic(now.Psi[i], now.Theta[i], now.Rho[i], mu[i])
		bin := max(0, min(grid.Bins-1, int(float64((r-g.Inner)*perBin))))
		weight[n] -= float64((float64(energy*perTemperature) - 1.5) * excess[bin])
	}
}

// kinetic returns the radius and the energy of an ion.
func kinetic(psi, theta, rho, mu float64) (r, energy float64) {
	r = math.Sqrt(2 * psi)
	_, cos := sincos(theta)
	b := 1 / (1 + float64(r*cos))
	speed := float64(rho * b)
	return r, float64(float64(0.5*speed)*speed) + float64(float64(mu*mu)*b)
}
