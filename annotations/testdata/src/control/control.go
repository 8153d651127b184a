// Package control contains code outside of kernels whose effects differ between replicas.
package control

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

//intra:task in(x, by) out(y)
func scale(x []float64, by float64, y []float64) {
	for i := range x {
		y[i] = by * x[i]
	}
}

//intra:state skip(seconds)
type state struct {
	x, y    []float64
	step    int
	seed    uint64
	seconds float64
}

func printed(p *intra.Process) {
	start := time.Now()
	fmt.Println("begun")
	fmt.Printf("took %v\n", time.Since(start))                         // want `fmt.Printf gets time.Since \(control.go:\d+\), which differs between the replicas of a rank`
	fmt.Fprintln(os.Stdout, "replica", p.Replica())                    // want `fmt.Fprintln to standard output gets p.Replica\(\)`
	fmt.Fprintln(os.Stderr, "replica", p.Replica(), time.Since(start)) // diagnostics may differ
	fmt.Println(time.Since(start))                                     //intra:allow
	//intra:allow the user wants it
	fmt.Println(time.Since(start))
}

func messages(c *comm.Comm, p *intra.Process) error {
	t := time.Now().UnixNano()
	if err := comm.Send(c, []int64{t}, 1, 0); err != nil { // want `comm.Send gets time.Now`
		return err
	}
	if p.Replica() == 0 {
		os.Remove("lock")
	}
	for start := time.Now(); time.Since(start) < time.Second; {
		if err := c.Barrier(); err != nil { // want `whether it is called depends on time.Since`
			return err
		}
	}
	for k, v := range map[int]int{1: 2} {
		if err := comm.Send(c, []int{v}, k, 0); err != nil { // want `comm.Send: it is called in the order of a map`
			return err
		}
	}
	return nil
}

func sometimes(c *comm.Comm) error {
	if rand.N(2) == 0 {
		return c.Barrier() // want `whether it is called depends on the process-wide random source`
	}
	return nil
}

func untilLate(c *comm.Comm, limit time.Duration) error {
	start := time.Now()
	for range 10 {
		if time.Since(start) > limit {
			break
		}
		if err := c.Barrier(); err != nil { // want `whether it is called depends on time.Since`
			return err
		}
	}
	return c.Barrier()
}

func (s *state) compute(p *intra.Process) {
	s.seed = rand.Uint64()          // want `the field seed, which is part of the state, gets the process-wide random source`
	scale(s.x, rand.Float64(), s.y) // want `the kernel scale gets the process-wide random source`
	start := time.Now()
	s.seconds += time.Since(start).Seconds() // not saved
	s.step++
}

func right(c *comm.Comm, p *intra.Process, s *state) error {
	start := time.Now()
	took, err := intra.Once(p, func() (float64, error) { return time.Since(start).Seconds(), nil })
	if err != nil {
		return err
	}
	fmt.Println("took", took)
	rng := rand.New(rand.NewPCG(1, 2))
	s.seed = rng.Uint64()
	counts := map[string]int{"a": 1, "b": 2}
	var names []string
	for name := range counts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Println(name, counts[name])
	}
	name := fmt.Sprintf("%d.%d.log", c.Rank(), p.Replica())
	return os.WriteFile(name, nil, 0o666)
}

func files(p *intra.Process) error {
	if _, err := os.Create("log"); err != nil { // want `os.Create: every replica writes the file: use package github.com/intrahpc/intra/file, or intra.Once`
		return err
	}
	if _, err := os.OpenFile("log", os.O_WRONLY|os.O_APPEND, 0); err != nil { // want `os.OpenFile: every replica writes the file`
		return err
	}
	if _, err := os.OpenFile("input", os.O_RDONLY, 0); err != nil {
		return err
	}
	if _, err := os.Open("input"); err != nil {
		return err
	}
	//intra:allow each replica has one
	if err := os.WriteFile("times", nil, 0o666); err != nil {
		return err
	}
	_, err := intra.Once(p, func() (int, error) { return 0, os.WriteFile("once", nil, 0o666) })
	return err
}
