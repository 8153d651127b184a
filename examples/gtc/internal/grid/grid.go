package grid

import (
	"math"

	"github.com/intrahpc/intra"
)

// Surface is one surface of constant radius. Its points are Start to Start+N. The first and
// the last one are the same position.
type Surface struct {
	Start, N int32
	Cells    float64 // N: cells per turn, as a factor
	Twist    float64 // turns around the surface per turn around the torus: 1/q on this grid
}

// Grid is the grid of one rank.
type Grid struct {
	Plasma
	Size
	Wedge

	Planes  int // planes of this rank
	Points  int // number of points of one plane
	Surface []Surface
	Radius  []float64 // of each surface
	DTheta  []float64 // poloidal spacing of each surface
	Rotate  []int     // points by which a surface is rotated at the seam
	DRadius float64
	DZeta   float64
	Ions    int // ions of this rank at the start

	Orbit   []Orbit        // for each point
	Radial  [][]Neighbours // for each plane (0 is plane 1) and point
	Markers []float64      // inverse of the number of ions expected at a point, as a field
	PerRing []float64      // inverse of the number of ions expected on a surface
}

// New lays out the grid of a rank.
func New(p Plasma, s Size, w Wedge) *Grid {
	g := &Grid{Plasma: p, Size: s, Wedge: w, Planes: s.MaxZeta / w.Wedges}
	n := s.Surfaces
	g.DRadius = (p.Outer - p.Inner) / float64(n)
	g.DZeta = (w.ZetaMax - w.ZetaMin) / float64(g.Planes)
	spacing := 2 * math.Pi * p.Outer / float64(s.MaxTheta)
	for i := range n + 1 {
		r := p.Inner + float64(g.DRadius*float64(i))
		points := max(2, min(s.MaxTheta, 2*int(math.Pi*r/spacing+0.5)))
		turns := int(float64(points)/p.Safety(r) + 0.5)
		d := 2 * math.Pi / float64(points)
		g.Surface = append(g.Surface, Surface{
			Start: int32(g.Points), N: int32(points),
			Cells: 2 * math.Pi / d,
			Twist: 1 / float64(float32(points)/float32(turns)),
		})
		g.Radius = append(g.Radius, r)
		g.DTheta = append(g.DTheta, d)
		g.Rotate = append(g.Rotate, turns%points)
		g.Points += points + 1
	}
	g.Ions = s.IonsPerCell * (g.Points - n) * g.Planes / s.ParticleDomains
	g.orbits()
	g.neighbours()
	g.markers()
	return g
}

// Field returns an array with a value for each point in planes 0 to Planes. The value for
// point i in plane k is at Index(i, k).
func (g *Grid) Field() []float64 { return intra.Alloc[float64](g.Points * (g.Planes + 1)) }

// Index returns the index of a value in a field.
func (g *Grid) Index(point, plane int) int { return point*(g.Planes+1) + plane }

// Zeta returns the toroidal angle of a plane.
func (g *Grid) Zeta(plane int) float64 { return g.ZetaMin + float64(g.DZeta*float64(plane)) }

// Theta returns the poloidal angle of point j of a surface in a plane.
func (g *Grid) Theta(surface, j, plane int) float64 {
	return float64(g.DTheta[surface]*float64(j)) + float64(g.Zeta(plane)*g.Surface[surface].Twist)
}

// Range returns the distinct points of a surface: [lo, hi).
func (g *Grid) Range(surface int) (lo, hi int) {
	s := &g.Surface[surface]
	return int(s.Start) + 1, int(s.Start+s.N) + 1
}

// ClosePoloidal copies the last point of each of the surfaces lo to hi-1 to
// its first one, in planes from to Planes.
func (g *Grid) ClosePoloidal(f []float64, lo, hi, from int) {
	for i := lo; i < hi; i++ {
		s := &g.Surface[i]
		for k := from; k <= g.Planes; k++ {
			f[g.Index(int(s.Start), k)] = f[g.Index(int(s.Start+s.N), k)]
		}
	}
}

// markers computes the number of ions expected at each point.
func (g *Grid) markers() {
	g.Markers = g.Field()
	g.PerRing = make([]float64, g.Surfaces+1)
	total := float64(g.Ions * g.ParticleDomains)
	for i, r := range g.Radius {
		sum := 0.0
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			for k := 1; k <= g.Planes; k++ {
				h := 1 + float64(r*math.Cos(g.Theta(i, p-lo+1, k)))
				g.Markers[g.Index(p, k)] = float64(h * h)
				sum += float64(h * h)
			}
		}
		outer, inner := min(g.Outer, r+float64(0.5*g.DRadius)), max(g.Inner, r-float64(0.5*g.DRadius))
		ions := total * (float64(outer*outer) - float64(inner*inner)) / (float64(g.Outer*g.Outer) - float64(g.Inner*g.Inner))
		for p := lo; p < hi; p++ {
			for k := 1; k <= g.Planes; k++ {
				m := &g.Markers[g.Index(p, k)]
				*m = 1 / (ions * *m / sum)
			}
		}
		g.PerRing[i] = 1 / (float64(g.Wedges) * ions)
	}
	g.ClosePoloidal(g.Markers, 0, g.Surfaces+1, 1)
}
