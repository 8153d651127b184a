package intra_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/intrahpc/intra"

	intraruntime "github.com/intrahpc/intra/runtime"
)

// A loop whose state is registered: a process that takes the place of a lost
// one goes on in the pass in which the others are.
func ExampleProtect() {
	var result []float64
	err := intra.Run(context.Background(), intra.Spec{Check: true}, func(p *intra.Process) error {
		x, pass := make([]float64, 3), 0
		intra.Protect(p, "x", &x)
		intra.Protect(p, "pass", &pass)
		if !p.Restored() {
			x[0] = 1
		}
		for ; pass < 10; pass++ {
			if err := p.SafePoint(); err != nil {
				return err
			}
			x[0], x[1], x[2] = x[1]+x[2], x[0], x[1]
		}
		result = x
		return nil
	})
	fmt.Println(result)
	fmt.Println(err)
	// Output:
	// [7 5 4]
	// <nil>
}

var taskSum = intra.Register("example.sum")

// A section with a reduction: the two replicas share its tasks, and both leave
// it with the same sum, added up in the order of the tasks.
func ExampleProcess_Section() {
	sums := make(chan float64, 2)
	err := intra.Run(context.Background(), intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
		var sum float64
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			part, r := intra.Reduce(s, "sum", &sum, func(a, b float64) float64 { return a + b })
			s.Launch(taskSum, func() {
				*part = 0
				for _, v := range x[lo:hi] {
					*part += v
				}
			}, intra.In("x", x[lo:hi]), r)
		}
		if err := s.End(); err != nil {
			return err
		}
		sums <- sum
		return nil
	})
	fmt.Println(<-sums, <-sums, err)
	// Output: 55 55 <nil>
}

// A random seed would be another one on each replica. Once draws it on one of
// them and gives it to all.
func ExampleOnce() {
	drawn := make(chan uint64, 3)
	err := intra.Run(context.Background(), intra.Spec{Replicas: 3}, func(p *intra.Process) error {
		seed, err := intra.Once(p, func() (uint64, error) { return rand.Uint64(), nil })
		drawn <- seed
		return err
	})
	a, b, c := <-drawn, <-drawn, <-drawn
	fmt.Println(a == b && b == c, err)
	// Output: true <nil>
}

var taskAdd = intra.Register("example.add")

// Checked mode restores the program at safe points, and finds that step is
// needed there and was not registered.
func ExampleProcess_SafePoint() {
	err := intra.Run(context.Background(), intra.Spec{Check: true}, func(p *intra.Process) error {
		x, pass, step := make([]float64, 4), 0, 1.0
		intra.Protect(p, "x", &x)
		intra.Protect(p, "pass", &pass)
		for ; pass < 8; pass++ {
			if err := p.SafePoint(); err != nil {
				return err
			}
			s := p.Section(intraruntime.At("add.go:12"))
			s.Launch(taskAdd, func() {
				for i := range x {
					x[i] += step
				}
			}, intra.InVar("step", &step), intra.InOut("x", x))
			if err := s.End(); err != nil {
				return err
			}
			step *= 2
		}
		return nil
	})
	var found *intra.CheckError
	if errors.As(err, &found) {
		for _, f := range found.Findings {
			fmt.Println(f.Task, strings.Contains(f.Text, "in(step)"))
		}
	}
	// Output: example.add true
}
