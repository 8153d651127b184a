package annotations_test

import (
	"fmt"

	"github.com/intrahpc/intra/annotations"
)

func ExampleParseTask() {
	clauses, errs := annotations.ParseTask("in(g, lo, hi) out(g.z[lo:hi]) reduce(max: top)", 1)
	for _, c := range clauses {
		for _, it := range c.Items {
			fmt.Println(c.Kind, it.Path(), it.Text)
		}
	}
	fmt.Println(len(errs))

	_, errs = annotations.ParseTask("in(x) ouput(y)", 1)
	fmt.Println(errs[0].Pos, errs[0])
	// Output:
	// in g g
	// in lo lo
	// in hi hi
	// out g.z g.z[lo:hi]
	// reduce top top
	// 0
	// 7 unknown clause "ouput" of //intra:task (did you mean out?) (want in, out, inout, reduce, scratch or elementwise)
}

func ExampleOutputName() {
	fmt.Println(annotations.OutputName("step.go"), annotations.OutputName("step_test.go"))
	// Output: step_intra.go step_intra_test.go
}
