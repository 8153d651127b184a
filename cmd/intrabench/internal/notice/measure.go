package notice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Options sets the amount of work.
type Options struct {
	Sizes  []int // bytes of state
	Moves  int   // for each size
	Rounds int   // how often a host joins
	Before func(what string)
}

// Runner performs the runs. Lab implements it.
type Runner interface {
	// Moves moves a process with this number of bytes of state repeatedly.
	Moves(ctx context.Context, bytes, moves int) (Moves, error)
	// Join runs a job of one replica for a time, lets a host join for a time, and then leave.
	Join(ctx context.Context, alone, together time.Duration) (Passes, error)
	// Pair runs a job that has two replicas from the start.
	Pair(ctx context.Context, d time.Duration) (Passes, error)
}

// Moves is a job whose process has moved.
type Moves struct {
	Bandwidth float64     // of the link, bytes per second
	Passes    []time.Time // when each pass was over
	report
}

// read reads the output of Mover.
func (m *Moves) read(lines []line) (err error) {
	if len(lines) == 0 {
		return fmt.Errorf("%w: it printed nothing", trial.ErrOutput)
	}
	if m.Bandwidth, err = strconv.ParseFloat(lines[0].text, 64); err != nil || m.Bandwidth <= 0 {
		return fmt.Errorf("%w: it printed %q as the bandwidth", trial.ErrOutput, lines[0].text)
	}
	m.Passes, err = passes(lines[1:])
	return err
}

// Passes is a job whose speed is measured.
type Passes struct {
	At             []time.Time // when each pass was over
	Joined, Leaves time.Time   // from when the second replica may join, and until when it stays
}

func (p *Passes) read(lines []line) (err error) {
	p.At, err = passes(lines)
	return err
}

// rate returns the passes per second between two moments.
func (p *Passes) rate(from, to time.Time) float64 {
	n := 0
	for _, at := range p.At {
		if at.After(from) && !at.After(to) {
			n++
		}
	}
	return float64(n) / to.Sub(from).Seconds()
}

// Measurement holds all results. Times are in seconds.
type Measurement struct {
	Moves []Size `json:"moves"`
	Join  *Join  `json:"join,omitempty"`
}

// Size is the result for one size of state.
type Size struct {
	Bytes     int     `json:"bytes"`
	Changed   int     `json:"changed_bytes"` // by each pass
	Bandwidth float64 `json:"link_bytes_per_second"`
	Interval  float64 `json:"interval_seconds"` // from one safe point to the next, median

	Stalls  []float64 `json:"stalls"`
	Notices []float64 `json:"notices"`
	// Stall is how long the program stood still for a move, from the arrival of the last
	// process in the cut. Notice is the time from the notice until no process was left.
	Stall  spread.Spread `json:"stall_seconds"`
	Notice spread.Spread `json:"notice_seconds"`
	// The goals are 200 ms + 1.2 × changed bytes / bandwidth, and 1 s + the interval + 1.2 ×
	// (state + changed bytes) / bandwidth.
	StallGoal  float64 `json:"stall_goal_seconds"`
	NoticeGoal float64 `json:"notice_goal_seconds"`
}

// Join is the result of jobs that a host joins.
type Join struct {
	Alone  spread.Spread `json:"alone"`  // passes per second of one replica
	Joined spread.Spread `json:"joined"` // of both, from 2 s to 4 s after the host had joined
	Pair   spread.Spread `json:"pair"`   // of a job that has two replicas from the start
	Ratio  spread.Spread `json:"ratio"`  // joined / pair, by round
	// Soon is the time from which the replicas are 0.9 times as fast as the pair, in every
	// window of 0.5 s until the host leaves.
	Soon  spread.Spread `json:"soon_seconds"`
	Curve []Point       `json:"curve"`
}

// Point is a moment of all rounds: its time since the host had joined, and the passes per
// second in a window around it, divided by those of the pair.
type Point struct {
	Seconds float64       `json:"seconds"`
	Speed   spread.Spread `json:"speed"`
}

// The times of a round.
const (
	alone    = 1500 * time.Millisecond
	together = 4 * time.Second
	settling = 2 * time.Second // after which the replicas have to be fast
	warm     = time.Second     // of the pair, not counted
	step     = 100 * time.Millisecond
	window   = 5 * step
	fast     = 0.9
)

// Measure makes all requested measurements.
func Measure(ctx context.Context, lab Runner, o Options) (*Measurement, error) {
	m := &Measurement{Moves: []Size{}}
	for _, bytes := range o.Sizes {
		o.tell("%d moves of %.0f MB of state", o.Moves, float64(bytes)/1e6)
		run, err := lab.Moves(ctx, bytes, o.Moves)
		if err != nil {
			return nil, fmt.Errorf("moves of %d bytes: %w", bytes, err)
		}
		s, err := run.size(bytes, o.Moves)
		if err != nil {
			return nil, fmt.Errorf("moves of %d bytes: %w", bytes, err)
		}
		m.Moves = append(m.Moves, s)
	}
	var err error
	if o.Rounds > 0 {
		m.Join, err = o.join(ctx, lab)
	}
	return m, err
}

