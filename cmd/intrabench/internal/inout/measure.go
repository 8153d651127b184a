package inout

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/job"
)

// Way is one way to protect inout memory.
type Way struct {
	Name    string
	receive job.Receive
	whole   bool // the link holds a complete update
	out     bool // without inout memory: the old values are in one array, the new ones in another
}

// Out reports whether the way uses no inout variables.
func (w Way) Out() bool { return w.out }

// Ways are measured in alternation. The first is the baseline for the other ways.
var Ways = []Way{
	{Name: "in place, without protection", receive: job.ReceiveTorn},
	{Name: "in place, with a snapshot", receive: job.ReceiveInPlace},
	{Name: "staged, applied when whole", receive: job.ReceiveStaged},
	{Name: "whole in the link's memory", receive: job.ReceiveStaged, whole: true},
	{Name: "out, to a second array; in place", receive: job.ReceiveInPlace, out: true},
}

// Options sets the amount of work.
type Options struct {
	Particles int
	Sections  int // number of sections in a round
	Rounds    int
}

// Result is the time of a section in one way.
type Result struct {
	Way     string    `json:"way"`
	Seconds []float64 `json:"seconds"` // by round: the median time of a section, on whichever replica was slower
}

var pushTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/inout.push")

// Measure runs a job of two replicas in this process, in every way in each round. Both cores
// are busy, as with two processes. The measurement compares ways to receive updates, and not
// links.
func Measure(ctx context.Context, o Options) ([]Result, error) {
	results := make([]Result, len(Ways))
	initial := start(o.Particles)
	var want []particle
	for round := range o.Rounds {
		for i := range Ways {
			i = (i + round) % len(Ways)
			seconds, last, err := run(ctx, Ways[i], o, initial)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", Ways[i].Name, err)
			}
			if want == nil {
				want = last
			}
			if !slices.Equal(want, last) {
				return nil, fmt.Errorf("%s: the particles are not where they were before", Ways[i].Name)
			}
			results[i].Way = Ways[i].Name
			results[i].Seconds = append(results[i].Seconds, seconds)
		}
	}
	return results, nil
}

// run runs one job. It returns the median time of a section, and the particles at the end.
func run(ctx context.Context, way Way, o Options, initial []particle) (seconds float64, last []particle, err error) {
	const replicas = 2
	update := o.Particles / (*intra.Process)(nil).Tasks() * 48
	local := &job.Local{Sched: "static", Receive: way.receive, Capacity: max(update/4, 4096)}
	if way.whole {
		local.Capacity = 2*update + 4096
	}
	var mu sync.Mutex
	times := make([]time.Duration, o.Sections) // times on the slower replica
	err = intra.Run(job.WithLocal(ctx, local), intra.Spec{Ranks: 1, Replicas: replicas}, func(p *intra.Process) error {
		from := slices.Clone(initial)
		to := from
		if way.out {
			to = make([]particle, o.Particles)
		}
		for k := range o.Sections {
			if err := p.World().Barrier(); err != nil {
				return err
			}
			began := time.Now()
			if err := section(p, from, to); err != nil {
				return err
			}
			d := time.Since(began)
			mu.Lock()
			times[k] = max(times[k], d)
			mu.Unlock()
			from, to = to, from
		}
		mu.Lock()
		defer mu.Unlock()
		last = from
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	slices.Sort(times)
	return times[len(times)/2].Seconds(), last, nil
}

// section moves all particles by one step.
func section(p *intra.Process, from, to []particle) error {
	s := p.Section()
	for lo, hi := range intra.Blocks(len(from), p.Tasks()) {
		body := func() { push(from[lo:hi], to[lo:hi], 0.01) }
		if &from[0] == &to[0] {
			s.Launch(pushTask, body, intra.InOut("from", from[lo:hi]))
		} else {
			s.Launch(pushTask, body, intra.In("from", from[lo:hi]), intra.Out("to", to[lo:hi]))
		}
	}
	return s.End()
}

// Overhead summarises how much longer a way takes than the first way, round by round.
func Overhead(first, r Result) spread.Spread {
	var over []float64
	for round, s := range r.Seconds {
		over = append(over, s/first.Seconds[round]-1)
	}
	return spread.Of(over)
}
