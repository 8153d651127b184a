package ions

import (
	"math"

	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// locator finds the positions of ions on the grid. The push computes again the positions
// that the charge has computed. Keeping them would reduce the time of the push by a third.
// But it would double the memory of an ion and triple the updates between replicas, and
// sharing would then be less useful.
type locator struct {
	surface        []grid.Surface
	orbit          []grid.Orbit
	inner          float64
	perRadius      float64 // surfaces per unit of radius
	perGyroradius  float64
	last           int // surface
	zetaMin, perDZ float64
	lastPlane      int
}

func newLocator(g *grid.Grid) locator {
	return locator{
		surface: g.Surface, orbit: g.Orbit,
		inner: g.Inner, perRadius: 1 / g.DRadius, last: g.Surfaces,
		perGyroradius: 1 / g.Gyroradius,
		zetaMin:       g.ZetaMin, perDZ: 1 / g.DZeta, lastPlane: g.Planes - 1,
	}
}

const perTurn = 0.5 / math.Pi

// plane returns the plane below an ion, and the fraction of the way to the next one.
func (l *locator) plane(zeta float64) (int, float64) {
	w := float64((zeta - l.zetaMin) * l.perDZ)
	k := max(0, min(l.lastPlane, int(w)))
	return k, w - float64(k)
}

// block is how many ions are located at a time. It is small enough for their corners to
// stay in the first-level cache, so that the next loop need not wait for memory.
const block = 64

// corners are the positions on the grid of the four points that represent the gyration of
// an ion. Each of them lies between two points of the surface below and two points of the
// surface above. Corner n consists of point at[n] and the next point, each with a share.
type corners struct {
	at         [8]int32
	here, next [8]float64
}

// locate finds the corners of an ion. Its gyration is that of a thermal ion at the nearest
// point of the grid, scaled.
func (l *locator) locate(c *corners, psi, theta, zeta, mu float64) {
	r := math.Sqrt(2 * psi)
	rho := float64(mu * l.perGyroradius)
	near := &l.surface[max(0, min(l.last, int(float64((r-l.inner)*l.perRadius)+0.5)))]
	t, z := float64(theta*perTurn), float64(zeta*perTurn)
	o := &l.orbit[int(near.Start)+max(0, min(int(near.N), int(float64(t*near.Cells)+0.5)))]
	dr, dt, bulge := float64(rho*o.Radius), float64(float64(rho*o.Angle)*perTurn), float64(rho*o.Bulge)
	t += 10
	l.point(c, 0, r-dr, t, z)
	l.point(c, 2, r+dr, t, z)
	l.point(c, 4, r+bulge, t-dt, z)
	l.point(c, 6, r+bulge, t+dt, z)
}

// point finds the corners n and n+1 of a point, whose angles are in turns.
func (l *locator) point(c *corners, n int, radius, theta, zeta float64) {
	x := float64(l.perRadius * (radius - l.inner))
	below, outwards := 0, 0.0
	if x > 0 {
		below = min(l.last-1, int(x))
		if outwards = x - float64(below); outwards > 1 {
			outwards = 1
		}
	}
	s := l.surface[below : below+2]
	c.set(n&7, &s[0], theta-float64(zeta*s[0].Twist), 1-outwards)
	c.set((n+1)&7, &s[1], theta-float64(zeta*s[1].Twist), outwards)
}

// set divides a share between the two points of a surface on both sides of an angle.
func (c *corners) set(n int, s *grid.Surface, turns, of float64) {
	x := float64((turns - float64(int(turns))) * s.Cells)
	j := min(int(s.N)-1, int(x))
	next := float64(of * (x - float64(j)))
	c.at[n], c.here[n], c.next[n] = s.Start+int32(j), of-next, next
}
