package main

import (
	"fmt"
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

const (
	mostLevels = 16
	coarsest   = 10 // maximum number of unknowns of the coarsest level
)

// hierarchy holds the levels of the multigrid method. A process that continues from saved state
// builds the finest matrix again. The other matrices are saved, because their construction needs
// the other ranks.
//
//intra:state skip(p, world, levels, seconds)
type hierarchy struct {
	p       *intra.Process
	world   *comm.Comm
	levels  []*level // mostLevels levels, of which the first depth are in use
	seconds *seconds

	depth    int
	unknowns []int64 // of each level, on all ranks
	nonzeros []int64
	starts   []int32   // the first unknown of each rank on the coarsest level, and the end
	factor   []float64 // Cholesky factor of the coarsest level
}

func newHierarchy(p *intra.Process, tasks int, b box, times *seconds) (*hierarchy, error) {
	h := &hierarchy{p: p, world: p.World(), seconds: times}
	a, ghosts := b.matrix()
	h.Protect(p, "hierarchy")
	for k := range mostLevels {
		l := &level{p: p, tasks: tasks, a: &sparse{}, interpolation: &sparse{}, halo: &halo{}, seconds: times}
		l.Protect(p, fmt.Sprintf("level %d", k))
		h.levels = append(h.levels, l)
	}
	h.levels[0].a = a // replaces the registered matrix, which stays empty
	if p.Restored() {
		return h, h.ready()
	}
	return h, h.build(ghosts)
}

// ready computes everything that follows from the saved state.
func (h *hierarchy) ready() error {
	for k, l := range h.levels[:h.depth] {
		if err := l.ready(); err != nil {
			return fmt.Errorf("level %d: %w", k, err)
		}
	}
	return nil
}

// build constructs all levels below the first.
func (h *hierarchy) build(ghosts []ghost) error {
	near := make([]float64, h.levels[0].a.rows())
	for i := range near {
		near[i] = 1
	}
	for {
		l := h.levels[h.depth]
		h.depth++
		if err := h.add(l, ghosts); err != nil {
			return fmt.Errorf("level %d: %w", h.depth-1, err)
		}
		k := h.depth - 1
		if h.unknowns[k] <= coarsest || h.depth == mostLevels {
			return h.factorise(l.a, ghosts)
		}
		next, err := h.coarsen(l, near)
		if err != nil {
			return fmt.Errorf("make level %d: %w", h.depth, err)
		}
		if next.unknowns == h.unknowns[k] {
			return h.factorise(l.a, ghosts)
		}
		*h.levels[h.depth].a, *l.interpolation = *next.a, *next.interpolation
		if err := l.connect(next.restriction); err != nil {
			return fmt.Errorf("level %d: %w", k, err)
		}
		ghosts, near = next.ghosts, next.near
	}
}

// add adds a level and prepares its matrix.
func (h *hierarchy) add(l *level, ghosts []ghost) error {
	var err error
	if *l.halo, err = newHalo(h.world, ghosts); err != nil {
		return err
	}
	size, err := comm.AllreduceValue(h.world, [2]int64{int64(l.a.rows()), int64(len(l.a.col))}, func(a, b [2]int64) [2]int64 {
		return [2]int64{a[0] + b[0], a[1] + b[1]}
	})
	if err != nil {
		return fmt.Errorf("count the unknowns of all ranks: %w", err)
	}
	h.unknowns, h.nonzeros = append(h.unknowns, size[0]), append(h.nonzeros, size[1])
	if err := l.ready(); err != nil {
		return err
	}
	l.radius, err = h.spectralRadius(l)
	return err
}

// coarser holds the data from which a coarser level is made.
type coarser struct {
	a, interpolation, restriction *sparse
	ghosts                        []ghost
	near                          []float64
	unknowns                      int64 // on all ranks
}

// coarsen computes the matrix of the next level: Pᵀ·A·P for the interpolation P, which is
// smoothed by one step of Jacobi's method.
func (h *hierarchy) coarsen(l *level, near []float64) (*coarser, error) {
	near = append(near, make([]float64, l.halo.size())...)
	if err := exchange(h.world, l.halo, near); err != nil {
		return nil, err
	}
	group, count := aggregate(l.a)
	t, coarseNear := tentative(group, count, near)
	next := &coarser{near: coarseNear}
	var err error
	if next.unknowns, err = comm.AllreduceValue(h.world, int64(count), comm.Sum); err != nil {
		return nil, fmt.Errorf("count the groups of all ranks: %w", err)
	}
	next.interpolation = l.smoothed(near, 4.0/3/l.radius, t)
	all, ghosts, err := exchangeRows(h.world, l.halo, next.interpolation)
	if err != nil {
		return nil, err
	}
	next.ghosts, next.restriction = ghosts, next.interpolation.transposed()
	next.a = l.product(next.restriction, l.product(l.a, all))
	return next, nil
}

// spectralRadius estimates the largest eigenvalue of D⁻¹A by power iteration.
func (h *hierarchy) spectralRadius(l *level) (float64, error) {
	const powers = 20
	for i := range l.x {
		l.x[i] = 0
	}
	for i := range l.a.rows() {
		l.x[i] = float64(mix(uint64(h.p.Rank()), uint64(i))>>11)/(1<<52) - 1
	}
	norm := func(x []float64) (float64, error) {
		square, err := comm.AllreduceValue(h.world, l.dot(x, x), comm.Sum)
		return math.Sqrt(square), err
	}
	before, err := norm(l.own(l.x))
	if err != nil {
		return 0, err
	}
	radius := 0.0
	for range powers {
		if err := exchange(h.world, l.halo, l.x); err != nil {
			return 0, err
		}
		l.multiply(l.x, l.rest)
		l.scale(1/before, l.rest, l.own(l.x))
		if radius, err = norm(l.own(l.x)); err != nil {
			return 0, err
		}
		before = radius
	}
	return radius, nil
}

// mix returns an evenly distributed number that depends on a and b.
func mix(a, b uint64) uint64 {
	n := (a*0xd1342543de82ef95 + b + 1) * 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
