package recoverybench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// Options selects the measurements, and how often they are repeated.
type Options struct {
	NX, NY    int
	NZ        []int         // points in z, one for each size of state
	Time      time.Duration // approximate time of a run without failures
	Rounds    int
	Failures  int      // maximum number of failures in a run
	Every     []uint64 // safe points from one backup to the next
	Bandwidth func(ctx context.Context) (float64, error)
	Before    func(what string) // called before each round; may be nil
}

// Measurement holds all results.
type Measurement struct {
	Bandwidth spread.Spread `json:"link_bytes_per_second"`
	Returns   []Return      `json:"returns"`
	Costs     []Cost        `json:"costs"`
	Losses    []Loss        `json:"losses"`
}

// Return is the replacement of a replica of the only rank, for one size of state.
type Return struct {
	Problem
	Bytes    float64       `json:"bytes"`            // bytes of state
	Joined   spread.Spread `json:"joined_seconds"`   // seconds from the death until the joiner is a member
	Sharing  spread.Spread `json:"sharing_seconds"`  // seconds from the death until it has run a task
	Transfer float64       `json:"transfer_seconds"` // seconds that the link needs for the state
	// Slowdown is the time from task to task of the survivor between the death and the join,
	// divided by that time in a run without replacement.
	Slowdown spread.Spread `json:"slowdown"`
}

// Cost is the time of a job without failures that is prepared for failures, relative to an
// unprepared job.
type Cost struct {
	Way     string        `json:"way"`
	Seconds spread.Spread `json:"seconds"`
	Ratio   spread.Spread `json:"ratio"` // spread of the quotients of each round
}

// Loss is the efficiency that remains when a number of processes die, with and without
// replacement. It is the time of the failure-free run over the time with failures. A job that
// loses its rank starts again.
type Loss struct {
	Failures int           `json:"failures"`
	Replaced spread.Spread `json:"replaced"`
	Left     spread.Spread `json:"left"`
	Restarts int           `json:"restarts"` // restarts without replacement, in all rounds
	Again    int           `json:"again"`    // restarts with replacement, in all rounds
	Missed   int           `json:"missed"`   // failures that were scheduled after the end, in all runs: E is less meaningful then
}

// mostPasses bounds the number of passes. After more of them, the residual of HPCCG underflows
// and HPCCG stops.
const mostPasses = 600

// Measure makes all measurements.
func Measure(ctx context.Context, run Runner, o Options) (*Measurement, error) {
	m := &Measurement{}
	var rates []float64
	for range o.Rounds {
		rate, err := o.Bandwidth(ctx)
		if err != nil {
			return nil, fmt.Errorf("measure the link: %w", err)
		}
		rates = append(rates, rate)
	}
	m.Bandwidth = spread.Of(rates)
	for _, nz := range o.NZ {
		r, err := o.returns(ctx, run, nz)
		if err != nil {
			return nil, fmt.Errorf("the return of a replica with -nz %d: %w", nz, err)
		}
		r.Transfer = r.Bytes / m.Bandwidth.Median
		m.Returns = append(m.Returns, *r)
	}
	var err error
	if m.Costs, err = o.costs(ctx, run); err != nil {
		return nil, fmt.Errorf("the cost of backups: %w", err)
	}
	if m.Losses, err = o.losses(ctx, run); err != nil {
		return nil, fmt.Errorf("efficiency under failures: %w", err)
	}
	return m, nil
}

func (o *Options) tell(format string, args ...any) {
	if o.Before != nil {
		o.Before(fmt.Sprintf(format, args...))
	}
}

// calibrate determines how many passes a job makes in the time Time.
func (o *Options) calibrate(ctx context.Context, run Runner, j Job, nz int) (Problem, error) {
	pr := Problem{o.NX, o.NY, nz, 21}
	r, err := run(ctx, j, pr)
	if err != nil {
		return pr, err
	}
	pr.Iters = 1 + min(max(int(o.Time.Seconds()/(r.Seconds/20)), 20), mostPasses)
	return pr, nil
}

