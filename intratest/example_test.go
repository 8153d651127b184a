package intratest_test

import (
	"fmt"

	"github.com/intrahpc/intra/intratest"
	intra "github.com/intrahpc/intra/runtime"
)

var taskAccumulate = intra.Register("example.accumulate")

// A kernel that adds to its result, which its clause calls out.
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
