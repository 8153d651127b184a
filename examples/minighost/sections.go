//go:build !intra

package main

//go:generate go tool intragen

// diffuse computes the next grid of a variable, and adds its losses. In the planes that the
// rank owns, the halo of the next grid is zero.
func (s *simulation) diffuse(v *variable) {
	defer clock(&s.seconds.Stencil)()
	width, lost := s.box.width(), 0.0
	//intra:section on(s.p)
	{
		for lo, hi := range s.rows() {
			average(v.grid, s.set.stencil, s.box, lo, s.next[lo*width:hi*width])
		}
		for _, face := range s.faces {
			lost += leaving(v.grid, s.set.stencil, s.box, face)
		}
	}
	v.lost += lost
	v.grid, s.next = s.next, v.grid
}

// sum returns the sum of the points that the rank owns. In their planes the halo of the
// grid must be zero.
func (s *simulation) sum(grid []float64) (sum float64) {
	defer clock(&s.seconds.Sum)()
	width := s.box.width()
	//intra:section on(s.p)
	for lo, hi := range s.rows() {
		sum += total(grid[lo*width : hi*width])
	}
	return sum
}
