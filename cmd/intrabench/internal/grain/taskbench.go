package grain

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Patterns are the patterns of examples/taskbench.
var Patterns = []string{"trivial", "stencil_1d", "fft", "tree", "random_nearest"}

// GraphOptions sets what is measured of examples/taskbench.
type GraphOptions struct {
	Iters  []int         // iterations of a task, in descending order
	Width  int           // points of a step
	Time   time.Duration // approximate time of a job's steps
	Rounds int
	Before func(what string, round int) // called before the jobs of a way, with rounds from 0; may be nil
}

// GraphWay is a number of processes that compute a grid.
type GraphWay struct {
	Name            string
	Ranks, Replicas int
}

// Cores returns the number of cores that the processes use.
func (w GraphWay) Cores() int { return w.Ranks * w.Replicas }

// GraphWays are measured in turn. The first one has one core: its highest speed is the peak
// of a core.
var GraphWays = []GraphWay{
	{"one rank", 1, 1},
	{"two ranks", 2, 1},
	{"one rank of two replicas", 1, 2},
}

// GraphRun is what examples/taskbench prints.
type GraphRun struct {
	Task    float64 `json:"us_task"`
	Flops   float64 `json:"flops"`
	Ranks   int     `json:"ranks"`
	XSHA256 string  `json:"x_sha256"`
}

// GraphRunner runs a job.
type GraphRunner func(ctx context.Context, w GraphWay, args ...string) (GraphRun, error)

// Graph is the measurement of a pattern in one way. All lists are by round, and then by the number
// of iterations, in ascending order.
type Graph struct {
	Pattern     string
	Way         GraphWay
	Granularity [][]float64 // seconds of a core for each task
	Efficiency  [][]float64 // speed of a core, divided by the peak of the round
}

// perIteration and perTask are rough times from which the number of steps follows.
const perIteration, perTask = 100e-9, 500e-9

// MeasureGraphs runs a job for each round, pattern, way and number of iterations. In each
// round the ways run in another order.
func MeasureGraphs(ctx context.Context, run GraphRunner, o GraphOptions) ([]Graph, error) {
	var graphs []Graph
	for _, p := range Patterns {
		for _, w := range GraphWays {
			graphs = append(graphs, Graph{Pattern: p, Way: w})
		}
	}
	hashes := make(map[string]string)
	for round := range o.Rounds {
		speeds := make([][]float64, len(graphs)) // operations per second of a core, by graph and by size of its tasks
		peak := 0.0
		for i := range graphs {
			n := trial.Turn(round, i, len(graphs))
			g := &graphs[n]
			if o.Before != nil {
				o.Before(g.Pattern+", "+g.Way.Name, round)
			}
			sizes := make([]float64, len(o.Iters))
			speeds[n] = make([]float64, len(o.Iters))
			for k, iters := range o.Iters {
				steps := max(50, int(o.Time.Seconds()/float64(o.Width)/(float64(iters)*perIteration+perTask)))
				args := []string{"-json", "-pattern", g.Pattern, "-width", strconv.Itoa(o.Width), "-steps", strconv.Itoa(steps), "-iters", strconv.Itoa(iters)}
				got, err := run(ctx, g.Way, args...)
				if err != nil {
					return nil, fmt.Errorf("%s, %s: %w", g.Pattern, g.Way.Name, err)
				}
				key := strings.Join(args, " ")
				if was := hashes[key]; was != "" && was != got.XSHA256 {
					return nil, fmt.Errorf("%s, %s: the values have hash %s, and %s in another way: they must not differ", g.Pattern, g.Way.Name, got.XSHA256, was)
				}
				hashes[key] = got.XSHA256
				at := len(o.Iters) - 1 - k
				sizes[at] = 1e-6 * got.Task * float64(g.Way.Replicas)
				speeds[n][at] = got.Flops / float64(g.Way.Cores())
			}
			g.Granularity = append(g.Granularity, sizes)
			if g.Way.Cores() == 1 {
				peak = max(peak, slices.Max(speeds[n]))
			}
		}
		for n := range graphs {
			for k := range speeds[n] {
				speeds[n][k] /= peak
			}
			graphs[n].Efficiency = append(graphs[n].Efficiency, speeds[n])
		}
	}
	return graphs, nil
}

// METG returns the least time of a core for each task, in seconds, at which its speed is at
// least half of the peak. It is summarised over the rounds, as Result.METG.
func (g *Graph) METG() spread.Spread {
	var all []float64
	for round := range g.Granularity {
		all = append(all, half(g.Granularity[round], g.Efficiency[round]))
	}
	return spread.Of(all)
}

// GraphSummary is the measurement of a pattern in one way, for a record. Times are in seconds.
type GraphSummary struct {
	Pattern string        `json:"pattern"`
	Way     string        `json:"way"`
	Cores   int           `json:"cores"`
	METG    spread.Spread `json:"metg"` // see Graph.METG
	Sizes   []GraphSize   `json:"sizes"`
}

// GraphSize summarises the jobs with one number of iterations.
type GraphSize struct {
	Iters       int           `json:"iters"`
	Granularity spread.Spread `json:"granularity"` // time of a core for each task
	Efficiency  spread.Spread `json:"efficiency"`  // share of the peak
}

// GraphSummaries returns a summary for each pattern and way.
func GraphSummaries(o GraphOptions, graphs []Graph) []GraphSummary {
	var all []GraphSummary
	for _, g := range graphs {
		s := GraphSummary{Pattern: g.Pattern, Way: g.Way.Name, Cores: g.Way.Cores(), METG: g.METG()}
		for k := range o.Iters {
			var sizes, efficiency []float64
			for round := range g.Granularity {
				sizes, efficiency = append(sizes, g.Granularity[round][k]), append(efficiency, g.Efficiency[round][k])
			}
			s.Sizes = append(s.Sizes, GraphSize{o.Iters[len(o.Iters)-1-k], spread.Of(sizes), spread.Of(efficiency)})
		}
		all = append(all, s)
	}
	return all
}

// GraphTable prints a line for each pattern and each way to run it: METG(50 %) in µs, and then the
// time of a task in µs and its share of a core's peak, for the fewest and for the most iterations.
func GraphTable(w io.Writer, o GraphOptions, all []GraphSummary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Task Bench, %d points in each step, %d rounds in turn; microseconds of a core for each task\n", o.Width, o.Rounds)
	fmt.Fprintf(&b, "METG(50 %%), median [quartiles]; with the fewest and with the most iterations: time, share of a core's peak\n")
	pattern := ""
	for _, s := range all {
		if s.Pattern != pattern {
			pattern = s.Pattern
			fmt.Fprintln(&b, pattern)
		}
		few, most := s.Sizes[0], s.Sizes[len(s.Sizes)-1]
		fmt.Fprintf(&b, "  %-24s %s [%s %s]  %d: %s, %.2f  %d: %s, %.2f\n", s.Way,
			grainOf(s.METG.Median), grainOf(s.METG.Q1), grainOf(s.METG.Q3),
			few.Iters, micro(few.Granularity.Median), few.Efficiency.Median,
			most.Iters, micro(most.Granularity.Median), most.Efficiency.Median)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
