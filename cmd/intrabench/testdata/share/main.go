// Share is a program to measure. It launches its tasks without generated code.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/intrahpc/intra"

	intraruntime "github.com/intrahpc/intra/runtime"
)

var add = intra.Register("main.add")

func main() {
	intra.Main(func(p *intra.Process) error {
		n, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return err
		}
		x, sum := intra.Alloc[float64](n), 0.0
		for range 30 {
			s := p.Section()
			for lo, hi := range intra.Blocks(n, p.Tasks()) {
				part, r := intraruntime.ReduceVar(s, "sum", &sum, intraruntime.OpAdd[float64]())
				s.Launch(add, func() {
					t := 0.0
					for i := lo; i < hi; i++ {
						x[i] += float64(i)
						t += x[i]
					}
					*part.Var() += t
				}, intra.InOut("x", x[lo:hi]), r)
			}
			if err := s.End(); err != nil {
				return err
			}
		}
		fmt.Println(sum)
		return nil
	})
}