func (o *Options) tell(format string, args ...any) {
	if o.Before != nil {
		o.Before(fmt.Sprintf(format, args...))
	}
}

// size summarises a job whose process has moved.
func (m *Moves) size(bytes, moves int) (s Size, err error) {
	s = Size{Bytes: bytes, Changed: bytes / Changed, Bandwidth: m.Bandwidth}
	if len(m.Drains) != moves || len(m.Failures)+len(m.Rollbacks) > 0 {
		return s, fmt.Errorf("%w: %d of %d moves, %d deaths, %d rollbacks", trial.ErrOutput, len(m.Drains), moves, len(m.Failures), len(m.Rollbacks))
	}
	for _, d := range m.Drains {
		if d.Stall <= 0 || d.Seconds <= 0 || d.Bytes < float64(bytes) {
			return s, fmt.Errorf("%w: a move of %.0f bytes with a stall of %g ms in %g s", trial.ErrOutput, d.Bytes, d.Stall, d.Seconds)
		}
		s.Stalls, s.Notices = append(s.Stalls, d.Stall/1e3), append(s.Notices, d.Seconds)
	}
	var intervals []float64
	for i := range m.Passes[1:] {
		intervals = append(intervals, m.Passes[i+1].Sub(m.Passes[i]).Seconds())
	}
	s.Interval = spread.Of(intervals).Median
	s.Stall, s.Notice = spread.Of(s.Stalls), spread.Of(s.Notices)
	s.StallGoal = 0.2 + 1.2*float64(s.Changed)/m.Bandwidth
	s.NoticeGoal = 1 + s.Interval + 1.2*float64(s.Bytes+s.Changed)/m.Bandwidth
	return s, nil
}

// join runs jobs that a host joins, and pairs beside them, in turn.
func (o *Options) join(ctx context.Context, lab Runner) (*Join, error) {
	var single, joined, pair, ratio, soon []float64
	var curves [][]float64
	for round := range o.Rounds {
		o.tell("round %d of %d: a host joins", round+1, o.Rounds)
		var a, b Passes
		runs := []func() error{
			func() (err error) { a, err = lab.Join(ctx, alone, together); return err },
			func() (err error) { b, err = lab.Pair(ctx, warm+together-settling); return err },
		}
		if round%2 == 1 {
			slices.Reverse(runs)
		}
		for _, run := range runs {
			if err := run(); err != nil {
				return nil, fmt.Errorf("a host joins: %w", err)
			}
		}
		full := b.rate(b.Joined.Add(warm), b.Leaves)
		if full == 0 {
			return nil, errors.Join(trial.ErrOutput, errors.New("a pair of replicas has made no pass"))
		}
		with := a.rate(a.Joined.Add(settling), a.Leaves)
		single, joined, pair, ratio = append(single, a.rate(a.Joined.Add(-alone/2), a.Joined)), append(joined, with), append(pair, full), append(ratio, with/full)
		curve := a.curve(full)
		soon, curves = append(soon, settled(curve)), append(curves, curve)
	}
	j := &Join{Alone: spread.Of(single), Joined: spread.Of(joined), Pair: spread.Of(pair), Ratio: spread.Of(ratio), Soon: spread.Of(soon)}
	for i := range curves[0] {
		var at []float64
		for _, c := range curves {
			at = append(at, c[i])
		}
		j.Curve = append(j.Curve, Point{moment(i).Seconds(), spread.Of(at)})
	}
	return j, nil
}

// moment returns the time of the i-th point of a curve since the host had joined. The windows
// lie between the start of the job and the moment at which the host leaves.
func moment(i int) time.Duration {
	return -alone/2 + window/2 + time.Duration(i)*step
}

// curve returns the passes per second over time, divided by full.
func (p *Passes) curve(full float64) (all []float64) {
	for i := 0; moment(i)+window/2 <= together; i++ {
		at := p.Joined.Add(moment(i))
		all = append(all, p.rate(at.Add(-window/2), at.Add(window/2))/full)
	}
	return all
}

// settled returns the time since the host had joined from which a curve stays fast. If it
// never does, that is the time at which the host leaves.
func settled(curve []float64) float64 {
	i := len(curve)
	for i > 0 && curve[i-1] >= fast {
		i--
	}
	if i == len(curve) {
		return together.Seconds()
	}
	return max(moment(i)-window/2, 0).Seconds()
}
