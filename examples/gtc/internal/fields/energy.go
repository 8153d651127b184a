package fields

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra/comm"
)

// Energies returns the energies of the field without the zonal flow, of the whole field,
// and of the zonal flow alone.
func (s *Fields) Energies() ([3]float64, error) {
	g := s.g
	var sum [3]float64
	for k := 1; k <= g.Planes; k++ {
		for i := 1; i < g.Surfaces; i++ {
			r, zonal := g.Radius[i], s.Zonal[i]
			lo, hi := g.Range(i)
			for p := lo; p < hi; p++ {
				e := s.Gradient[3*g.Index(p, k):]
				h := 1 + float64(r*math.Cos(g.Theta(i, p-lo+1, k)))
				radial := e[0] - zonal/r
				along := e[2] - float64(e[1]*g.Surface[i].Twist)
				rest := float64(e[1]/r*e[1]/r) + float64(along/h*along/h)
				volume := h * h * r * g.DTheta[i]
				sum[0] += float64((float64(r*radial*r*radial) + rest) * volume)
				sum[1] += float64((float64(r*e[0]*r*e[0]) + rest) * volume)
				sum[2] += float64(zonal * zonal * volume)
			}
		}
	}
	for i := range sum {
		sum[i] *= g.DRadius * g.DZeta / (4 * math.Pi)
	}
	total, err := comm.AllreduceValue(g.Toroidal, sum, func(a, b [3]float64) [3]float64 {
		return [3]float64{a[0] + b[0], a[1] + b[1], a[2] + b[2]}
	})
	if err != nil {
		return sum, fmt.Errorf("add up the energy of the field: %w", err)
	}
	return total, nil
}

// MeanSquare returns the mean square of the potential of this rank's planes,
// in units of the ions' temperature.
func (s *Fields) MeanSquare() float64 {
	g := s.g
	sum, points := 0.0, 0
	for i := range g.Surface {
		lo, hi := g.Range(i)
		points += hi - lo
		for p := lo; p < hi; p++ {
			for _, v := range s.Potential[g.Index(p, 1):g.Index(p+1, 0)] {
				sum += float64(v * v)
			}
		}
	}
	unit := g.Gyroradius * g.Gyroradius
	return sum / (float64(points*g.Planes) * unit * unit)
}

// ZonalAmplitude returns the root mean square of the zonal flow's radial
// field.
func (s *Fields) ZonalAmplitude() float64 {
	sum := 0.0
	for _, v := range s.Zonal[1:] {
		sum += float64(v * v)
	}
	return math.Sqrt(sum/float64(s.g.Surfaces)) / s.g.Gyroradius
}
