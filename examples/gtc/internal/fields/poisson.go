package fields

import (
	"fmt"
	"math"
	"slices"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/gtc/internal/grid"
	"github.com/intrahpc/intra/kernels"
)

// Poisson solves the gyrokinetic Poisson equation
//
//	(1 + Ti/Te) φ - φ~ = n
//
// in each plane, where φ~ is φ averaged twice over the gyrations of a Maxwellian. That
// average is a fixed sparse matrix, which uses two rings of eight points around every point
// of the grid. The equation is solved by a fixed-point iteration.
type Poisson struct {
	g        *grid.Grid
	from, to int // bounds of the planes of this rank
	rings    []*kernels.Sliced[float64]
	Shape    Shape

	density, average, guess []float64
}

// Shape describes the averaging matrices.
type Shape struct {
	Most, Least int     // number of entries in a row
	Largest     float64 // largest sum of a row
	Entries     int
}

const (
	iterations = 5
	// shift makes the iteration converge faster: it is the eigenvalue of the average at the
	// most important wave length.
	shift = 0.75
)

// Radii, in thermal gyroradii, and weights of the two rings.
var rings = [2]struct{ radius, weight float64 }{
	{float64(float32(0.9129713024553)), float64(float32(0.7193896325719))},
	{float64(float32(2.233935334042)), float64(float32(0.2806103674281))},
}

// NewPoisson builds the matrices of the planes that this rank solves. These are all planes
// of the wedge, or a part of them if they can be divided evenly among its ranks.
func NewPoisson(g *grid.Grid) (*Poisson, error) {
	s := &Poisson{g: g, from: 1, to: g.Planes + 1}
	if n := g.Planes / g.ParticleDomains; g.Planes%g.ParticleDomains == 0 {
		s.from = 1 + g.Domain*n
		s.to = s.from + n
	}
	s.Shape.Least = math.MaxInt
	for k := s.from; k < s.to; k++ {
		b := kernels.NewBuilder[float64](g.Points, g.Points, 40*g.Points)
		for i := range g.Surface {
			lo, hi := g.Range(i)
			if err := s.row(b, nil, nil); err != nil {
				return nil, err
			}
			for p := lo; p < hi; p++ {
				col, val := average(g, i, p-lo+1, k)
				if err := s.row(b, col, val); err != nil {
					return nil, err
				}
			}
		}
		s.rings = append(s.rings, b.Matrix())
	}
	s.density, s.average, s.guess = intra.Alloc[float64](g.Points), intra.Alloc[float64](g.Points), intra.Alloc[float64](g.Points)
	return s, nil
}

func (s *Poisson) row(b *kernels.Builder[float64], col []int32, val []float64) error {
	if err := b.Row(col, val); err != nil {
		return fmt.Errorf("build the Poisson operator: %w", err)
	}
	sum := 0.0
	for _, v := range val {
		sum += v
	}
	s.Shape.Most, s.Shape.Least = max(s.Shape.Most, len(col)), min(s.Shape.Least, len(col))
	s.Shape.Largest = max(s.Shape.Largest, sum)
	s.Shape.Entries += len(col)
	return nil
}

// average returns the row of the matrix for point j of a surface.
func average(g *grid.Grid, surface, j, plane int) (col []int32, val []float64) {
	zeta := g.Zeta(plane)
	turns := g.Theta(surface, j, plane) * (0.5 / math.Pi)
	theta := float64(2 * math.Pi * (turns - math.Trunc(turns)))
	s := &g.Surface[surface]
	orbit := &g.Orbit[int(s.Start)+max(0, min(int(s.N), int(float64(float64(0.5/math.Pi*s.Cells)*theta)+0.5)))]
	r := g.Radius[surface]
	b := 1 / (1 + float64(r*math.Cos(theta)))
	scale := math.Sqrt(0.5 / b)

	here := s.Start + int32(j)
	col, val = append(col, here), append(val, 0.25)
	add := func(at int32, w float64) {
		if w < float64(float32(0.001)) {
			at = here // the distance is too small for a separate entry
		}
		if n := slices.Index(col, at); n >= 0 {
			val[n] += w
		} else {
			col, val = append(col, at), append(val, w)
		}
	}
	for _, ring := range rings {
		for n := range 8 {
			dr, dt := ringPoint(orbit, n)
			weight := 0.125 * ring.weight
			if n < 4 {
				weight = 0.0625 * ring.weight
			}
			r2, t2 := r+float64(dr*2*ring.radius*scale), theta+float64(dt*2*ring.radius*scale)
			x := float64(max(0, min(g.Outer-g.Inner, r2-g.Inner)) * (1 / g.DRadius))
			below := max(0, min(g.Surfaces-1, int(x)))
			outwards := snap(x - float64(below))
			first, next, on := corner(g, below+1, t2, zeta)
			add(next, float64(weight*outwards*on))
			add(first, float64(weight*outwards*(1-on)))
			first, next, on = corner(g, below, t2, zeta)
			add(next, float64(weight*(1-outwards)*on))
			add(first, float64(weight*(1-outwards)*(1-on)))
		}
	}
	return col, val
}

