package fields

import (
	"fmt"

	"github.com/intrahpc/intra/comm"
)

// Collect computes the density from the charges that the tasks have deposited, in the order
// of the tasks. The density is the charge of the wedge's ions, relative to the markers
// expected, minus its average on each surface.
func (s *Fields) Collect(parts [][]float64) error {
	g, d := s.g, s.Density
	copy(d, parts[0])
	for _, part := range parts[1:] {
		for i, v := range part {
			d[i] += v
		}
	}
	if g.ParticleDomains > 1 {
		if err := comm.Allreduce(g.Particles, nil, d, comm.Sum); err != nil {
			return fmt.Errorf("add up the charge of a wedge: %w", err)
		}
	}
	// The first and the last point of a surface are the same position, and plane 0 is the
	// last plane of the previous wedge.
	for i := range g.Surface {
		first, last := int(g.Surface[i].Start), int(g.Surface[i].Start+g.Surface[i].N)
		for k := range g.Planes + 1 {
			d[g.Index(last, k)] += d[g.Index(first, k)]
		}
	}
	right, err := s.fromRight(d, 0, s.arrived)
	if err != nil {
		return fmt.Errorf("close the density around the torus: %w", err)
	}
	for i, v := range right {
		d[g.Index(i, g.Planes)] += v
	}
	s.dampen(d)
	return s.takeAverages(d)
}

// dampen makes the density approach zero at the first and the last surface.
func (s *Fields) dampen(d []float64) {
	g := s.g
	for i := range g.DampedSurfaces {
		keep := float64(i) / float64(g.DampedSurfaces)
		for _, surface := range []int{i, g.Surfaces - i} {
			_, hi := g.Range(surface)
			for p := g.Index(int(g.Surface[surface].Start), 0); p < g.Index(hi, 0); p++ {
				d[p] *= keep
			}
		}
	}
}

// takeAverages normalises the density and subtracts the average of each surface. It keeps
// the averages for the zonal flow.
func (s *Fields) takeAverages(d []float64) error {
	g := s.g
	sums := make([]float64, g.Surfaces+1)
	for i := range sums {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			for k := 1; k <= g.Planes; k++ {
				at := g.Index(p, k)
				sums[i] += float64(0.25 * d[at])
				d[at] *= float64(0.25 * g.Markers[at])
			}
		}
	}
	if err := comm.Allreduce(g.Toroidal, nil, sums, comm.Sum); err != nil {
		return fmt.Errorf("average the density over the surfaces: %w", err)
	}
	for i := range sums {
		s.Averages[i] = sums[i] * g.PerRing[i]
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			for k := 1; k <= g.Planes; k++ {
				d[g.Index(p, k)] -= s.Averages[i]
			}
		}
	}
	g.ClosePoloidal(d, 0, g.Surfaces+1, 1)
	// The zonal density has no total charge.
	var volume, charge float64
	for i := 1; i < g.Surfaces; i++ {
		volume += g.Radius[i]
		charge += float64(g.Radius[i] * s.Averages[i])
	}
	for i := 1; i < g.Surfaces; i++ {
		s.Averages[i] -= charge / volume
	}
	return nil
}
