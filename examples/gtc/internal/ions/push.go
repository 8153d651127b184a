package ions

import (
	"math"

	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// Field is the field in which the ions move.
//
//intra:state skip(Grid, Gradient)
type Field struct {
	Grid *grid.Grid
	// Gradient of the potential, for each point and plane: the derivatives by poloidal
	// flux, by poloidal angle, and by toroidal angle along the field line.
	Gradient []float64
	Flow     [grid.Bins]float64 // net flow, which is subtracted in the second half of a step
}

// Sums holds the sums of a task over its ions, for each radial bin.
type Sums struct {
	Markers  [grid.Bins]float64 // number of ions
	HeatFlux [grid.Bins]float64 // radial flux of the weighted energy
	Flow     [grid.Bins]float64 // radial flow
	Weighted float64            // energy times weight
	Energy   float64
}

// Add adds the sums of another task.
func (s *Sums) Add(o *Sums) {
	for i := range s.Markers {
		s.Markers[i] += o.Markers[i]
		s.HeatFlux[i] += o.HeatFlux[i]
		s.Flow[i] += o.Flow[i]
	}
	s.Weighted += o.Weighted
	s.Energy += o.Energy
}

// Predict moves the ions lo to hi-1 by dt, half a step, from their positions at the
// beginning of the step, in the field there. The sums are those at the beginning of the
// step.
//
//intra:task in(f, dt, lo, hi, z.Old.Psi[lo:hi], z.Old.Theta[lo:hi], z.Old.Zeta[lo:hi], z.Old.Rho[lo:hi], z.Old.Weight[lo:hi], z.Mu[lo:hi]) out(z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi], z.Now.Rho[lo:hi], z.Now.Weight[lo:hi], sums)
func (z *Ions) Predict(f *Field, dt float64, lo, hi int, sums *Sums) {
	m := newMotion(f)
	n := hi - lo // lets the compiler see that the lengths are equal
	psi, theta, zeta := z.Now.Psi[lo:hi][:n], z.Now.Theta[lo:hi][:n], z.Now.Zeta[lo:hi][:n]
	rho, weight := z.Now.Rho[lo:hi][:n], z.Now.Weight[lo:hi][:n]
	mu := z.Mu[lo:hi][:n]
	var where [block]corners
	for from := 0; from < n; from += block {
		to := min(n, from+block)
		for i := from; i < to; i++ {
			old := z.Old.ion(lo + i)
			m.locate(&where[i-from], old.psi, old.theta, old.zeta, mu[i])
		}
		for i := from; i < to; i++ {
			old := z.Old.ion(lo + i)
			e := m.gather(&where[i-from], old.zeta)
			r := m.rates(&old, mu[i], &e)
			now := m.advance(&old, &r, dt)
			psi[i], theta[i], zeta[i], rho[i], weight[i] = now.psi, now.theta, now.zeta, now.rho, now.weight
			m.measure(r.radius, r.drift, r.energy, old.weight)
		}
	}
	*sums = m.sums
}

// Correct moves the ions lo to hi-1 by dt, the whole step, from their positions at the
// beginning of the step, in the field at their current positions. An ion that leaves the
// plasma returns mirrored to its position at the beginning of the step.
//
//intra:task in(f, dt, lo, hi, z.Old.Psi[lo:hi], z.Old.Theta[lo:hi], z.Old.Zeta[lo:hi], z.Old.Rho[lo:hi], z.Old.Weight[lo:hi], z.Mu[lo:hi]) inout(z.Now.Psi[lo:hi], z.Now.Theta[lo:hi], z.Now.Zeta[lo:hi], z.Now.Rho[lo:hi], z.Now.Weight[lo:hi])
func (z *Ions) Correct(f *Field, dt float64, lo, hi int) {
	m := newMotion(f)
	m.flow = f.Flow
	n := hi - lo
	psi, theta, zeta := z.Now.Psi[lo:hi][:n], z.Now.Theta[lo:hi][:n], z.Now.Zeta[lo:hi][:n]
	rho, weight := z.Now.Rho[lo:hi][:n], z.Now.Weight[lo:hi][:n]
	mu := z.Mu[lo:hi][:n]
	var where [block]corners
	for from := 0; from < n; from += block {
		to := min(n, from+block)
		for i := from; i < to; i++ {
			m.locate(&where[i-from], psi[i], theta[i], zeta[i], mu[i])
		}
		for i := from; i < to; i++ {
			old := z.Old.ion(lo + i)
			now := ion{psi[i], theta[i], zeta[i], rho[i], weight[i]}
			e := m.gather(&where[i-from], now.zeta)
			r := m.rates(&now, mu[i], &e)
			now = m.advance(&old, &r, dt)
			if now.psi > m.psiMax || now.psi < m.psiMin {
				now = old
				now.theta = 2*math.Pi - old.theta
			}
			psi[i], theta[i], zeta[i], rho[i], weight[i] = now.psi, now.theta, now.zeta, now.rho, now.weight
		}
	}
}

// ion holds the coordinates of one ion, or their rates of change.
type ion struct{ psi, theta, zeta, rho, weight float64 }

func (p *Phase) ion(i int) ion {
	return ion{p.Psi[i], p.Theta[i], p.Zeta[i], p.Rho[i], p.Weight[i]}
}

// advance returns the coordinates of an ion after dt. It keeps the ion off the axis, which
// is outside of the plasma.
func (m *motion) advance(old *ion, r *rates, dt float64) ion {
	return ion{
		psi:    max(1e-8*m.psiMax, old.psi+float64(dt*r.psi)),
		theta:  turn(old.theta + float64(dt*r.theta)),
		zeta:   turn(old.zeta + float64(dt*r.zeta)),
		rho:    old.rho + float64(dt*r.rho),
		weight: old.weight + float64(dt*r.weight),
	}
}

// turn maps an angle into [0, 2π).
func turn(x float64) float64 {
	const full = 2 * math.Pi
	switch {
	case x >= 0 && x < full:
		return x
	case x >= full && x < 2*full:
		return x - full
	}
	if x = math.Mod(x, full); x < 0 {
		x += full
	}
	return x
}

// motion holds the values of plasma and field that the equations of motion need.
type motion struct {
	locator
	gradient       []float64
	stride         int // distance from a point to the next one
	psiMin, psiMax float64
	q              [3]float64
	perMinor       float64
	kappaT, kappaN float64
	centre, steep  float64
	temperature    float64
	perTemperature float64
	perBin         float64
	flow           [grid.Bins]float64
	sums           Sums
}

func newMotion(f *Field) motion {
	g := f.Grid
	t := g.Gyroradius * g.Gyroradius
	return motion{
		locator: newLocator(g), gradient: f.Gradient, stride: 3 * (g.Planes + 1),
		psiMin: 0.5 * g.Inner * g.Inner, psiMax: 0.5 * g.Outer * g.Outer,
		q: g.Q, perMinor: 1 / g.Minor,
		kappaT: g.KappaT, kappaN: g.KappaN, centre: g.Centre, steep: g.Steepness,
		temperature: t, perTemperature: 1 / t, perBin: grid.Bins / (g.Outer - g.Inner),
	}
}

// bin returns the radial bin of radius r.
func (m *motion) bin(r float64) int {
	return max(0, min(grid.Bins-1, int(float64((r-m.inner)*m.perBin))))
}

// gather returns the average of the field over the gyration of an ion. It uses the corners
// and the two planes to which the charge is deposited.
func (m *motion) gather(c *corners, zeta float64) gradient {
	k, way := m.plane(zeta)
	var d1, d2, d3, u1, u2, u3 float64 // of the plane below, and of the plane above
	for n, p := range c.at {
		here, next := c.here[n], c.next[n]
		e := (*[6]float64)(m.gradient[int(p)*m.stride+3*k:])
		f := (*[6]float64)(m.gradient[(int(p)+1)*m.stride+3*k:])
		d1 += float64(here*e[0]) + float64(next*f[0])
		d2 += float64(here*e[1]) + float64(next*f[1])
		d3 += float64(here*e[2]) + float64(next*f[2])
		u1 += float64(here*e[3]) + float64(next*f[3])
		u2 += float64(here*e[4]) + float64(next*f[4])
		u3 += float64(here*e[5]) + float64(next*f[5])
	}
	up := float64(0.25 * way)
	down := 0.25 - up
	return gradient{
		psi:   float64(down*d1) + float64(up*u1),
		theta: float64(down*d2) + float64(up*u2),
		zeta:  float64(down*d3) + float64(up*u3),
	}
}

// gradient is the gradient of the potential.
type gradient struct{ psi, theta, zeta float64 }

// rates holds the rates of change of an ion, and values for the diagnostics.
type rates struct {
	ion
	radius, energy float64
	drift          float64 // radial drift in the field, divided by the radius
}

// rates evaluates the equations of motion of a centre of gyration in the field B = 1/(1 +
// r·cos θ) of a torus of large aspect ratio, for mass and charge 1. e is the gradient of
// the potential.
func (m *motion) rates(z *ion, mu float64, e *gradient) rates {
	r := math.Sqrt(2 * z.psi)
	perR := 1 / r
	x := float64(r * m.perMinor)
	q := m.q[0] + float64(m.q[1]*x) + float64(float64(m.q[2]*x)*x)
	perQ := 1 / q
	sin, cos := sincos(z.theta)
	b := 1 / (1 + float64(r*cos))
	b2 := float64(b * b)
	dbdpsi := -float64(float64(b2*cos) * perR)
	dbdtheta := float64(float64(b2*r) * sin)
	speed := float64(z.rho * b) // parallel
	mu2 := float64(mu * mu)
	energy := float64(float64(0.5*speed)*speed) + float64(mu2*b)
	dedb := float64(speed*z.rho) + mu2

	// The drive by the gradients of temperature and density.
	y := float64(m.steep * (r - m.centre))
	y = float64(y * y)
	y = float64(float64(y*y) * y)
	thermal := float64(energy * m.perTemperature)
	kappa := float64((float64((thermal-1.5)*m.kappaT) + m.kappaN) * float64(decay(y)*perR))

	epsi, etheta := e.psi, e.theta
	ezeta := e.zeta - float64(etheta*perQ)
	etheta += m.flow[m.bin(r)]
	mirror := float64(dedb * dbdtheta)
	drift := -etheta
	drive := float64(drift * kappa)
	parallel := -float64(float64(float64(e.zeta*b)*speed) * m.perTemperature)
	magnetic := float64(float64((float64(dbdtheta*epsi)-float64(dbdpsi*etheta))*dedb) * m.perTemperature)
	return rates{
		ion: ion{
			psi:    -mirror - etheta,
			theta:  float64(float64(speed*b)*perQ) + float64(dedb*dbdpsi) + epsi,
			zeta:   float64(speed * b),
			rho:    -float64((mirror+etheta)*perQ) - ezeta,
			weight: float64((1 - z.weight) * (drive + parallel + magnetic)),
		},
		radius: r, energy: energy, drift: float64(drift * perR),
	}
}

// measure adds the contribution of an ion to the sums.
func (m *motion) measure(r, drift, energy, weight float64) {
	s, i := &m.sums, m.bin(r)
	s.Markers[i]++
	s.HeatFlux[i] += float64(float64(drift*(energy-float64(1.5*m.temperature))) * weight)
	s.Flow[i] += float64(drift * r)
	s.Weighted += float64(energy * weight)
	s.Energy += energy
}
