package fields

//go:generate go tool intragen

import (
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// Fields are the fields of one rank. See grid.Field for the layout. A step depends on the
// previous one through the potential, and through the averages, which drive the zonal flow.
//
//intra:state skip(g, Density, Gradient, Zonal, plane, arrived, work, rim)
type Fields struct {
	g *grid.Grid

	Density   []float64
	Potential []float64
	Gradient  []float64 // with 3 values per point; see ions.Field
	Averages  []float64 // averages of the density on each surface, which drive the zonal flow
	Zonal     []float64 // radial derivative of the zonal potential, for each surface

	plane, arrived []float64 // of up to three values per point
	work, rim      []float64
}

// New returns fields that are zero.
func New(g *grid.Grid) *Fields {
	return &Fields{
		g: g, Density: g.Field(), Potential: g.Field(), Gradient: intra.Alloc[float64](3 * g.Points * (g.Planes + 1)),
		Averages: intra.Alloc[float64](g.Surfaces + 1), Zonal: intra.Alloc[float64](g.Surfaces + 1),
		plane: intra.Alloc[float64](3 * g.Points), arrived: intra.Alloc[float64](3 * g.Points),
		work: intra.Alloc[float64](g.Points), rim: intra.Alloc[float64](2 * g.Points),
	}
}

// cut copies a plane of f to s.plane.
func (s *Fields) cut(f []float64, plane int) []float64 {
	p := s.plane[:s.g.Points]
	for i := range p {
		p[i] = f[s.g.Index(i, plane)]
	}
	return p
}

// fromLeft returns the last plane of f of the previous wedge, in coordinates of this one.
func (s *Fields) fromLeft(f, into []float64) ([]float64, error) {
	into = into[:s.g.Points]
	if err := grid.ToRight(&s.g.Wedge, s.cut(f, s.g.Planes), into); err != nil {
		return nil, err
	}
	if s.g.First() {
		s.g.Unrotate(into, 1)
	}
	return into, nil
}

// fromRight returns the given plane of f of the next wedge, in coordinates of
// this one.
func (s *Fields) fromRight(f []float64, plane int, into []float64) ([]float64, error) {
	into = into[:s.g.Points]
	if err := grid.ToLeft(&s.g.Wedge, s.cut(f, plane), into); err != nil {
		return nil, err
	}
	if s.g.Last() {
		s.g.RotatePlane(into, 1)
	}
	return into, nil
}

// sides returns the planes next to the wedge on both sides.
func (s *Fields) sides(f []float64) (left, right []float64, err error) {
	n := s.g.Points
	if left, err = s.fromLeft(f, s.rim[:n]); err != nil {
		return nil, nil, err
	}
	right, err = s.fromRight(f, 1, s.rim[n:])
	return left, right, err
}

// closeToroidal sets plane 0 of f to the last plane of the previous wedge.
func (s *Fields) closeToroidal(f []float64) error {
	left, err := s.fromLeft(f, s.arrived)
	if err != nil {
		return err
	}
	for i, v := range left {
		f[s.g.Index(i, 0)] = v
	}
	return nil
}

// zeroRim sets f to zero on the first and the last surface.
func (s *Fields) zeroRim(f []float64) {
	for _, i := range []int{0, s.g.Surfaces} {
		_, hi := s.g.Range(i)
		clear(f[s.g.Index(int(s.g.Surface[i].Start), 0):s.g.Index(hi, 0)])
	}
}

// At interpolates f in a plane at a radius and a poloidal angle.
func (s *Fields) At(f []float64, radius, theta float64, plane int) float64 {
	g := s.g
	x := max(0, min(float64(g.Surfaces), (radius-g.Inner)/g.DRadius))
	below := min(g.Surfaces-1, int(x))
	way := x - float64(below)
	on := func(surface int) float64 {
		r := &g.Surface[surface]
		turns := (theta - g.Zeta(plane)*r.Twist) / (2 * math.Pi)
		y := (turns - math.Floor(turns)) * float64(r.N)
		j := min(int(y), int(r.N)-1)
		way := y - float64(j)
		at := int(r.Start) + j
		return (1-way)*f[g.Index(at, plane)] + way*f[g.Index(at+1, plane)]
	}
	return (1-way)*on(below) + way*on(below+1)
}
