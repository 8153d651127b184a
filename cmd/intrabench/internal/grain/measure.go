package grain

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Options sets the amount of work.
type Options struct {
	Work   []float64     // seconds of work in a section of each size, in one process; ascending
	Tasks  int           // tasks of each section
	Bytes  int           // size of the result of a task
	Time   time.Duration // approximate time of the sections of each size in each job
	Rounds int
	Before func(what string, round int) // called before each job, with rounds from 0; may be nil
}

// Way is one way to run a section.
type Way struct {
	Name  string
	Flags []string // flags of intrarun; nil for a peer
	Cores int      // number of cores that share the work
	Plain bool     // the bodies are called without a section
}

// Ways are measured in turn. The time of the first way counts as the work.
var Ways = []Way{
	{"plain loop", []string{"-r", "1"}, 1, true},
	{"one replica", []string{"-r", "1"}, 1, false},
	{"two, each runs all", []string{"-r", "2", "-sched", "replicate"}, 1, false},
	{"two, by default", []string{"-r", "2"}, 2, false},
	{"two, stored", []string{"-r", "2", "-direct", "on"}, 2, false},
	{"two, sent over shm", []string{"-r", "2", "-direct=off", "-sched", "static"}, 2, false},
	{"two, sent over TCP", []string{"-r", "2", "-link", "tcp", "-sched", "static"}, 2, false},
}

// Peers are the ways to run the program of a peer. Their Result.Work is the time of the
// plain loop of that program.
var Peers = []Way{{Name: "peer, 1 thread", Cores: 1}, {Name: "peer, 2 threads", Cores: 2}}

// Result is the measurement of one way.
type Result struct {
	Way     string
	Cores   int
	Seconds [][]float64 // time of a section, by round and size
	Work    [][]float64 // time of the plain loop in the same round
}

// Runner runs one job.
type Runner func(ctx context.Context, w Way, steps []Step, o Options) (Outcome, error)

// PeerRunner runs the program of a peer. For each size, it returns the seconds of the peer's
// plain loop and of its parallel loop.
type PeerRunner func(ctx context.Context, threads int, o Options) (plain, parallel []float64, err error)

// overhead is the approximate cost of a section in seconds. The number of sections in a job
// follows from it.
const overhead = 5e-6

// Measure runs a job in each way in each round, and the ways of the peer, if there is a peer.
func Measure(ctx context.Context, run Runner, peer PeerRunner, o Options) ([]Result, error) {
	unit := calibrate()
	var steps []Step
	for _, w := range o.Work {
		repeat := int(math.Round(w / float64(o.Tasks) / unit))
		steps = append(steps, Step{repeat, max(8, int(o.Time.Seconds()/(w+overhead)))})
	}
	ways := Ways
	if peer != nil {
		ways = append(ways[:len(ways):len(ways)], Peers...)
	}
	results := make([]Result, len(ways))
	want := math.NaN()
	for round := range o.Rounds {
		var plain []float64
		for i, w := range ways {
			if o.Before != nil {
				o.Before(w.Name, round)
			}
			r := &results[i]
			r.Way, r.Cores = w.Name, w.Cores
			if w.Flags == nil {
				alone, together, err := peer(ctx, w.Cores, o)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", w.Name, err)
				}
				r.Work, r.Seconds = append(r.Work, alone), append(r.Seconds, together)
				continue
			}
			got, err := run(ctx, w, steps, o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.Name, err)
			}
			if math.IsNaN(want) {
				want = got.Sum
			}
			if got.Sum != want {
				return nil, fmt.Errorf("%s: the results add up to %v, and to %v before", w.Name, got.Sum, want)
			}
			if w.Plain {
				plain = got.Seconds
			}
			r.Work, r.Seconds = append(r.Work, plain), append(r.Seconds, got.Seconds)
		}
	}
	return results, nil
}

// Size summarises the sections of one size: their time in seconds, and the share of the cores'
// time that was work.
func (r *Result) Size(i int) (section, efficiency spread.Spread) {
	var s, e []float64
	for round := range r.Seconds {
		s = append(s, r.Seconds[round][i])
		e = append(e, r.efficiency(round, i))
	}
	return spread.Of(s), spread.Of(e)
}

func (r *Result) efficiency(round, i int) float64 {
	return r.Work[round][i] / float64(r.Cores) / r.Seconds[round][i]
}

// above is the METG of a round in which no size reaches half. It is longer than any section.
const above = 1e9

// METG returns the least work of a core, in seconds, at which at least half of the core's time
// is work. It is summarised over the rounds. Zero means that all sizes reach half, and 1e9
// that none does.
func (r *Result) METG() spread.Spread {
	var all []float64
	for round := range r.Seconds {
		all = append(all, r.metg(round))
	}
	return spread.Of(all)
}

func (r *Result) metg(round int) float64 {
	var work, efficiency []float64
	for i, w := range r.Work[round][:len(r.Seconds[round])] {
		work = append(work, w/float64(r.Cores))
		efficiency = append(efficiency, r.efficiency(round, i))
	}
	return half(work, efficiency)
}

// half returns the least size at which the efficiency is at least one half. Sizes ascend.
// Between two sizes the efficiency is assumed to be linear in the logarithm of the size.
func half(sizes, efficiency []float64) float64 {
	i := len(sizes)
	for i > 0 && efficiency[i-1] >= 0.5 {
		i--
	}
	switch i {
	case 0:
		return 0
	case len(sizes):
		return above
	}
	low, high := efficiency[i-1], efficiency[i]
	at := (0.5 - low) / (high - low)
	return math.Exp(math.Log(sizes[i-1]) + at*(math.Log(sizes[i])-math.Log(sizes[i-1])))
}
