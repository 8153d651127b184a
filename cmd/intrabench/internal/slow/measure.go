package slow

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/kernels"
	intra "github.com/intrahpc/intra/runtime"
)

// Options say how much is measured.
type Options struct {
	Factor   int           // replica 1 takes so many times as long for a task
	Task     time.Duration // what a task takes at full speed, roughly
	Sections int           // per round
	Rounds   int
}

// Way is one way to run the section.
type Way struct {
	Name     string
	Replicas int
	Static   bool // schedule of the section; else adaptive
}

// Ways are measured in alternation; the first tells the least that the others
// could take.
var Ways = []Way{
	{Name: "one replica, at full speed", Replicas: 1},
	{Name: "static", Replicas: 2, Static: true},
	{Name: "adaptive", Replicas: 2},
}

// Result is the time of a section in one way.
type Result struct {
	Way     string    `json:"way"`
	Seconds []float64 `json:"seconds"` // median section of each round
}

var dotTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/slow.dot")
var hereTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/slow.together")

// elements of each task's vector: it stays in the cache nearest to the core,
// so that tasks of both replicas do not compete for memory.
const elements = 1 << 10

// Outcome is what one job printed.
type Outcome struct {
	Seconds float64 `json:"seconds"` // median section
	Sum     float64 `json:"sum"`     // what the sections computed
}

// Runner runs one job in one way.
type Runner func(ctx context.Context, w Way, o Options, repeat int) (Outcome, error)

// Measure runs jobs in every way in each round. Replica 1 is slow because it
// computes each task Factor times.
func Measure(ctx context.Context, run Runner, o Options) ([]Result, error) {
	results := make([]Result, len(Ways))
	repeat := calibrate(o.Task)
	var want float64
	for round := range o.Rounds {
		for i := range Ways {
			i = (i + round) % len(Ways)
			w := Ways[i]
			got, err := run(ctx, w, o, repeat)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
			if want == 0 {
				want = got.Sum
			}
			if got.Sum != want {
				return nil, fmt.Errorf("%s: the result is %v and was %v before", w.Name, got.Sum, want)
			}
			results[i].Way = w.Name
			results[i].Seconds = append(results[i].Seconds, got.Seconds)
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

// calibrate returns how often work repeats to take that long.
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

// Program is what each replica runs. The time of a section is that of replica
// 0, from when both have come; it leaves the section with all results.
func Program(p *intra.Process, static bool, o Options, repeat int) (Outcome, error) {
	schedule := intra.Adaptive
	if static {
		schedule = intra.Static
	}
	speed := 1
	if p.Replica() == 1 {
		speed = o.Factor
	}
	x := make([]float64, p.Tasks()*elements)
	for i := range x {
		x[i] = float64(i%7) + 1
	}
	total := 0.0
	took := make([]float64, o.Sections)
	for k := range took {
		if err := together(p); err != nil {
			return Outcome{}, err
		}
		began := time.Now()
		s := p.Section(schedule)
		for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
			cell, region := intra.Reduce(s, "total", &total, func(a, b float64) float64 { return a + b })
			s.Launch(dotTask, func() {
				for range speed {
					*cell = work(x[lo:hi], repeat)
				}
			}, intra.In("x", x[lo:hi]), region)
		}
		if err := s.End(); err != nil {
			return Outcome{}, err
		}
		took[k] = time.Since(began).Seconds()
	}
	slices.Sort(took)
	return intra.Once(p, func() (Outcome, error) { return Outcome{Seconds: took[len(took)/2], Sum: total}, nil })
}

// together has a static section of a task for each replica, which none leaves
// before all have come.
func together(p *intra.Process) error {
	var here [2]int64
	s := p.Section(intra.Static)
	for i := range here {
		s.Launch(hereTask, func() { here[i] = 1 }, intra.OutVar("here", &here[i]))
	}
	return s.End()
}

// InProcess is a Runner of jobs in this process.
func InProcess(ctx context.Context, w Way, o Options, repeat int) (out Outcome, err error) {
	ctx = job.WithLocal(ctx, &job.Local{Share: true})
	err = intra.Run(ctx, intra.Spec{Replicas: w.Replicas, Link: "shm"}, func(p *intra.Process) error {
		got, err := Program(p, w.Static, o, repeat)
		if p.Replica() == 0 {
			out = got
		}
		return err
	})
	return out, err
}

// Ideal is the least that the section could take in each round: two replicas
// of which one is slower together have the speed of 1 + 1/Factor replicas.
func (o Options) Ideal(alone Result) []float64 {
	var ideal []float64
	for _, s := range alone.Seconds {
		ideal = append(ideal, s/(1+1/float64(o.Factor)))
	}
	return ideal
}

// Quotients sums up how many times the ideal a way takes, round by round.
func (o Options) Quotients(alone, r Result) spread.Spread {
	var q []float64
	for round, ideal := range o.Ideal(alone) {
		q = append(q, r.Seconds[round]/ideal)
	}
	return spread.Of(q)
}

// Table writes the results as text.
func Table(w io.Writer, o Options, results []Result) error {
	tasks := (*intra.Process)(nil).Tasks()
	fmt.Fprintf(w, "%d tasks of %v, replica 1 at 1/%d of the speed; %d sections, %d rounds in alternation\n",
		tasks, o.Task, o.Factor, o.Sections, o.Rounds)
	fmt.Fprintf(w, "times the ideal for the two speeds: median [quartiles]\n")
	for _, r := range results {
		q := o.Quotients(results[0], r)
		if _, err := fmt.Fprintf(w, "  %-28s %8.3f ms  %5.2f [%.2f %.2f]\n", r.Way, 1e3*spread.Of(r.Seconds).Median, q.Median, q.Q1, q.Q3); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "with whole tasks no schedule gets below %.2f\n", o.bound(tasks))
	return err
}

// bound is what the best distribution of n whole tasks takes, in times of the
// ideal.
func (o Options) bound(n int) float64 {
	best := n
	for slow := range n + 1 {
		best = min(best, max(n-slow, slow*o.Factor))
	}
	return float64(best) / (float64(n) / (1 + 1/float64(o.Factor)))
}
