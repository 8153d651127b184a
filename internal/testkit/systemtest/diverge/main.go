// Diverge is a program that is correct, or wrong in a way that makes its replicas differ:
//
//	diverge HOW PASSES [sections]
//
// With sections it has no safe points.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

var (
	scale = intra.Register("scale")
	shift = intra.Register("shift")
)

// cells is a map that is registered as state. It is encoded in the random order of the
// map.
type cells map[int]float64

func (c cells) MarshalBinary() (b []byte, err error) {
	for k, v := range c {
		b = fmt.Appendf(b, "%d=%v;", k, v)
	}
	return b, nil
}

func (c cells) UnmarshalBinary([]byte) error { return nil }

// stamp is a time that each replica measures for itself.
type stamp int64

func (stamp) Measured() {}

type cell struct {
	value float64
	kind  int8 // the compiler adds padding after it
}

func main() {
	intra.Main(func(p *intra.Process) error {
		passes, err := strconv.Atoi(os.Args[2])
		if err != nil {
			return err
		}
		return run(p, os.Args[1], passes, len(os.Args) == 3)
	})
}

func run(p *intra.Process, how string, passes int, points bool) error {
	x, y, z := make([]float64, 4000), make([]float64, 4000), make([]cell, 100)
	var pass int
	var when stamp
	states := cells{1: 1, 2: 2, 3: 3}
	for i := range x {
		x[i] = float64(i)
	}
	if points {
		intra.Protect(p, "pass", &pass)
		intra.Protect(p, "x", &x)
		intra.Protect(p, "y", &y)
		intra.Protect(p, "z", &z)
		intra.Protect(p, "when", &when)
		if how == "order" {
			intra.Protect(p, "states", &states)
		}
	}
	for ; pass < passes; pass++ {
		when = stamp(time.Now().UnixNano())
		z[pass%len(z)] = cell{float64(pass), 1}
		if points {
			if err := p.SafePoint(); err != nil {
				return err
			}
		}
		if err := step(p, how, pass, x, y); err != nil {
			return err
		}
	}
	sum := 0.0
	for i := range x {
		sum += x[i] + y[i]
	}
	if p.Rank() == 0 {
		fmt.Printf("%.6g\n", min(sum, 1))
	}
	return nil
}

// step makes one pass. It fails in the requested way.
func step(p *intra.Process, how string, pass int, x, y []float64) error {
	s := p.Section()
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		a, b := x[lo:hi], y[lo:hi]
		out := intra.Out("y", b)
		if how == "clause" && pass >= 3 { // the kernel writes y, too
			out = intra.In("y", b)
		}
		s.Launch(scale, func() {
			for i := range b {
				b[i] = 0.5*a[i] + float64(pass)
			}
		}, intra.In("x", a), out)
	}
	if err := s.End(); err != nil {
		return err
	}
	switch {
	case pass < 3:
	case how == "time":
		x[17] = float64(time.Now().UnixNano())
	case how == "rand":
		x[18] = rand.Float64()
	case how == "replica":
		x[19] = float64(p.Replica())
	case how == "once" && pass == 3: // the replicas are equal again in the next pass
		x[20] = float64(p.Replica())
	case how == "behind" && p.Replica() > 0: // the program has returned on replica 0 before the replicas differ
		if time.Sleep(20 * time.Millisecond); pass == 14 {
			x[22]++
		}
	case how == "late" && pass == 390:
		x[22] += float64(p.Replica())
	case how == "send" && pass == 3 && p.Rank() == 0 && p.Replica() == 1: // no rank receives it
		if err := comm.Send(p.World(), []int{pass}, 1, 0); err != nil {
			return err
		}
	case how == "map":
		m := make(map[int]int)
		for i := range 1000 {
			m[i] = i
		}
		for k := range m {
			x[21] = 0.5*x[21] + float64(k)
		}
	}
	s = p.Section()
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		a, b := x[lo:hi], y[lo:hi]
		s.Launch(shift, func() {
			for i := range a {
				a[i] = 0.5 * (a[i] + b[i])
			}
		}, intra.InOut("x", a), intra.In("y", b))
	}
	if err := s.End(); err != nil {
		return err
	}
	if how == "once" && pass == 4 {
		x[20] = 20
	}
	return nil
}
