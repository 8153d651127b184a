// Heat spreads along a rod: a program to learn intra with.
package main

//go:generate go tool intragen

// diffuse computes the next temperatures of the points lo..hi of a rod; its
// ends keep theirs.
//
//intra:task in(u, lo, hi) out(v[lo:hi])
func diffuse(u, v []float64, lo, hi int) {
	for i := lo; i < hi; i++ {
		if i == 0 || i == len(u)-1 {
			v[i] = u[i]
			continue
		}
		v[i] = u[i] + float64(0.25*(u[i-1]-float64(2*u[i])+u[i+1]))
	}
}

// heat sums the temperatures.
//
//intra:task in(u) reduce(+: sum)
func heat(u []float64) (sum float64) {
	for _, t := range u {
		sum += t
	}
	return sum
}
