package fields

import (
	"fmt"

	"github.com/intrahpc/intra/examples/gtc/internal/grid"
)

// Differentiate computes the gradient of the potential by central differences, and adds the
// zonal flow.
func (s *Fields) Differentiate() error {
	g := s.g
	clear(s.Gradient)
	left, right, err := s.sides(s.Potential)
	if err != nil {
		return fmt.Errorf("exchange the potential: %w", err)
	}
	for i := 1; i < g.Surfaces; i++ {
		s.ring(i, left, right)
	}
	width := 3 * (g.Planes + 1)
	send := s.plane
	for p := range g.Points {
		copy(send[3*p:3*p+3], s.Gradient[p*width+3*g.Planes:])
	}
	if err := grid.ToRight(&g.Wedge, send, s.arrived); err != nil {
		return fmt.Errorf("exchange the gradient: %w", err)
	}
	if g.First() {
		g.Unrotate(s.arrived, 3)
	}
	for p := range g.Points {
		copy(s.Gradient[p*width:p*width+3], s.arrived[3*p:])
	}
	for i := 1; i < g.Surfaces; i++ {
		first, last := int(g.Surface[i].Start), int(g.Surface[i].Start+g.Surface[i].N)
		copy(s.Gradient[first*width:(first+1)*width], s.Gradient[last*width:])
	}
	return nil
}

// ring computes the gradient on one surface.
func (s *Fields) ring(i int, left, right []float64) {
	g, phi := s.g, s.Potential
	r := g.Radius[i]
	perPsi := 1 / r * (0.5 / g.DRadius)
	perTheta, perZeta := 0.5/g.DTheta[i], 0.5/g.DZeta
	twist := 1/g.Safety(r) - g.Surface[i].Twist // difference between the twist of the field and that of the grid
	lo, hi := g.Range(i)
	for p := lo; p < hi; p++ {
		next := p + 1
		if next == hi {
			next = lo
		}
		for k := 1; k <= g.Planes; k++ {
			nb := &g.Radial[k-1][p]
			before, after := left[p], right[p]
			if k > 1 {
				before = phi[g.Index(p, k-1)]
			}
			if k < g.Planes {
				after = phi[g.Index(p, k+1)]
			}
			e := (*[3]float64)(s.Gradient[3*g.Index(p, k):])
			e[0] = float64(perPsi*(g.Value(phi, nb, 0, k)-g.Value(phi, nb, 1, k))) + s.Zonal[i]/r
			e[1] = perTheta * (phi[g.Index(next, k)] - phi[g.Index(p-1, k)])
			e[2] = float64((after-before)*perZeta) + float64(twist*e[1])
		}
	}
}
