package grain

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/kernels"
)

// Step is a number of sections with the same work.
type Step struct {
	Repeat   int // number of inner products in each task
	Sections int
}

// ParseStep reads a step as String writes it, like 20:1000.
func ParseStep(s string) (st Step, err error) {
	repeat, sections, _ := strings.Cut(s, ":")
	if st.Repeat, err = strconv.Atoi(repeat); err == nil {
		st.Sections, err = strconv.Atoi(sections)
	}
	if err != nil || st.Repeat < 0 || st.Sections < 1 {
		return Step{}, fmt.Errorf("step %q: want inner products and sections, like 20:1000", s)
	}
	return st, nil
}

func (s Step) String() string { return fmt.Sprintf("%d:%d", s.Repeat, s.Sections) }

// elements is the length of each task's vector, which stays in the cache nearest to the core.
const elements = 64

// work performs the computation of a task. Its result fills out.
func work(x, out []float64, repeat int) {
	sum := 0.0
	for range repeat {
		sum += kernels.Dot(x, x)
	}
	for i := range out {
		out[i] = sum + float64(i)
	}
}

var (
	workTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/grain.work")
	hereTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/grain.together")
)

// Outcome is the result of one job.
type Outcome struct {
	Seconds []float64 `json:"seconds"` // seconds of a section, for each step
	Sum     float64   `json:"sum"`     // sum of all results, which does not depend on the way to run the sections
}

// Program runs all steps. Each section has the given number of tasks, each with a result of
// the given size. With plain it calls the bodies of the tasks in a loop, without a section.
func Program(p *intra.Process, steps []Step, tasks, bytes int, plain bool) (Outcome, error) {
	results := max(bytes/8, 1)
	x, y := make([]float64, elements), intra.Alloc[float64](tasks*results)
	for i := range x {
		x[i] = float64(i%7) + 1
	}
	section := func(repeat int) error {
		if plain {
			for k := range tasks {
				work(x, y[k*results:(k+1)*results], repeat)
			}
			return nil
		}
		s := p.Section()
		for k := range tasks {
			out := y[k*results : (k+1)*results]
			s.Launch(workTask, func() { work(x, out, repeat) }, intra.In("x", x), intra.Out("out", out))
		}
		return s.End()
	}
	var o Outcome
	for _, st := range steps {
		began := time.Now()
		for n := range st.Sections + st.Sections/4 {
			if n == st.Sections/4 { // the first sections train the scheduler
				if err := together(p); err != nil {
					return Outcome{}, err
				}
				began = time.Now()
			}
			if err := section(st.Repeat); err != nil {
				return Outcome{}, err
			}
		}
		if err := together(p); err != nil {
			return Outcome{}, err
		}
		o.Seconds = append(o.Seconds, time.Since(began).Seconds()/float64(st.Sections))
		o.Sum += kernels.Sum(y)
	}
	if math.IsNaN(o.Sum) {
		return Outcome{}, fmt.Errorf("the sum of the results is %v", o.Sum)
	}
	return o, nil
}

// together runs a section with a task for each of two replicas. No replica leaves it before
// both have entered it.
func together(p *intra.Process) error {
	var here [2]int
	s := p.Section(intra.Static)
	for k := range here {
		s.Launch(hereTask, func() { here[k] = 1 }, intra.OutVar("here", &here[k]))
	}
	return s.End()
}

// calibrate returns the time of an inner product, in seconds.
func calibrate() float64 {
	const some = 20_000
	x, out := make([]float64, elements), make([]float64, 1)
	least := math.Inf(1)
	for range 10 {
		began := time.Now()
		work(x, out, some)
		least = min(least, time.Since(began).Seconds()/some)
	}
	return least
}
