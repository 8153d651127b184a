package main

// lanes is the number of values that a task advances in each iteration, by operations
// floating-point operations each.
const (
	lanes      = 64
	operations = 3
)

// compute computes the value of a point from those of its sources in the step before, u. Each
// iteration maps each lane by a chaotic function. So every bit of a value depends on every bit
// of what it is computed from, and on the number of iterations.
//
//intra:task in(u, sources, seed, iters) out(v)
func compute(u []float64, sources []int, seed float64, iters int, v []float64) {
	for _, at := range sources {
		seed += u[at]
	}
	seed /= float64(1 + len(sources))
	var lane [lanes]float64
	for i := range lane {
		lane[i] = (seed + float64(i)/lanes) / 2
	}
	for range iters {
		for i, y := range lane {
			lane[i] = 3.9 * y * (1 - y)
		}
	}
	sum := 0.0
	for _, y := range lane {
		sum += y
	}
	v[0] = sum / lanes
}
