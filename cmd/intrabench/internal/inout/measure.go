package inout

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/internal/job"
)

// Way is one way to protect inout memory.
type Way struct {
	Name    string
	receive job.Receive
	whole   bool // the link holds a whole update
	out     bool // no inout at all: old values in one array, new ones in another
}

// Out reports whether the way does without inout variables.
func (w Way) Out() bool { return w.out }

// Ways are measured in alternation. The first is the baseline for the others.
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
	Sections  int // per round
	Rounds    int
	Before    func(what string, round int) // called before each round, from 0; may be nil
}

func (o *Options) tell(what string, round int) {
	if o.Before != nil {
		o.Before(what, round)
	}
}

// Result is the time of a section in one way.
type Result struct {
	Way     string    `json:"way"`
	Seconds []float64 `json:"seconds"` // median section of each round, on the slower replica
	// CPU is the processor time of a section on both replicas, averaged over each round. It
	// is more meaningful on a machine that others use.
	CPU []float64 `json:"cpu_seconds,omitempty"`
}

var pushTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/inout.push")

// Measure runs a job of two replicas in this process, in every way in each round. Both
// cores are busy, as with two processes. The comparison is about how updates are received,
// not about the link.
func Measure(ctx context.Context, o Options) ([]Result, error) {
	results := make([]Result, len(Ways))
	initial := start(o.Particles)
	var want []particle
	for round := range o.Rounds {
		o.tell("in one process", round)
		for i := range Ways {
			i = (i + round) % len(Ways)
			seconds, cpu, last, err := run(ctx, Ways[i], o, initial)
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
			results[i].CPU = append(results[i].CPU, cpu)
		}
	}
	return results, nil
}

// processor returns the processor time that this process has taken.
func processor() (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read the processor time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// together returns the processor time at a moment when both replicas are at this call.
func together(p *intra.Process) (time.Duration, error) { return intra.Once(p, processor) }

// run runs one job and returns its median section, the processor time of one,
// and the particles at the end.
func run(ctx context.Context, way Way, o Options, initial []particle) (seconds, cpu float64, last []particle, err error) {
	const replicas = 2
	update := o.Particles / (*intra.Process)(nil).Tasks() * 48
	local := &job.Local{Sched: "static", Receive: way.receive, Capacity: max(update/4, 4096)}
	if way.whole {
		local.Capacity = 2*update + 4096
	}
	var mu sync.Mutex
	times := make([]time.Duration, o.Sections) // of the slower replica
	err = intra.Run(job.WithLocal(ctx, local), intra.Spec{Ranks: 1, Replicas: replicas}, func(p *intra.Process) error {
		from := slices.Clone(initial)
		to := from
		if way.out {
			to = make([]particle, o.Particles)
		}
		started, err := together(p)
		if err != nil {
			return err
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
		ended, err := together(p)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		last, cpu = from, (ended-started).Seconds()/float64(o.Sections)
		return nil
	})
	if err != nil {
		return 0, 0, nil, err
	}
	slices.Sort(times)
	return times[len(times)/2].Seconds(), cpu, last, nil
}

// section moves all particles by one step.
func section(p *intra.Process, from, to []particle, opts ...intra.SectionOption) error {
	s := p.Section(opts...)
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

// Overhead summarises how much longer a way takes than the first one, round by round.
func Overhead(first, r Result) spread.Spread { return excess(first.Seconds, r.Seconds) }

// CPUOverhead is Overhead in processor time.
func CPUOverhead(first, r Result) spread.Spread { return excess(first.CPU, r.CPU) }

func excess(first, other []float64) spread.Spread {
	var over []float64
	for round, s := range other {
		over = append(over, s/first[round]-1)
	}
	return spread.Of(over)
}

// Table writes the results as text.
func Table(w io.Writer, o Options, results []Result) error {
	fmt.Fprintf(w, "two replicas in one process push %d particles, %d sections, %d rounds in alternation; extra time and processor time: median [quartiles]\n", o.Particles, o.Sections, o.Rounds)
	for _, r := range results {
		over, cpu := Overhead(results[0], r), CPUOverhead(results[0], r)
		if _, err := fmt.Fprintf(w, "  %-34s %8.3f ms  %+6.1f%% [%+.1f%% %+.1f%%]  cpu %+6.1f%% [%+.1f%% %+.1f%%]\n", r.Way, 1e3*spread.Of(r.Seconds).Median,
			100*over.Median, 100*over.Q1, 100*over.Q3, 100*cpu.Median, 100*cpu.Q1, 100*cpu.Q3); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, "the paper: 6% for the copies of inout variables [INTRA, V-D]")
	return err
}
