package grid

import "math"

// Orbit holds the positions of the four points on the gyration of a thermal ion whose
// centre is at a point of the grid. They are used for the average over the gyration.
type Orbit struct {
	Radius float64 // distance of points 0 and 1 inwards and outwards
	Angle  float64 // distance of points 2 and 3 in poloidal angle, backwards and forwards
	Bulge  float64 // distance of points 2 and 3 outwards, since their circle touches the surface
}

// Offset returns the distances of point n of the orbit in radius and angle.
func (o *Orbit) Offset(n int) (radius, angle float64) {
	switch n {
	case 0:
		return -o.Radius, 0
	case 1:
		return o.Radius, 0
	case 2:
		return o.Bulge, -o.Angle
	default:
		return o.Bulge, o.Angle
	}
}

func (g *Grid) orbits() {
	g.Orbit = make([]Orbit, g.Points)
	for i, r := range g.Radius {
		s := &g.Surface[i]
		for j := range int(s.N) + 1 {
			b := 1 / (1 + float64(r*math.Cos(float64(g.DTheta[i]*float64(j)))))
			rho := math.Sqrt(2/b) * g.Gyroradius
			g.Orbit[int(s.Start)+j] = Orbit{Radius: rho, Angle: rho * (1 / r), Bulge: rho * 0.5 * rho / r}
		}
	}
}

// Neighbours holds, for the surfaces around a point, the position of the same poloidal
// angle: between point At and the next one, at fraction Weight of the way.
type Neighbours struct {
	At     [4]int32 // one surface outwards, one inwards, two outwards, two inwards
	Weight [4]float64
}

// Value returns the value of f at neighbour n in a plane.
func (g *Grid) Value(f []float64, nb *Neighbours, n, plane int) float64 {
	at := g.Index(int(nb.At[n]), plane)
	w := nb.Weight[n]
	return float64((1-w)*f[at]) + float64(w*f[at+g.Planes+1])
}

func (g *Grid) neighbours() {
	g.Radial = make([][]Neighbours, g.Planes)
	for k := range g.Radial {
		g.Radial[k] = make([]Neighbours, g.Points)
		zeta := g.Zeta(k + 1)
		for i := 1; i < g.Surfaces; i++ {
			lo, hi := g.Range(i)
			for n, to := range [4]int{i + 1, i - 1, min(g.Surfaces, i+2), max(0, i-2)} {
				s := &g.Surface[to]
				for p := lo; p < hi; p++ {
					angle := float64(float64(p-lo+1)*g.DTheta[i]) + float64(zeta*(g.Surface[i].Twist-s.Twist))
					cells := angle / g.DTheta[to]
					whole := math.Floor(cells)
					nb := &g.Radial[k][p]
					nb.At[n] = s.Start + (int32(whole)+s.N)%s.N
					nb.Weight[n] = cells - whole
				}
			}
		}
	}
}
