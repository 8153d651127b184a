// Heat spreads along a rod that several ranks share.
package main

//go:generate go tool intragen

// rod is the state of one rank: the temperatures of its n points, now and in the next
// step, between two ghosts, which hold the outermost points of the neighbours.
//
//intra:state
type rod struct {
	u, v []float64 // n+2
	step int
}

// diffuse computes the next temperatures of the points lo..hi, and the largest change.
//
//intra:task in(u, lo, hi) out(v[lo:hi]) reduce(max: change)
func diffuse(u, v []float64, lo, hi int) (change float64) {
	for i := lo; i < hi; i++ {
		v[i] = u[i] + float64(0.25*(u[i-1]-float64(2*u[i])+u[i+1]))
		change = max(change, v[i]-u[i], u[i]-v[i])
	}
	return change
}
