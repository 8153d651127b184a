//go:build !intra

package main

//go:generate go tool intragen

// compute computes the points of the current step that the rank owns.
func (g *grid) compute(plan *plan) {
	//intra:section on(g.p)
	for i, sources := range plan.sources {
		at := plan.lo + i
		compute(g.u, sources, g.graph.start(g.step, at), g.iters, g.v[at:at+1])
	}
}
