package fields

// SolveZonal computes the zonal flow from the averages of the density. The zonal flow is
// the radial derivative of the potential that is constant on each surface, and zero at the
// inner rim.
func (s *Fields) SolveZonal() {
	g, n := s.g, s.g.Surfaces
	a := s.Averages
	density := make([]float64, n+1)
	density[0], density[n] = a[0], a[n]
	for i := 1; i < n; i++ {
		// The density beyond the rim is zero.
		far := 0.0
		switch i {
		case 1:
			far = a[3]
		case n - 1:
			far = a[n-3]
		default:
			far = a[i-2] + a[i+2]
		}
		density[i] = float64(0.625*a[i]) + float64(0.25*(a[i-1]+a[i+1])) - float64(0.0625*far)
	}
	sum := 0.0
	for i, r := range g.Radius {
		if i > 0 {
			sum += float64(0.5 * g.DRadius * (float64((r-g.DRadius)*density[i-1]) + float64(r*density[i])))
		}
		s.Zonal[i] = -sum / r
	}
	// Finite gyroradii, by Padé's approximation: b<φ> = (1 + b)<n>.
	unit := g.Gyroradius * g.Gyroradius
	for i := 1; i < n; i++ {
		s.Zonal[i] += float64(0.5*(float64(density[i+1]*unit)-float64(density[i-1]*unit))) / g.DRadius
	}
}
