// Command counter does not register the counter of its main loop.
package main

//go:generate go run github.com/intrahpc/intra/cmd/intragen

import (
	"flag"
	"fmt"
	"math"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// loop is the state of the main loop, without its counter.
//
//intra:state skip(it)
type loop struct {
	x  []float64
	it int
}

//intra:task inout(x)
func grow(x []float64) {
	for i := range x {
		x[i] += 1 + math.Sin(x[i])/2
	}
}

//intra:task in(x) reduce(+: sum)
func total(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum
}

func main() {
	passes := flag.Int("passes", 60, "of the main loop")
	n := flag.Int("n", 1600, "numbers of each rank")
	extra := flag.Int("extra", -1, "pass in which replicas 1 run a section more")
	messages := flag.Bool("messages", false, "the ranks add up their sums in each pass")
	flag.Parse()
	intra.Main(func(p *intra.Process) error {
		l := loop{x: make([]float64, *n)}
		l.Protect(p, "loop")
		sum := 0.0
		for ; l.it < *passes; l.it++ {
			if err := p.SafePoint(); err != nil {
				return err
			}
			s := p.Section()
			for lo, hi := range intra.Blocks(len(l.x), p.Tasks()) {
				launchGrow(s, l.x[lo:hi])
			}
			if err := s.End(); err != nil {
				return err
			}
			if p.Replica() == 1 && l.it == *extra {
				s := p.Section()
				launchGrow(s, l.x)
				if err := s.End(); err != nil {
					return err
				}
			}
			if *messages {
				var err error
				if sum, err = comm.AllreduceValue(p.World(), l.x[0], comm.Sum); err != nil {
					return err
				}
			}
		}
		s := p.Section()
		launchTotal(s, l.x, &sum)
		if err := s.End(); err != nil {
			return err
		}
		fmt.Println(p.Rank(), l.it, sum)
		return nil
	})
}
