package slow

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
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
	replicas int
	sched    string
}

// Ways are measured in alternation; the first tells the least that the others
// could take.
var Ways = []Way{
	{Name: "one replica, at full speed", replicas: 1},
	{Name: "static", replicas: 2, sched: "static"},
	{Name: "adaptive", replicas: 2, sched: "adaptive"},
}

// Result is the time of a section in one way.
type Result struct {
	Way     string    `json:"way"`
	Seconds []float64 `json:"seconds"` // median section of each round, on the slower replica
}

var dotTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/slow.dot")

// elements of each task's vector: it stays in the cache nearest to the core,
// so that tasks of both replicas do not compete for memory.
const elements = 1 << 10

// Measure runs jobs in this process, in every way in each round. Replica 1 is
// slow because it computes each task Factor times.
func Measure(ctx context.Context, o Options) ([]Result, error) {
	results := make([]Result, len(Ways))
	repeat := calibrate(o.Task)
	var want float64
	for round := range o.Rounds {
		for i := range Ways {
			i = (i + round) % len(Ways)
			w := Ways[i]
			seconds, sum, err := run(ctx, w, o, repeat)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
			if want == 0 {
				want = sum
			}
			if sum != want {
				return nil, fmt.Errorf("%s: the result is %v and was %v before", w.Name, sum, want)
			}
			results[i].Way = w.Name
			results[i].Seconds = append(results[i].Seconds, seconds)
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

// run runs one job and returns its median section and what it computed.
func run(ctx context.Context, w Way, o Options, repeat int) (seconds, sum float64, err error) {
	var mu sync.Mutex
	times := make([]time.Duration, o.Sections) // of the slower replica
	ctx = job.WithLocal(ctx, &job.Local{Sched: w.sched, Share: true})
	err = intra.Run(ctx, intra.Spec{Replicas: w.replicas, Link: "shm"}, func(p *intra.Process) error {
		speed := 1
		if p.Replica() == 1 {
			speed = o.Factor
		}
		x := make([]float64, p.Tasks()*elements)
		for i := range x {
			x[i] = float64(i%7) + 1
		}
		total := 0.0
		for k := range o.Sections {
			// No replica passes this before the others have come.
			if _, err := intra.Once(p, func() (int, error) { return k, nil }); err != nil {
				return err
			}
			began := time.Now()
			s := p.Section()
			for lo, hi := range intra.Blocks(len(x), p.Tasks()) {
				cell, region := intra.Reduce(s, "total", &total, func(a, b float64) float64 { return a + b })
				s.Launch(dotTask, func() {
					for range speed {
						*cell = work(x[lo:hi], repeat)
					}
				}, intra.In("x", x[lo:hi]), region)
			}
			if err := s.End(); err != nil {
				return err
			}
			took := time.Since(began)
			mu.Lock()
			times[k] = max(times[k], took)
			mu.Unlock()
		}
		mu.Lock()
		defer mu.Unlock()
		sum = total
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	slices.Sort(times)
	return times[len(times)/2].Seconds(), sum, nil
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
