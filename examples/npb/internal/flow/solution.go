package flow

// State is the gas at a point: density, momentum in x, y and z, energy.
type State [5]float64

// solution has the coefficients of the exact solution: for each component a constant, then
// four powers of x, of y and of z.
var solution = [5]struct {
	constant float64
	along    [3][4]float64
}{
	{2, [3][4]float64{{0, 5, 0.02, 0.5}, {0, 3, 0.01, 0.4}, {4, 0.5, 0.03, 0.3}}},
	{1, [3][4]float64{{0, 1, 0.01, 0.4}, {0, 2, 0.03, 0.3}, {0, 3, 0.02, 0.5}}},
	{2, [3][4]float64{{2, 0, 0.04, 0.3}, {0, 2, 0.03, 0.5}, {0, 3, 0.05, 0.4}}},
	{2, [3][4]float64{{2, 0, 0.03, 0.2}, {0, 2, 0.05, 0.1}, {0, 3, 0.04, 0.3}}},
	{5, [3][4]float64{{4, 0.1, 0.05, 0.1}, {3, 0.4, 0.04, 0.3}, {2, 0.3, 0.03, 0.2}}},
}

// exact returns the exact solution at a position in the unit cube.
func exact(at [3]float64) (s State) {
	for m, c := range solution {
		s[m] = c.constant
		for axis, x := range at {
			p := c.along[axis]
			s[m] += x * (p[0] + x*(p[1]+x*(p[2]+x*p[3])))
		}
	}
	return s
}

// initial returns the initial state. On the faces of the cube it is the exact solution, and
// inside it is interpolated between the faces.
func initial(at [3]float64) (s State) {
	for _, x := range at {
		if x == 0 || x == 1 {
			return exact(at)
		}
	}
	var between [3]State // interpolations between the opposite faces of each axis
	for axis, x := range at {
		low, high := at, at
		low[axis], high[axis] = 0, 1
		from, to := exact(low), exact(high)
		for m := range s {
			between[axis][m] = x*to[m] + (1-x)*from[m]
		}
	}
	for m := range s {
		x, y, z := between[0][m], between[1][m], between[2][m]
		s[m] = x + y + z - x*y - x*z - y*z + x*y*z
	}
	return s
}
