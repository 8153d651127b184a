package main

import (
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/examples/internal/digest"
)

// grid is a rank's block of points, and the progress of the computation.
//
//intra:state skip(p, graph, iters, steps, own, plans)
type grid struct {
	p            *intra.Process
	graph        graph
	iters, steps int
	own          intra.Range
	plans        []*plan // by graph.kind

	u, v  []float64 // values of the previous and of the current step, by point; those of points that the rank does not need may be older
	trail []float64 // by owned point: bits of a hash of the values of all steps
	step  int       // next step
}

func newGrid(p *intra.Process, set settings) *grid {
	g := &grid{p: p, graph: set.graph, iters: set.iters, steps: set.steps, own: owned(set.graph.width, p.Size())[p.Rank()]}
	g.plans = make([]*plan, g.graph.kinds())
	for step := range g.steps {
		if kind := g.graph.kind(step); g.plans[kind] == nil {
			g.plans[kind] = newPlan(p.World(), &g.graph, step)
		}
	}
	g.u, g.v = intra.Alloc[float64](g.graph.width), intra.Alloc[float64](g.graph.width)
	g.trail = make([]float64, g.own.Len())
	g.Protect(p, "grid")
	return g
}

// spent is the time that some tasks of all ranks took, in seconds.
type spent struct {
	seconds float64
	tasks   int
}

// run computes all steps. It measures all but the first fifth: replicas begin by measuring
// whether sharing pays.
func (g *grid) run() (spent, error) {
	var began time.Time
	first := 0 // the first measured step
	for ; g.step < g.steps; g.step++ {
		if err := g.p.SafePoint(); err != nil {
			return spent{}, err
		}
		if g.step == g.steps/5 {
			if err := g.p.World().Barrier(); err != nil {
				return spent{}, err
			}
		}
		if began.IsZero() && g.step >= g.steps/5 { // a process that continues from saved state begins later
			began, first = time.Now(), g.step
		}
		if err := g.advance(); err != nil {
			return spent{}, fmt.Errorf("step %d: %w", g.step, err)
		}
	}
	if err := g.p.World().Barrier(); err != nil {
		return spent{}, err
	}
	return spent{time.Since(began).Seconds(), g.tasks(first)}, nil
}

// advance computes the next step.
func (g *grid) advance() error {
	plan := g.plans[g.graph.kind(g.step)]
	if err := plan.exchange(g.u); err != nil {
		return err
	}
	g.compute(plan)
	for i := range plan.sources {
		g.trail[i] = math.Float64frombits(mix(math.Float64bits(g.trail[i]), math.Float64bits(g.v[plan.lo+i])))
	}
	g.u, g.v = g.v, g.u
	return nil
}

// hash returns the hash of the values of all points and steps, on rank 0.
func (g *grid) hash() (string, error) { return digest.Of(g.p.World(), g.trail) }

// tasks returns the number of tasks of all ranks in the steps from first to the last one.
func (g *grid) tasks(first int) (n int) {
	for step := first; step < g.steps; step++ {
		n += g.graph.points(step)
	}
	return n
}
