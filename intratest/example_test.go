package intratest_test

import (
	"fmt"
	"testing"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/intratest"
)

var taskAccumulate = intra.Register("example.accumulate")

// A kernel that adds to its result, although its clause is out.
func ExampleFindings() {
	x, sum := []float64{1, 2, 3}, make([]float64, 3)
	found, err := intratest.Findings(func(s *intra.Section) {
		s.Launch(taskAccumulate, func() {
			for i := range sum {
				sum[i] += x[i]
			}
		}, intra.In("x", x), intra.Out("sum", sum))
	})
	if err != nil {
		fmt.Println(err)
	}
	for _, f := range found {
		fmt.Println(f.Task + ": " + f.Text)
	}
	// Output: example.accumulate: out(sum) element 0 is read before it is written: make it inout(sum)
}

var taskScale = intra.Register("example.scale")

// printed prints the failures that a test would report. A test passes its *testing.T
// instead.
type printed struct{ testing.TB }

func (printed) Helper()           {}
func (printed) Error(args ...any) { fmt.Println(args...) }

// A kernel that writes more than its clauses allow.
func ExampleCheck() {
	x, y := []float64{1, 2, 3}, make([]float64, 3)
	intratest.Check(printed{}, func(s *intra.Section) {
		s.Launch(taskScale, func() {
			for i := range y {
				y[i] = 2 * x[i]
				x[i] = 0
			}
		}, intra.In("x", x), intra.Out("y", y))
	})
	// Output: intratest/example_test.go:45: task example.scale: in(x) element 0 is written by the body: move it to inout(x), or to out(x) if it is not read before
}
