package detection

import (
	"math"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/kernels"
)

// Outcome is the output of the program at its end.
type Outcome struct {
	Seconds float64 `json:"seconds"` // seconds of all passes
	Sum     float64 `json:"sum"`
}

var dotTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/detection.dot")

// elements is the length of each rank's vector, 4 MiB. repeat is the number of times that a
// pass of the program reads it. They are so large that a pass spends most of its time in
// computation, and not in messages between processes that share cores.
const (
	elements = 1 << 19
	repeat   = 16
)

// Program is the job that is measured. In each pass it adds up inner products over all ranks.
// The replicas of a rank share the work. With 0 passes the program never ends by itself.
func Program(p *intra.Process, passes int) (Outcome, error) {
	x := make([]float64, elements)
	for i := range x {
		x[i] = float64(i%7) + 1
	}
	if passes == 0 {
		passes = math.MaxInt
	}
	began := time.Now()
	var o Outcome
	for range passes {
		part := 0.0
		s := p.Section()
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			cell, region := intra.Reduce(s, "part", &part, func(a, b float64) float64 { return a + b })
			s.Launch(dotTask, func() {
				for range repeat {
					*cell += kernels.Dot(x[lo:hi], x[lo:hi])
				}
			}, intra.In("x", x[lo:hi]), region)
		}
		if err := s.End(); err != nil {
			return o, err
		}
		sum, err := comm.AllreduceValue(p.World(), part, comm.Sum)
		if err != nil {
			return o, err
		}
		o.Sum = sum
		x[0] = 1 + 1/sum // each pass computes a different sum
	}
	o.Seconds = time.Since(began).Seconds()
	return intra.Once(p, func() (Outcome, error) { return o, nil })
}
