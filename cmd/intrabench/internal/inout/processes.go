package inout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// Case is one way to receive the updates of a job of two processes. An update that fits a
// ring as a whole is applied from there; others are staged.
type Case struct {
	Name string `json:"name"`
	Ring string `json:"ring"` // size of the rings, "" for intrarun's own
}

// Cases are measured in alternation.
var Cases = []Case{
	{"updates that fit the ring", ""},
	{"updates longer than the ring", "64K"},
}

// Outcome is the output of one job: the median sections, and the median quotient of two
// consecutive ones.
type Outcome struct {
	Out      float64 `json:"out_seconds"` // to a second array: nothing to protect
	InOut    float64 `json:"inout_seconds"`
	Overhead float64 `json:"overhead"` // the quotient, less 1
}

// Pairs are the outcomes of a case, round by round.
type Pairs struct {
	Case
	Rounds []Outcome `json:"rounds"`
}

// Runner runs one job.
type Runner func(ctx context.Context, c Case, o Options) (Outcome, error)

var tookTask = intra.Register("github.com/intrahpc/intra/cmd/intrabench/internal/inout.took")

// Program is the program of each replica: the same push of the same particles, in turn in
// place and from one array to another, so that both meet the same state of the machine. The
// schedule is static, since the comparison is about how updates are received, and neither
// about scheduling nor about whether sharing pays. A section takes from the moment when
// both replicas have arrived to when the last has left.
func Program(p *intra.Process, o Options) (Outcome, error) {
	at := start(o.Particles)
	from := slices.Clone(at)
	to := slices.Clone(at)
	// The first sections touch the memory.
	const warmUp = 2
	var in, out, over []float64
	if _, err := meet(p, 0); err != nil {
		return Outcome{}, err
	}
	for k := range warmUp + o.Sections {
		var took [2]float64 // out, inout
		for i := range took {
			i = (i + k) % len(took)
			a, b := at, at
			if i == 0 {
				a, b = from, to
			}
			began := time.Now()
			err := section(p, a, b, intra.Static)
			if err == nil {
				took[i], err = meet(p, time.Since(began))
			}
			if err != nil {
				return Outcome{}, err
			}
		}
		from, to = to, from
		if k >= warmUp {
			out, in, over = append(out, took[0]), append(in, took[1]), append(over, took[1]/took[0]-1)
		}
	}
	if !slices.Equal(at, from) {
		return Outcome{}, errors.New("the particles pushed in place are not where the others are")
	}
	return Outcome{Out: spread.Of(out).Median, InOut: spread.Of(in).Median, Overhead: spread.Of(over).Median}, nil
}

// meet is a barrier of both replicas, and returns the longer of their times.
func meet(p *intra.Process, d time.Duration) (seconds float64, err error) {
	var took [2]time.Duration
	s := p.Section(intra.Static)
	for i := range took {
		s.Launch(tookTask, func() { took[i] = d }, intra.OutVar("took", &took[i]))
	}
	err = s.End()
	return max(took[0], took[1]).Seconds(), err
}

// MeasureProcesses runs a job of each case in each round.
func MeasureProcesses(ctx context.Context, run Runner, o Options) ([]Pairs, error) {
	results := make([]Pairs, len(Cases))
	for round := range o.Rounds {
		o.tell("two processes", round)
		for i := range Cases {
			i = (i + round) % len(Cases)
			got, err := run(ctx, Cases[i], o)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", Cases[i].Name, err)
			}
			results[i].Case = Cases[i]
			results[i].Rounds = append(results[i].Rounds, got)
		}
	}
	return results, nil
}

// Overhead summarises how much longer inout takes than out.
func (p Pairs) Overhead() spread.Spread {
	var over []float64
	for _, r := range p.Rounds {
		over = append(over, r.Overhead)
	}
	return spread.Of(over)
}

// ProcessTable writes the results as text.
func ProcessTable(w io.Writer, o Options, results []Pairs) error {
	fmt.Fprintf(w, "two processes push %d particles to a second array (out) and in place (inout), %d sections of each in turn, %d rounds; inout beside out: median [quartiles]\n", o.Particles, o.Sections, o.Rounds)
	for _, r := range results {
		var out, in []float64
		for _, o := range r.Rounds {
			out, in = append(out, o.Out), append(in, o.InOut)
		}
		over := r.Overhead()
		if _, err := fmt.Fprintf(w, "  %-30s out %8.3f ms  inout %8.3f ms  %+6.1f%% [%+.1f%% %+.1f%%]\n", r.Name,
			1e3*spread.Of(out).Median, 1e3*spread.Of(in).Median, 100*over.Median, 100*over.Q1, 100*over.Q3); err != nil {
			return err
		}
	}
	return nil
}
