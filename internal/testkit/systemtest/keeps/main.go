// Keeps runs the random program of package keeptest. Its arguments are the seed, the number of
// passes, the pause before each pass, and forget or unfetched for a wrong program.
package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/testkit/keeptest"
)

func main() {
	intra.Main(func(p *intra.Process) error {
		seed, err := strconv.ParseUint(os.Args[1], 10, 64)
		if err != nil {
			return err
		}
		passes, err := strconv.Atoi(os.Args[2])
		if err != nil {
			return err
		}
		pause, err := time.ParseDuration(os.Args[3])
		if err != nil {
			return err
		}
		h, err := keeptest.Program{Seed: seed, Passes: passes, Pause: pause, Out: os.Stdout,
			Forget: slices.Contains(os.Args, "forget"), Unfetched: slices.Contains(os.Args, "unfetched")}.Run(p)
		if err == nil && p.Rank() == 0 {
			fmt.Printf("result %016x\n", h)
		}
		return err
	})
}
