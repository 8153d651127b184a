package inout

import (
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	intra "github.com/intrahpc/intra/runtime"
)

// Case is one way to push particles in a job of two processes, which receive
// as all jobs do: what fits a ring as a whole is applied from there, the rest
// is staged.
type Case struct {
	Name string
	Out  bool   // old values in one array, new ones in another: nothing to protect
	Ring string // size of the rings, "" for intrarun's own
}

// Cases are measured in alternation, each inout after the out that it is
// compared with.
var Cases = []Case{
	{Name: "out, to a second array", Out: true},
	{Name: "inout"},
	{Name: "out, updates longer than the ring", Out: true, Ring: "64K"},
	{Name: "inout, updates longer than the ring", Ring: "64K"},
}

// Outcome is what one job printed.
type Outcome struct {
	Seconds float64 `json:"seconds"` // median section, on replica 0
	Hash    uint64  `json:"hash"`    // of all particles at the end
}

// Runner runs one job.
type Runner func(ctx context.Context, c Case, o Options) (Outcome, error)

// Program is what each replica runs, with the static schedule: what is
// compared is how updates are received, and neither who runs what nor whether
// it pays. The replicas keep step by their updates.
func Program(p *intra.Process, out bool, o Options) (Outcome, error) {
	from := start(o.Particles)
	to := from
	if out {
		to = make([]particle, o.Particles)
	}
	// The first sections touch the memory.
	const warmUp = 2
	var took []float64
	for k := range warmUp + o.Sections {
		began := time.Now()
		if err := section(p, from, to, intra.Static); err != nil {
			return Outcome{}, err
		}
		if k >= warmUp {
			took = append(took, time.Since(began).Seconds())
		}
		from, to = to, from
	}
	slices.Sort(took)
	h := fnv.New64a()
	for i := range from {
		for _, v := range []float64{from[i].x, from[i].y, from[i].z, from[i].u, from[i].v, from[i].w} {
			fmt.Fprintf(h, "%x ", math.Float64bits(v))
		}
	}
	return intra.Once(p, func() (Outcome, error) { return Outcome{Seconds: took[len(took)/2], Hash: h.Sum64()}, nil })
}

// MeasureProcesses runs jobs in every case in each round.
func MeasureProcesses(ctx context.Context, run Runner, o Options) ([]Result, error) {
	results := make([]Result, len(Cases))
	var want *Outcome
	for round := range o.Rounds {
		for i := range Cases {
			i = (i + round) % len(Cases)
			got, err := run(ctx, Cases[i], o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", Cases[i].Name, err)
			}
			if want == nil {
				want = &got
			}
			if got.Hash != want.Hash {
				return nil, fmt.Errorf("%s: the particles are not where they were before", Cases[i].Name)
			}
			results[i].Way = Cases[i].Name
			results[i].Seconds = append(results[i].Seconds, got.Seconds)
		}
	}
	return results, nil
}

// ProcessTable writes the results as text.
func ProcessTable(w io.Writer, o Options, results []Result) error {
	fmt.Fprintf(w, "two processes push %d particles, %d sections, %d rounds in alternation; inout beside out: median [quartiles]\n", o.Particles, o.Sections, o.Rounds)
	for i, r := range results {
		fmt.Fprintf(w, "  %-37s %8.3f ms", r.Way, 1e3*spread.Of(r.Seconds).Median)
		if !Cases[i].Out {
			over := Overhead(results[i-1], r)
			fmt.Fprintf(w, "  %+6.1f%% [%+.1f%% %+.1f%%]", 100*over.Median, 100*over.Q1, 100*over.Q3)
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return nil
}
