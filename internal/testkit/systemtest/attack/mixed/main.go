// Mixed is a program for random jobs of real processes. In every pass it shares work in
// sections, performs random steps of messages and collectives, and calls Once. Some of its
// messages are in flight across safe points. It prints one line of JSON that covers all
// bits of its results.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
)

var (
	relax = intra.Register("mixed.relax")
	brew  = intra.Register("mixed.brew")
)

func main() {
	intra.Main(func(p *intra.Process) error {
		f := flag.NewFlagSet(os.Args[0], flag.ExitOnError)
		passes := f.Int("passes", 50, "passes of the outer loop")
		size := f.Int("size", 6000, "elements of each array")
		seed := f.Uint64("seed", 1, "seed of the messages")
		_ = f.Parse(os.Args[1:]) // ends the process if it fails
		return run(p, *passes, *size, *seed)
	})
}

// program is the state of one rank.
type program struct {
	p       *intra.Process
	team    *comm.Comm // communicator for random steps, so that their wildcards match no other messages
	seed    uint64
	pass    int
	x, y    []float64
	sum     uint64 // hash of everything that the rank has received
	norms   []float64
	pending *comm.Request // the message of the previous pass
}

func run(p *intra.Process, passes, size int, seed uint64) error {
	team, err := p.World().Dup()
	if err != nil {
		return err
	}
	g := &program{p: p, team: team, seed: seed, x: intra.Alloc[float64](size), y: intra.Alloc[float64](size)}
	intra.Protect(p, "x", &g.x)
	intra.Protect(p, "y", &g.y)
	intra.Protect(p, "pass", &g.pass)
	intra.Protect(p, "sum", &g.sum)
	intra.Protect(p, "norms", &g.norms)
	if !p.Restored() {
		for i := range g.x {
			g.x[i] = math.Sin(float64(i + p.Rank()))
		}
	}
	for ; g.pass < passes; g.pass++ {
		if err := p.SafePoint(); err != nil {
			return err
		}
		if err := g.step(); err != nil {
			return fmt.Errorf("pass %d: %w", g.pass, err)
		}
	}
	if err := g.receive(passes); err != nil {
		return err
	}
	return g.print()
}

func (g *program) step() error {
	if err := g.relax(); err != nil {
		return err
	}
	if g.pass%3 == 1 {
		if err := g.brew(); err != nil {
			return err
		}
	}
	if err := g.receive(g.pass); err != nil {
		return err
	}
	seen, err := commtest.Run(g.team, g.seed+uint64(g.pass), 1+g.pass%2)
	if err != nil {
		return err
	}
	g.observe(seen)
	if g.pass%4 == 2 {
		// All replicas return the same value, whichever of them runs the function.
		n, err := intra.Once(g.p, func() (uint64, error) { return g.seed * uint64(g.pass), nil })
		if err != nil {
			return err
		}
		g.observe(n)
	}
	return g.send()
}

func (g *program) observe(v uint64) { g.sum = (g.sum^v)*0x9e3779b97f4a7c15 + uint64(g.pass) }

// relax changes x in place and sums it over all ranks.
func (g *program) relax() error {
	var norm float64
	s := g.p.Section()
	for lo, hi := range intra.Blocks(len(g.x), g.p.Tasks()) {
		x := g.x[lo:hi]
		cell, partial := intra.Reduce(s, "norm", &norm, func(a, b float64) float64 { return a + b })
		s.Launch(relax, func() {
			*cell = 0
			for i := range x {
				x[i] = 0.75*x[i] + 0.1*math.Cos(x[i]+float64(g.pass))
				*cell += x[i] * x[i]
			}
		}, intra.InOut("x", x), partial)
	}
	if err := s.End(); err != nil {
		return err
	}
	all, err := comm.AllreduceValue(g.p.World(), norm, comm.Sum)
	g.norms = append(g.norms, all)
	return err
}

// brew computes y from x, in tasks of different lengths.
func (g *program) brew() error {
	s := g.p.Section()
	k := 0
	for lo, hi := range intra.Blocks(len(g.y), g.p.Tasks()) {
		x, y, rounds := g.x[lo:hi], g.y[lo:hi], 1+k*k%7
		k++
		s.Launch(brew, func() {
			for i := range y {
				y[i] = x[i]
				for range rounds {
					y[i] = math.Sqrt(1 + y[i]*y[i])
				}
			}
		}, intra.In("x", x), intra.Out("y", y))
	}
	return s.End()
}

const aroundTag = 11

// send sends a message around the ring. The next pass receives it.
func (g *program) send() error {
	n := g.p.Size()
	if n == 1 {
		return nil
	}
	if _, err := g.pending.Wait(); err != nil {
		return err
	}
	part := make([]float64, 8+g.pass*97%3000)
	copy(part, g.x)
	g.pending = comm.Isend(g.p.World(), part, (g.p.Rank()+1)%n, aroundTag)
	return nil
}

// receive receives, after a probe, the message that the previous pass has sent around the
// ring.
func (g *program) receive(pass int) error {
	n := g.p.Size()
	if n == 1 || pass == 0 {
		return nil
	}
	from := (g.p.Rank() + n - 1) % n
	st, err := g.p.World().Probe(from, aroundTag)
	if err != nil {
		return err
	}
	part := make([]float64, st.Count/8)
	if _, err := comm.Recv(g.p.World(), part, from, aroundTag); err != nil {
		return err
	}
	for _, v := range part {
		g.observe(math.Float64bits(v))
	}
	return nil
}

// print prints the results of all ranks.
func (g *program) print() error {
	if _, err := g.pending.Wait(); err != nil {
		return err
	}
	h := sha256.New()
	for _, s := range [][]float64{g.x, g.y, g.norms} {
		for _, v := range s {
			fmt.Fprintf(h, "%x ", math.Float64bits(v))
		}
	}
	fmt.Fprintf(h, "%x", g.sum)
	digests := make([]byte, sha256.Size*g.p.Size())
	if err := comm.Gather(g.p.World(), h.Sum(nil), digests, 0); err != nil {
		return err
	}
	if g.p.Rank() > 0 {
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"digest": fmt.Sprintf("%x", digests), "norms": g.norms})
}
