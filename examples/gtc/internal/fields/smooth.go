package fields

import "fmt"

// Smooth smooths f in planes 1 to Planes. It uses the five-point filter (-1, 4, 10, 4,
// -1)/16 across the surfaces and along them, and (1, 2, 1)/4 along the field. Then it sets
// plane 0, the first points, and zero at the rim.
func (s *Fields) Smooth(f []float64) error {
	g := s.g
	for i := range g.Points {
		f[g.Index(i, 0)] = 0
	}
	g.ClosePoloidal(f, 1, g.Surfaces, 1)
	for k := 1; k <= g.Planes; k++ {
		s.acrossSurfaces(f, k)
		s.alongSurfaces(f, k)
	}
	if err := s.alongField(f); err != nil {
		return fmt.Errorf("smooth along the field: %w", err)
	}
	if err := s.closeToroidal(f); err != nil {
		return fmt.Errorf("close a field around the torus: %w", err)
	}
	g.ClosePoloidal(f, 1, g.Surfaces, 0)
	s.zeroRim(f)
	return nil
}

func (s *Fields) acrossSurfaces(f []float64, k int) {
	g := s.g
	clear(s.work)
	for i := 1; i < g.Surfaces; i++ {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			nb := &g.Radial[k-1][p]
			near := g.Value(f, nb, 0, k) + g.Value(f, nb, 1, k)
			far := g.Value(f, nb, 2, k) + g.Value(f, nb, 3, k)
			s.work[p] = float64(0.25*near) - float64(0.0625*far)
		}
	}
	for p, v := range s.work {
		at := g.Index(p, k)
		f[at] = float64(0.625*f[at]) + v
	}
}

func (s *Fields) alongSurfaces(f []float64, k int) {
	g := s.g
	for i := 1; i < g.Surfaces; i++ {
		lo, hi := g.Range(i)
		n := hi - lo
		ring := s.work[:n+4] // with two more points at each end
		for j := range n {
			ring[2+j] = f[g.Index(lo+j, k)]
		}
		ring[0], ring[1] = ring[n], ring[n+1]
		ring[n+2], ring[n+3] = ring[2], ring[3]
		for j := range n {
			near, far := ring[j+1]+ring[j+3], ring[j]+ring[j+4]
			f[g.Index(lo+j, k)] = float64(0.625*ring[j+2]) + float64(0.25*near) - float64(0.0625*far)
		}
	}
}

func (s *Fields) alongField(f []float64) error {
	g := s.g
	left, right, err := s.sides(f)
	if err != nil {
		return err
	}
	for i := 1; i < g.Surfaces; i++ {
		lo, hi := g.Range(i)
		for p := lo; p < hi; p++ {
			row := f[g.Index(p, 1):g.Index(p+1, 0)]
			before := left[p]
			for k, v := range row {
				after := right[p]
				if k+1 < len(row) {
					after = row[k+1]
				}
				row[k] = float64(0.5*v) + float64(0.25*(before+after))
				before = v
			}
		}
	}
	return nil
}