// returns kills a replica early in the run, with and without replacement.
func (o *Options) returns(ctx context.Context, run Runner, nz int) (*Return, error) {
	pr, err := o.calibrate(ctx, run, Job{Ranks: 1, Replicas: 1}, nz)
	if err != nil {
		return nil, err
	}
	var joined, sharing, slower []float64
	out := &Return{Problem: pr}
	for round := range o.Rounds {
		o.tell("round %d of %d: a replica with -nz %d is lost", round+1, o.Rounds, nz)
		kill := []string{"-kill", "0.1@section:30"}
		with, without := Job{1, 2, append([]string{"-replace"}, kill...), true}, Job{1, 2, kill, true}
		a, b, err := inTurn(ctx, run, round, with, without, pr)
		if err != nil {
			return nil, err
		}
		if len(a.Replacements) == 0 || a.Code != 0 {
			return nil, fmt.Errorf("no replacement joined within %.1f s: give a longer -time", a.Wall)
		}
		r := a.Replacements[0]
		out.Bytes = r.Bytes
		joined = append(joined, r.Joined-r.Died)
		i := slices.IndexFunc(a.Tasks[1], func(at float64) bool { return at > r.Joined })
		if i < 0 {
			return nil, fmt.Errorf("the joiner ran no task until the end, after %.1f s: give a longer -time", a.Wall)
		}
		sharing = append(sharing, a.Tasks[1][i]-r.Died)
		if len(b.Deaths) == 0 {
			return nil, fmt.Errorf("%w: no process died", trial.ErrOutput)
		}
		beside, alone := perTask(a.Tasks[0], r.Died, r.Joined), perTask(b.Tasks[0], b.Deaths[0], b.Wall)
		if beside == 0 || alone == 0 {
			return nil, fmt.Errorf("%w: the survivor ran too few tasks", trial.ErrOutput)
		}
		slower = append(slower, beside/alone)
	}
	out.Joined, out.Sharing, out.Slowdown = spread.Of(joined), spread.Of(sharing), spread.Of(slower)
	return out, nil
}

// perTask returns the average time from one task to the next between two moments. It returns 0
// if there are too few tasks.
func perTask(at []float64, from, to float64) float64 {
	first, last, n := 0.0, 0.0, 0
	for _, t := range at {
		if t < from || t > to {
			continue
		}
		if n == 0 {
			first = t
		}
		last, n = t, n+1
	}
	if n < 2 {
		return 0
	}
	return (last - first) / float64(n-1)
}

// inTurn runs two jobs, which must have the same result. Their order alternates from round to
// round.
func inTurn(ctx context.Context, run Runner, round int, a, b Job, pr Problem) (ra, rb Run, err error) {
	if round%2 == 1 {
		rb, ra, err = inTurn(ctx, run, 0, b, a, pr)
		return ra, rb, err
	}
	if ra, err = run(ctx, a, pr); err != nil {
		return ra, rb, err
	}
	if rb, err = run(ctx, b, pr); err != nil {
		return ra, rb, err
	}
	if ra.XSHA256 != rb.XSHA256 {
		return ra, rb, fmt.Errorf("%w: %v came to %.12s, %v to %.12s", trial.ErrOutput, a.Flags, ra.XSHA256, b.Flags, rb.XSHA256)
	}
	return ra, rb, nil
}