// ringPoint returns point n of eight on the gyration of a thermal ion: the four points of
// its orbit, and the four points half-way between them.
func ringPoint(o *grid.Orbit, n int) (dr, dt float64) {
	if n < 4 {
		return o.Offset(n)
	}
	between := [4][2]int{{0, 2}, {1, 2}, {1, 3}, {0, 3}}[n-4]
	r0, t0 := o.Offset(between[0])
	r1, t1 := o.Offset(between[1])
	return 0.5 * (r0 + r1), 0.5 * (t0 + t1)
}

// snap moves a position that is close to a point of the grid to that point.
func snap(way float64) float64 {
	if way > float64(float32(0.95)) {
		return 1
	}
	if way < float64(float32(0.05)) {
		return 0
	}
	return way
}

// corner returns the points of a surface on both sides of an angle, and the fraction of the
// way from one to the other. It never returns the first point of the surface.
func corner(g *grid.Grid, surface int, theta, zeta float64) (first, next int32, on float64) {
	s := &g.Surface[surface]
	turns := float64((theta-float64(zeta*s.Twist))*(0.5/math.Pi)) + 10
	x := float64(s.Cells * (turns - math.Trunc(turns)))
	j := max(0, min(s.N-1, int32(x)))
	on = snap(x - float64(j))
	first, next = s.Start+j, s.Start+j+1
	if j == 0 {
		first = s.Start + s.N
	}
	return first, next, on
}

// First and End bound the planes that this rank solves.
func (s *Poisson) First() int { return s.from }
func (s *Poisson) End() int   { return s.to }

// Iterations is how often Average and Improve must be called for a plane.
func (s *Poisson) Iterations() int { return iterations - 1 }

// factor is the inverse of the divisor of the iteration.
func (s *Poisson) factor() float64 { return 1 / (s.g.TiTe + 1 - shift) }

// Begin starts the solution of a plane.
func (s *Poisson) Begin(f *Fields, plane int) {
	for i := range s.density {
		s.density[i] = f.Density[s.g.Index(i, plane)]
		s.guess[i] = s.density[i] * s.factor()
	}
}

// Average averages the guess for the points lo to hi-1 of a plane.
//
//intra:task in(s, plane, lo, hi) out(s.average[lo:hi])
func (s *Poisson) Average(plane, lo, hi int) {
	s.rings[plane-s.from].MulRows(lo, s.guess, s.average[lo:hi])
}

// Improve computes the next guess from the averages.
func (s *Poisson) Improve() {
	g := s.g
	factor := s.factor()
	for i, a := range s.average {
		s.guess[i] = (s.density[i] + (a - float64(shift*s.guess[i]))) * factor
	}
	for _, i := range []int{0, g.Surfaces} {
		_, hi := g.Range(i)
		clear(s.guess[g.Surface[i].Start:hi])
	}
}

// Store writes the solution of a plane into the potential, in units of the equilibrium.
func (s *Poisson) Store(f *Fields, plane int) {
	unit := s.g.Gyroradius * s.g.Gyroradius
	for i, v := range s.guess {
		f.Potential[s.g.Index(i, plane)] = v * unit
	}
}

// Close completes the potential when all planes of this rank are stored.
func (s *Poisson) Close(f *Fields) error {
	g := s.g
	if own := s.to - s.from; own < g.Planes {
		send, recv := make([]float64, own*g.Points), make([]float64, g.Planes*g.Points)
		for k := range own {
			copy(send[k*g.Points:], f.cut(f.Potential, s.from+k))
		}
		if err := comm.Allgather(g.Particles, send, recv); err != nil {
			return fmt.Errorf("collect the potential of a wedge: %w", err)
		}
		for i, v := range recv {
			f.Potential[g.Index(i%g.Points, 1+i/g.Points)] = v
		}
	}
	g.ClosePoloidal(f.Potential, 0, g.Surfaces+1, 1)
	return nil
}
