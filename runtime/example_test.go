package intra_test

import (
	"context"
	"fmt"

	intra "github.com/intrahpc/intra/runtime"
)

// A loop whose state is registered: a process that takes the place of a lost
// one goes on in the pass in which the others are.
func ExampleProtect() {
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
		fmt.Println(x)
		return nil
	})
	fmt.Println(err)
	// Output:
	// [7 5 4]
	// <nil>
}
