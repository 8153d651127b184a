// Package keeptest provides a program of random operations whose sections keep their results.
// Tests run it with and without replicas, and compare the results.
package keeptest

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

var (
	taskMap    = intra.Register("keeptest.map")
	taskGather = intra.Register("keeptest.gather")
	taskScale  = intra.Register("keeptest.scale")
	taskPart   = intra.Register("keeptest.part")
	taskDot    = intra.Register("keeptest.dot")
)

// Program describes a run.
type Program struct {
	Seed   uint64
	Passes int
	Pause  time.Duration // before each pass
	Out    io.Writer     // gets a line for each pass
	// Forget leaves a variable unregistered that a run from a safe point needs. Unfetched reads
	// an array without Fetch.
	Forget, Unfetched bool
}

// state is the data that the program computes.
type state struct {
	p      *intra.Process
	w      *comm.Comm
	arrays [4][]float64 // the last one is not registered, and written in each pass before it is read
	sum    float64
	pass   int64
	Program
}

// Run runs the program, and returns a hash of its state.
func (prog Program) Run(p *intra.Process) (uint64, error) {
	n := 40 + int(prog.Seed%7)*33
	if prog.Seed%5 == 0 {
		n *= 100
	}
	s := &state{p: p, w: p.World(), Program: prog}
	for i := range s.arrays {
		s.arrays[i] = make([]float64, n)
		if i < len(s.arrays)-1 {
			intra.Protect(p, fmt.Sprint("array ", i), &s.arrays[i])
		}
	}
	if !prog.Forget {
		intra.Protect(p, "sum", &s.sum)
	}
	intra.Protect(p, "pass", &s.pass)
	if !p.Restored() {
		for k, a := range s.arrays {
			for i := range a {
				a[i] = 1 / float64(1+i+k+p.Rank())
			}
		}
	}
	for ; s.pass < int64(prog.Passes); s.pass++ {
		if err := p.SafePoint(); err != nil {
			return 0, err
		}
		time.Sleep(prog.Pause)
		if err := s.one(); err != nil {
			return 0, err
		}
		if _, err := fmt.Fprintf(prog.Out, "rank %d, pass %d: %016x\n", p.Rank(), s.pass, math.Float64bits(s.sum)); err != nil {
			return 0, err
		}
	}
	if err := p.Settle(); err != nil {
		return 0, err
	}
	h := math.Float64bits(s.sum)
	for _, a := range s.arrays {
		for _, v := range a {
			h = (h ^ math.Float64bits(v)) * 0x9e3779b97f4a7c15
			h ^= h >> 29
		}
	}
	all := make([]uint64, s.w.Size())
	err := comm.Allgather(s.w, []uint64{h}, all)
	h = 0
	for _, v := range all {
		h = h*31 + v
	}
	return h, err
}

// one performs the operations of a pass. They are the same on all ranks.
func (s *state) one() error {
	rng := rand.New(rand.NewPCG(s.Seed, uint64(s.pass)))
	last := len(s.arrays) - 1
	if err := s.mapped(last, rng.IntN(last)); err != nil {
		return err
	}
	for range 3 + rng.IntN(8) {
		to, from := rng.IntN(len(s.arrays)), rng.IntN(len(s.arrays)-1)
		if from >= to {
			from++
		}
		if err := s.operation(rng, to, from); err != nil {
			return err
		}
	}
	return nil
}

// part returns a random part of an array.
func (s *state) part(rng *rand.Rand, array int) []float64 {
	a := s.arrays[array]
	lo := rng.IntN(len(a))
	return a[lo : lo+1+rng.IntN(len(a)-lo)]
}

func (s *state) operation(rng *rand.Rand, to, from int) error {
	switch rng.IntN(14) {
	case 0, 1:
		return s.mapped(to, from)
	case 2:
		return s.gathered(to, from, intra.Keep)
	case 3:
		return s.scaled(to, intra.Keep)
	case 4:
		return s.scaled(to)
	case 5:
		return s.gathered(to, from, []intra.SectionOption{intra.Replicate, intra.Static}[rng.IntN(2)])
	case 6:
		return s.dot(to, from)
	case 7:
		return s.written(to, from)
	case 8:
		return s.ring(s.w, s.part(rng, from), s.arrays[to], rng.IntN(2) == 0)
	case 9:
		part := s.part(rng, to)
		if rng.IntN(2) == 0 {
			return comm.Allreduce(s.w, nil, part, func(a, b float64) float64 { return (a + b) / 2 })
		}
		return comm.Bcast(s.w, part, rng.IntN(s.w.Size()))
	case 10:
		return s.collected(s.part(rng, from), s.arrays[to])
	case 11:
		return s.fetched(s.part(rng, to), rng.IntN(2) == 0)
	case 12:
		v, err := intra.Once(s.p, func() (float64, error) { return float64(s.pass+3) / 7, nil })
		s.sum += v
		return err
	}
	c, err := s.w.Dup()
	if err != nil {
		return err
	}
	if err := s.ring(c, s.part(rng, from), s.arrays[to], false); err != nil {
		return err
	}
	return c.Free()
}

