// Windows runs the kernels of testdata/generate/windows. Its arguments are the numbers of points
// and of passes.
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/testdata/generate/same"
	"github.com/intrahpc/intra/testdata/generate/windows"
)

func main() {
	intra.Main(func(p *intra.Process) error {
		points, err := strconv.Atoi(os.Args[1])
		if err != nil {
			return err
		}
		passes, err := strconv.Atoi(os.Args[2])
		if err != nil {
			return err
		}
		x, err := windows.Steps(p, points, passes)
		if err == nil {
			fmt.Println("result", same.Sum(x))
		}
		return err
	})
}
