package slow

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/kernels"
)

// Options sets the amount of work.
type Options struct {
	Factor   int           // replica 1 takes this many times as long for a task
	Task     time.Duration // approximate time of a task at full speed
	Sections int           // of each way in each round
	Rounds   int
	Before   func(round int) // called before each round, from 0; may be nil
}

// Way is one way to run the section.
type Way struct {
	Name     string
	Schedule intra.SectionOption
}

// Ways are measured in turn, section by section. The first measures the speed of replica 0
// while the other replica works, too, and so the least possible time of the others.
var Ways = []Way{
	{"each runs every task", intra.Replicate},
	{"static", intra.Static},
	{"adaptive", intra.Adaptive},
}

// Result is the time of a section in one way.
type Result struct {
	Way string `json:"way"`
	// Seconds is the median section of each round, until the last replica has
	// left it; where each runs every task, until the fast one has.
	Seconds []float64 `json:"seconds"`
}

var dotTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/slow.dot")
var hereTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/slow.together")

// elements is the length of each task's vector. It fits the cache nearest to the core, so
// that tasks of both replicas do not compete for memory.
const elements = 1 << 10

// Outcome is the output of one job.
type Outcome struct {
	Seconds []float64 `json:"seconds"` // median section of each way
	Sum     float64   `json:"sum"`     // what the sections computed
}

// Runner runs one job.
type Runner func(ctx context.Context, o Options, repeat int) (Outcome, error)

// Measure runs a job in each round. Replica 1 is slow because it computes each
// task Factor times.
func Measure(ctx context.Context, run Runner, o Options) ([]Result, error) {
	results := make([]Result, len(Ways))
	repeat := calibrate(o.Task)
	var want float64
	for round := range o.Rounds {
		if o.Before != nil {
			o.Before(round)
		}
		got, err := run(ctx, o, repeat)
		if err != nil {
			return nil, err
		}
		if want == 0 {
			want = got.Sum
		}
		if got.Sum != want {
			return nil, fmt.Errorf("the result is %v and was %v before", got.Sum, want)
		}
		for i, w := range Ways {
			results[i].Way = w.Name
			results[i].Seconds = append(results[i].Seconds, got.Seconds[i])
		}
	}
	return results, nil
}

// work is the body of a task: many inner products of the same vector.
func work(x []float64, repeat int) (sum float64) {
	for range repeat {
		sum += kernels.Dot(x, x)
	}
	return sum
}

// calibrate returns the number of repetitions of work that take that long.
func calibrate(d time.Duration) int {
	const some = 2000
	x := make([]float64, elements)
	least := time.Duration(math.MaxInt64)
	for range 10 {
		began := time.Now()
		work(x, some)
		least = min(least, time.Since(began))
	}
	return max(1, int(some*d/least))
}

// Program is the program of each replica.
func Program(p *intra.Process, o Options, repeat int) (Outcome, error) {
	speed := 1
	if p.Replica() == 1 {
		speed = o.Factor
	}
	x := make([]float64, p.Tasks()*elements)
	for i := range x {
		x[i] = float64(i%7) + 1
	}
	total := 0.0
	took := make([][]float64, len(Ways))
	here, err := together(p, 0)
	for k := 0; err == nil && k < o.Sections*len(Ways); k++ {
		w := k % len(Ways)
		began := time.Now()
		s := p.Section(Ways[w].Schedule)
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			cell, region := intra.Reduce(s, "total", &total, func(a, b float64) float64 { return a + b })
			s.Launch(dotTask, func() {
				for range speed {
					*cell = work(x[lo:hi], repeat)
				}
			}, intra.In("x", x[lo:hi]), region)
		}
		if err = s.End(); err != nil {
			break
		}
		if here, err = together(p, time.Since(began)); w == 0 {
			took[w] = append(took[w], here[0].Seconds())
		} else {
			took[w] = append(took[w], slices.Max(here[:]).Seconds())
		}
	}
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Sum: total}
	for _, t := range took {
		out.Seconds = append(out.Seconds, spread.Of(t).Median)
	}
	return out, nil
}

// together runs a static section with a task for each replica, which no replica leaves
// before all have entered it. It returns the times of all replicas for the previous
// section.
func together(p *intra.Process, took time.Duration) (all [2]time.Duration, err error) {
	s := p.Section(intra.Static)
	for i := range all {
		s.Launch(hereTask, func() { all[i] = took }, intra.OutVar("took", &all[i]))
	}
	err = s.End()
	return all, err
}

// InProcess is a Runner of jobs in this process.
func InProcess(ctx context.Context, o Options, repeat int) (out Outcome, err error) {
	ctx = job.WithLocal(ctx, &job.Local{Share: true})
	err = intra.Run(ctx, intra.Spec{Replicas: 2, Link: "shm"}, func(p *intra.Process) error {
		got, err := Program(p, o, repeat)
		if p.Replica() == 0 {
			out = got
		}
		return err
	})
	return out, err
}

// Ideal returns the least possible time of the section in each round: two replicas of which
// one is slower together have the speed of 1 + 1/Factor replicas.
func (o Options) Ideal(every Result) []float64 {
	var ideal []float64
	for _, s := range every.Seconds {
		ideal = append(ideal, s/(1+1/float64(o.Factor)))
	}
	return ideal
}

// Quotients summarises the time of a way relative to the ideal, round by round.
func (o Options) Quotients(every, r Result) spread.Spread {
	var q []float64
	for round, ideal := range o.Ideal(every) {
		q = append(q, r.Seconds[round]/ideal)
	}
	return spread.Of(q)
}

// Table writes the results as text.
func Table(w io.Writer, o Options, results []Result) error {
	tasks := (*intra.Process)(nil).Tasks()
	fmt.Fprintf(w, "%d tasks of %v, replica 1 at 1/%d of the speed; %d rounds of %d sections of each, in turn\n",
		tasks, o.Task, o.Factor, o.Rounds, o.Sections)
	fmt.Fprintf(w, "times the ideal for the two speeds, as they are with both at work: median [quartiles]\n")
	for _, r := range results {
		q := o.Quotients(results[0], r)
		if _, err := fmt.Fprintf(w, "  %-28s %8.3f ms  %5.2f [%.2f %.2f]\n", r.Way, 1e3*spread.Of(r.Seconds).Median, q.Median, q.Q1, q.Q3); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "with whole tasks no schedule gets below %.2f\n", o.bound(tasks))
	return err
}

// bound returns the time of the best distribution of n whole tasks, relative to the ideal.
func (o Options) bound(n int) float64 {
	best := n
	for slow := range n + 1 {
		best = min(best, max(n-slow, slow*o.Factor))
	}
	return float64(best) / (float64(n) / (1 + 1/float64(o.Factor)))
}