// mapped computes one array from another one, block by block.
func (s *state) mapped(to, from int) error {
	sec := s.p.Section(intra.Keep)
	a := s.sum
	for lo, hi := range intra.Blocks(len(s.arrays[to]), s.p.Tasks()) {
		x, y := s.arrays[from][lo:hi], s.arrays[to][lo:hi]
		sec.Launch(taskMap, func() {
			for i := range y {
				y[i] = math.Mod(float64(1.25*x[i])+a+float64(lo+i), 1e3)
			}
		}, intra.In("x", x), intra.Out("y", y), intra.InVar("a", &s.sum))
	}
	return sec.End()
}

// gathered computes each block from the whole of another array.
func (s *state) gathered(to, from int, opts ...intra.SectionOption) error {
	sec := s.p.Section(opts...)
	x := s.arrays[from]
	for lo, hi := range intra.Blocks(len(s.arrays[to]), s.p.Tasks()) {
		y := s.arrays[to][lo:hi]
		sec.Launch(taskGather, func() {
			for i := range y {
				y[i] = x[(7*(lo+i)+3)%len(x)] + x[len(x)-1-lo-i]/2
			}
		}, intra.In("x", x), intra.Out("y", y))
	}
	return sec.End()
}

func (s *state) scaled(to int, opts ...intra.SectionOption) error {
	sec := s.p.Section(opts...)
	for lo, hi := range intra.Blocks(len(s.arrays[to]), 5) {
		y := s.arrays[to][lo:hi]
		sec.Launch(taskScale, func() {
			for i := range y {
				y[i] = math.Mod(float64(y[i]*1.5)+float64(i), 1e3)
			}
		}, intra.InOut("y", y))
	}
	return sec.End()
}

// written writes a part of each block.
func (s *state) written(to, from int) error {
	sec := s.p.Section(intra.Keep)
	for lo, hi := range intra.Blocks(len(s.arrays[to]), 7) {
		x, y := s.arrays[from][lo:hi], s.arrays[to][lo:hi]
		sec.Launch(taskPart, func() {
			for i := 0; i < len(y); i += 3 {
				y[i] = x[i] / 3
			}
		}, intra.In("x", x), intra.Out("y", y))
	}
	return sec.End()
}

func (s *state) dot(to, from int) error {
	sec := s.p.Section(intra.Keep)
	sum := 0.0
	for lo, hi := range intra.Blocks(len(s.arrays[to]), s.p.Tasks()) {
		x, y := s.arrays[from][lo:hi], s.arrays[to][lo:hi]
		cell, r := intra.Reduce(sec, "sum", &sum, func(a, b float64) float64 { return a + b })
		sec.Launch(taskDot, func() {
			v := 0.0
			for i := range y {
				v += float64(x[i] * y[i])
			}
			*cell = v
		}, intra.In("x", x), intra.In("y", y), r)
	}
	if err := sec.End(); err != nil {
		return err
	}
	s.sum = math.Mod(s.sum+sum, 1e3)
	return nil
}

// ring sends a part to the next rank, and receives from the one before.
func (s *state) ring(c *comm.Comm, part, into []float64, whole bool) error {
	n := c.Size()
	if whole {
		part = into
		into = make([]float64, len(part))
	}
	r := comm.Irecv(c, into[:len(part)], (c.Rank()+n-1)%n, 1)
	if err := comm.Send(c, part, (c.Rank()+1)%n, 1); err != nil {
		return err
	}
	_, err := r.Wait()
	if err == nil && whole {
		s.sum = math.Mod(s.sum+into[0], 1e3)
	}
	return err
}

// collected sends a part to all other ranks, and adds an element of each part that it receives from
// them, in any order.
func (s *state) collected(part, into []float64) error {
	var sends []*comm.Request
	for to := range s.w.Size() {
		if to != s.w.Rank() {
			sends = append(sends, comm.Isend(s.w, part, to, 2))
		}
	}
	first := make([]float64, s.w.Size())
	into = into[:len(part)]
	keep := make([]float64, len(into))
	for range s.w.Size() - 1 {
		st, err := comm.Recv(s.w, keep, comm.AnySource, 2)
		if err != nil {
			return err
		}
		first[st.Source] = keep[len(keep)-1]
	}
	if err := comm.WaitAll(sends...); err != nil {
		return err
	}
	if err := intra.Fetch(s.p, into); err != nil {
		return err
	}
	for _, v := range first {
		into[0] = math.Mod(into[0]+v, 1e3)
	}
	return s.w.Barrier()
}

// fetched reads a part, and may write it.
func (s *state) fetched(part []float64, writes bool) error {
	if !s.Unfetched {
		if err := intra.Fetch(s.p, part); err != nil {
			return err
		}
	}
	for i, v := range part {
		s.sum = math.Mod(s.sum+v, 1e3)
		if writes {
			part[i] = v / 2
		}
	}
	return nil
}
