package intra_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/intrahpc/intra"

	intraruntime "github.com/intrahpc/intra/runtime"
)

// A whole program. Started without a launcher it is one rank with one replica; under
// "intrarun -n 4 -r 2 ." it is eight processes. Main does not return.
func ExampleMain() {
	intra.Main(func(p *intra.Process) error {
		fmt.Printf("rank %d of %d\n", p.Rank(), p.Size())
		return nil
	})
}

// A loop is cut into blocks of nearly equal size, and each block becomes a task. The bits
// of a result may depend on the number of blocks, but not on the number of replicas or on
// failures.
func ExampleBlocks() {
	for lo, hi := range intra.Blocks(10, 4) {
		fmt.Println(lo, hi)
	}
	// Output:
	// 0 3
	// 3 6
	// 6 8
	// 8 10
}

// Replicas on one host can store results directly into arrays of Alloc.
func ExampleAlloc() {
	x := intra.Alloc[float64](1000)
	x[999] = 1
	fmt.Println(len(x), x[0], x[999])
	// Output: 1000 0 1
}

var taskSquare = intra.Register("example.squares")

// A task names the memory that it reads and writes. Its body runs on one of the two
// replicas, and after the section both replicas have its results.
func ExampleSection_Launch() {
	squares := make(chan []int, 2)
	err := intra.Run(context.Background(), intra.Spec{Replicas: 2}, func(p *intra.Process) error {
		x, y := []int{1, 2, 3, 4, 5}, make([]int, 5)
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			x, y := x[lo:hi], y[lo:hi]
			s.Launch(taskSquare, func() {
				for i, v := range x {
					y[i] = v * v
				}
			}, intra.In("x", x), intra.Out("y", y))
		}
		if err := s.End(); err != nil {
			return err
		}
		squares <- y
		return nil
	})
	fmt.Println(<-squares, <-squares, err)
	// Output: [1 4 9 16 25] [1 4 9 16 25] <nil>
}

// End returns the error of a section. Here two tasks write the same element.
func ExampleSection_End() {
	var p *intra.Process // a single rank without replicas
	y := make([]int, 5)
	s := p.Section()
	for range 2 {
		s.Launch(taskSquare, func() { y[0] = 1 }, intra.Out("y", y[:1]))
	}
	var wrong *intra.SectionError
	if errors.As(s.End(), &wrong) {
		fmt.Println(wrong.Task, strings.Contains(wrong.Err.Error(), "make their blocks disjoint"))
	}
	// Output: example.squares true
}

// The largest element, folded in the order of the launches. Each task gets its own variable
// for its result.
func ExampleReduce() {
	var p *intra.Process // a single rank without replicas
	x, largest := []float64{3, -1, 4, 1, -5, 9, 2, 6}, 0.0
	s := p.Section()
	for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
		part, r := intra.Reduce(s, "largest", &largest, func(a, b float64) float64 { return max(a, b) })
		s.Launch(taskSum, func() { *part = slices.Max(x[lo:hi]) }, intra.In("x", x[lo:hi]), r)
	}
	err := s.End()
	fmt.Println(largest, err)
	// Output: 9 <nil>
}

// The state of this loop is registered: a process that replaces a lost one continues in the
// current pass of its peers.
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

// A section with a reduction. The two replicas share its tasks, and both leave it with the
// same sum, which is added up in the order of the tasks.
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

// A random seed would differ between replicas. Once calls the function on one replica, and
// gives its result to all.
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

// Checked mode restores the program at safe points. It finds that step is needed there, but
// is not registered.
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