// costs measures backups and checkpoint files, in a job of two ranks without failures.
func (o *Options) costs(ctx context.Context, run Runner) ([]Cost, error) {
	type way struct {
		name  string
		flags []string
	}
	ways := []way{{"none", nil}, {"replacement only", []string{"-replace"}}}
	for _, k := range o.Every {
		ways = append(ways, way{fmt.Sprintf("backup, k = %d", k), []string{"-replace", "-backup", strconv.FormatUint(k, 10)}})
	}
	ways = append(ways, way{"backup, auto", []string{"-replace", "-backup", "auto"}})
	for _, k := range o.Every {
		ways = append(ways, way{fmt.Sprintf("files, k = %d", k), []string{"-checkpoint", dirMark + "/state", "-checkpoint-every", strconv.FormatUint(k, 10)}})
	}
	pr, err := o.calibrate(ctx, run, Job{Ranks: 2, Replicas: 1}, o.NZ[0])
	if err != nil {
		return nil, err
	}
	seconds := make([][]float64, len(ways))
	hash := ""
	for round := range o.Rounds {
		o.tell("round %d of %d: backups and files", round+1, o.Rounds)
		for i := range ways {
			w := (i + round) % len(ways)
			r, err := run(ctx, Job{Ranks: 2, Replicas: 1, Flags: ways[w].flags}, pr)
			if err != nil {
				return nil, err
			}
			if hash == "" {
				hash = r.XSHA256
			}
			if r.Code != 0 || r.XSHA256 != hash {
				return nil, fmt.Errorf("%w: with %s it ended with %d and %.12s, before with %.12s", trial.ErrOutput, ways[w].name, r.Code, r.XSHA256, hash)
			}
			seconds[w] = append(seconds[w], r.Seconds)
		}
	}
	var all []Cost
	for w, s := range seconds {
		all = append(all, Cost{ways[w].name, spread.Of(s), ratios(s, seconds[0])})
	}
	return all, nil
}

func ratios(of, to []float64) spread.Spread {
	var q []float64
	for i := range of {
		q = append(q, of[i]/to[i])
	}
	return spread.Of(q)
}

// losses kills an increasing number of processes, of replicas 1 and 0 in turn. The times of
// the kills divide the failure-free run evenly.
func (o *Options) losses(ctx context.Context, run Runner) ([]Loss, error) {
	pair := Job{Ranks: 1, Replicas: 2}
	pr, err := o.calibrate(ctx, run, pair, o.NZ[0])
	if err != nil {
		return nil, err
	}
	all := make([]Loss, o.Failures)
	replaced, left := make([][]float64, o.Failures), make([][]float64, o.Failures)
	for round := range o.Rounds {
		o.tell("round %d of %d: failures", round+1, o.Rounds)
		free, err := run(ctx, pair, pr)
		if err != nil {
			return nil, err
		}
		for i := range all {
			l := &all[i]
			l.Failures = i + 1
			var kills []float64
			for k := range l.Failures {
				kills = append(kills, free.Wall*float64(k+1)/float64(l.Failures+1))
			}
			for _, way := range []struct {
				flags []string
				e     *[]float64
				again *int
			}{{[]string{"-replace"}, &replaced[i], &l.Again}, {nil, &left[i], &l.Restarts}} {
				t, err := toTheEnd(ctx, run, way.flags, kills, pr, free.XSHA256)
				if err != nil {
					return nil, err
				}
				*way.e = append(*way.e, free.Wall/t.took)
				*way.again += t.again
				l.Missed += t.missed
			}
		}
	}
	for i := range all {
		all[i].Replaced, all[i].Left = spread.Of(replaced[i]), spread.Of(left[i])
	}
	return all, nil
}

// toEnd is the time that a job needed to finish, including restarts.
type toEnd struct {
	took   float64 // seconds of all runs
	again  int     // number of restarts of the job
	missed int     // deaths scheduled after the end
}

// toTheEnd runs a pair of replicas. One of them dies at each of the times kills. If both are
// lost, the job is restarted.
func toTheEnd(ctx context.Context, run Runner, flags []string, kills []float64, pr Problem, hash string) (t toEnd, err error) {
	died := 0
	for {
		j := Job{Ranks: 1, Replicas: 2, Flags: slices.Clone(flags)}
		for i, at := range kills[died:] {
			when := time.Duration(max(at-t.took, 0.001) * float64(time.Second)).Round(time.Microsecond)
			j.Flags = append(j.Flags, "-kill", fmt.Sprintf("0.%d@%v", (i+1)%2, when))
		}
		r, err := run(ctx, j, pr)
		if err != nil {
			return t, err
		}
		t.took += r.Wall
		died = min(died+len(r.Deaths), len(kills))
		if r.Code == lostRank {
			t.again++
			continue
		}
		if r.XSHA256 != hash {
			return t, fmt.Errorf("%w: %v came to %.12s, without failures it was %.12s", trial.ErrOutput, j.Flags, r.XSHA256, hash)
		}
		t.missed = len(kills) - died
		return t, nil
	}
}
