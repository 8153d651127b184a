package main

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/examples/internal/cartesian"
)

// simulation is the whole run on one rank.
//
//intra:state skip(p, set, box, halo, faces, variables, progress)
type simulation struct {
	p     *intra.Process
	set   settings
	box   box
	halo  *halo
	faces []span // points at the walls of the domain

	variables []*variable
	next      []float64 // memory for the next grid of a variable, which is exchanged with its grid
	step      int       // number of completed steps
	worst     float64   // largest relative error of a sum so far
	seconds   seconds
	progress  func()
}

// variable is the part of one variable on this rank.
//
//intra:state
type variable struct {
	grid   []float64
	source float64 // total value that was added, on all ranks
	lost   float64 // losses of this rank to the outside of the domain
	total  float64 // sum over all ranks of grid and lost, which should equal source
}

// seconds is the time spent in each part, on one replica.
type seconds struct {
	Total     float64 `json:"total"`
	Exchange  float64 `json:"exchange"`
	Stencil   float64 `json:"stencil"`
	Sum       float64 `json:"sum"`
	Allreduce float64 `json:"allreduce"`
}

// Measured implements intra.Measured.
func (seconds) Measured() {}

// clock starts a stopwatch. The returned function adds the elapsed time to sum.
func clock(sum *float64) func() {
	from := time.Now()
	return func() { *sum += time.Since(from).Seconds() }
}

func newSimulation(p *intra.Process, set settings) (*simulation, error) {
	s := &simulation{p: p, set: set, progress: func() {}}
	var err error
	if s.box, err = newBox(set.n, set.ranks, p.Rank(), p.Size()); err != nil {
		return nil, err
	}
	together := 1
	if set.method == bspma {
		together = set.vars
	}
	s.halo, s.faces = newHalo(s.box, set.stencil, together), s.box.faces(set.stencil.flat())
	for i := range set.vars {
		v := &variable{grid: intra.Alloc[float64](s.box.size())}
		v.Protect(p, fmt.Sprintf("variable %d", i))
		s.variables = append(s.variables, v)
	}
	s.next = intra.Alloc[float64](s.box.size())
	s.Protect(p, "minighost")
	of := set.problem()
	was := of
	if intra.Protect(p, "problem", &was); was != of {
		return nil, fmt.Errorf("the saved state is of %+v, not of %+v: go on with the same", was, of)
	}
	if p.Restored() {
		return s, nil
	}
	for i, v := range s.variables {
		s.fill(v.grid, i)
	}
	return s, nil
}

// problem holds the settings that must not change when a run continues from saved state.
type problem struct {
	Stencil                    stencil
	Points, Ranks              [3]int
	Vars, Steps, Spikes, Tasks int
}

func (s settings) problem() problem {
	return problem{s.stencil, s.n, s.ranks, s.vars, s.steps, s.spikes, s.tasks}
}

// fill sets each point of a grid to a value from 1 to 100 that depends on the variable and
// on the point's position in the whole grid.
func (s *simulation) fill(grid []float64, variable int) {
	s.each(func(at int, number uint64) { grid[at] = float64(1 + mix(uint64(variable), number)%100) })
}

// each calls f for each point that the rank owns, with its index in memory and its number
// in the whole grid.
func (s *simulation) each(f func(at int, number uint64)) {
	b, whole := s.box, s.box.whole()
	for z := range b.n[2] {
		for y := range b.n[1] {
			first := cartesian.Join(whole, [3]int{b.at[0] * b.n[0], b.at[1]*b.n[1] + y, b.at[2]*b.n[2] + z})
			for x := range b.n[0] {
				f(b.index(x+1, y+1, z+1), uint64(first+x))
			}
		}
	}
}

// leastPoints is the minimum number of points for which a task is worthwhile.
const leastPoints = 2048

// rows divides the planes that the rank owns into tasks. It yields the numbers of their
// rows in memory.
func (s *simulation) rows() iter.Seq2[int, int] {
	n, height := s.box.height()*s.box.n[2], s.box.height()
	return func(yield func(lo, hi int) bool) {
		for lo, hi := range intra.Blocks(n, max(1, min(s.set.tasks, n*s.box.width()/leastPoints))) {
			if !yield(height+lo, height+hi) {
				return
			}
		}
	}
}

// run carries out all steps, or those after the saved state.
func (s *simulation) run() error {
	if !s.p.Restored() {
		if err := s.begin(); err != nil {
			return err
		}
	}
	for s.step < s.set.spikes*s.set.steps {
		if err := s.p.SafePoint(); err != nil {
			return err
		}
		s.p.Progress(s.step, s.set.spikes*s.set.steps)
		if err := s.advance(); err != nil {
			return fmt.Errorf("step %d: %w", s.step, err)
		}
		s.progress()
	}
	return nil
}

// begin computes the sums at the start.
func (s *simulation) begin() error {
	for _, v := range s.variables {
		var err error
		if v.source, err = s.add(s.sum(v.grid)); err != nil {
			return err
		}
	}
	if err := s.spike(0); err != nil {
		return err
	}
	for _, v := range s.variables {
		v.total = v.source
	}
	return nil
}

// advance carries out one step.
func (s *simulation) advance() error {
	defer clock(&s.seconds.Total)()
	if s.step > 0 && s.step%s.set.steps == 0 {
		if err := s.spike(s.step / s.set.steps); err != nil {
			return err
		}
	}
	if s.set.method == bspma {
		var all [][]float64
		for _, v := range s.variables {
			all = append(all, v.grid)
		}
		if err := s.exchange(all...); err != nil {
			return err
		}
	}
	for _, v := range s.variables {
		if s.set.method == svaf {
			if err := s.exchange(v.grid); err != nil {
				return err
			}
		}
		s.diffuse(v)
		if err := s.check(v); err != nil {
			return err
		}
	}
	s.step++
	return nil
}

func (s *simulation) exchange(grids ...[]float64) error {
	defer clock(&s.seconds.Exchange)()
	return s.halo.exchange(s.p.World(), grids...)
}

// check compares the sum of a grid and its losses with the total value that was added.
func (s *simulation) check(v *variable) error {
	var err error
	if v.total, err = s.add(s.sum(v.grid) + v.lost); err != nil {
		return err
	}
	s.worst = max(s.worst, math.Abs(v.source-v.total)/v.source)
	return nil
}

// add returns the sum of a number over all ranks.
func (s *simulation) add(local float64) (float64, error) {
	defer clock(&s.seconds.Allreduce)()
	sum, err := comm.AllreduceValue(s.p.World(), local, comm.Sum)
	if err != nil {
		return 0, fmt.Errorf("add up a grid: %w", err)
	}
	return sum, nil
}

// spike adds the number of points to one point of each grid. The first time that is the
// point in the centre, later other points.
func (s *simulation) spike(number int) error {
	var place [3]int
	for d, n := range s.box.whole() {
		place[d] = (n+1)/2 - 1
		if number > 0 {
			place[d] = int(mix(uint64(number), uint64(d)) % uint64(n))
		}
	}
	own, ok := s.box.local(place)
	for _, v := range s.variables {
		more := 0.0
		if ok {
			at, value := s.box.index(own[0], own[1], own[2]), float64(s.box.points())
			more = value - v.grid[at]
			v.grid[at] = value
		}
		more, err := s.add(more)
		if err != nil {
			return err
		}
		v.source += more
	}
	return nil
}

// mix returns an evenly distributed number that depends on a and b.
func mix(a, b uint64) uint64 {
	n := a*0xd1342543de82ef95 + b + 1
	n *= 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}
