package grain

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
)

func TestParseStep(t *testing.T) {
	st, err := ParseStep(Step{20, 1000}.String())
	require.NoError(t, err)
	require.Equal(t, Step{20, 1000}, st)
	for _, bad := range []string{"", "20", "20:", "20:0", "-1:5", "a:5"} {
		_, err := ParseStep(bad)
		require.EqualError(t, err, `step "`+bad+`": want inner products and sections, like 20:1000`)
	}
}

// All ways to run the sections give the same results. Measure checks that.
func TestMeasure(t *testing.T) {
	o := Options{Work: []float64{1e-6, 20e-6}, Tasks: 2, Bytes: 32, Time: time.Millisecond, Rounds: 2}
	run := func(ctx context.Context, w Way, steps []Step, o Options) (out Outcome, err error) {
		replicas := 1
		if w.Flags[1] == "2" {
			replicas = 2
		}
		err = intra.Run(ctx, intra.Spec{Ranks: 1, Replicas: replicas}, func(p *intra.Process) error {
			got, err := Program(p, steps, o.Tasks, o.Bytes, w.Plain)
			if p.Replica() == 0 {
				out = got
			}
			return err
		})
		return out, err
	}
	peer := func(_ context.Context, threads int, _ Options) (plain, parallel []float64, err error) {
		return []float64{1e-6, 20e-6}, []float64{2e-6, 21e-6 / float64(threads)}, nil
	}
	results, err := Measure(t.Context(), run, peer, o)
	require.NoError(t, err)
	require.Len(t, results, len(Ways)+len(Peers))
	for _, r := range results {
		require.Len(t, r.Seconds, 2, r.Way)
		for round := range r.Seconds {
			require.Len(t, r.Seconds[round], 2, r.Way)
			require.Positive(t, r.Seconds[round][1], r.Way)
			require.Len(t, r.Work[round], 2, r.Way)
		}
	}
	var out bytes.Buffer
	require.NoError(t, Table(&out, o, results))
	require.Contains(t, out.String(), "  peer, 1 thread             2.00  0.50 [0.50 0.50]  of 1.00\n")

	_, err = Measure(t.Context(), func(context.Context, Way, []Step, Options) (Outcome, error) {
		return Outcome{}, errors.New("no room")
	}, nil, o)
	require.EqualError(t, err, "plain loop: no room")
}

func TestMETG(t *testing.T) {
	work := []float64{1e-6, 4e-6, 16e-6}
	for name, tt := range map[string]struct {
		seconds []float64
		cores   int
		want    float64
	}{
		"between two sizes": {[]float64{4e-6, 16e-6 / 3, 17e-6}, 1, 2e-6},
		"of a core":         {[]float64{2e-6, 8.0 / 3 * 1e-6, 9e-6}, 2, 1e-6},
		"above a bad size":  {[]float64{1e-6, 16e-6, 64e-6 / 3}, 1, 8e-6},
		"below all":         {[]float64{1e-6, 4e-6, 16e-6}, 1, 0},
		"above all":         {[]float64{4e-6, 16e-6, 64e-6}, 1, above},
	} {
		t.Run(name, func(t *testing.T) {
			r := Result{Cores: tt.cores, Seconds: [][]float64{tt.seconds}, Work: [][]float64{work}}
			require.InDelta(t, tt.want, r.METG().Median, 1e-12)
		})
	}
}

// The peak is that of one core in the same round, and sizes ascend.
func TestMeasureGraphs(t *testing.T) {
	o := GraphOptions{Iters: []int{100, 10}, Width: 4, Time: time.Millisecond, Rounds: 2}
	run := func(_ context.Context, w GraphWay, args ...string) (GraphRun, error) {
		r := GraphRun{Task: 4, Flops: 8e9, XSHA256: args[2]} // 100 iterations
		if args[8] == "10" {
			r = GraphRun{Task: 1, Flops: 2e9, XSHA256: args[2]}
		}
		if w.Replicas == 2 {
			r.Task, r.Flops = r.Task*0.75, r.Flops/0.75
		}
		if w.Ranks == 2 {
			r.Flops *= 2
		}
		return r, nil
	}
	graphs, err := MeasureGraphs(t.Context(), run, o)
	require.NoError(t, err)
	all := GraphSummaries(o, graphs)
	require.Len(t, all, len(Patterns)*len(GraphWays))
	for i, want := range [][]float64{{0.25, 1, 1e-6, 4e-6}, {0.25, 1, 1e-6, 4e-6}, {0.125 / 0.75, 0.5 / 0.75, 1.5e-6, 6e-6}} {
		s := all[i].Sizes
		require.InDeltaSlice(t, want, []float64{s[0].Efficiency.Median, s[1].Efficiency.Median, s[0].Granularity.Median, s[1].Granularity.Median}, 1e-9)
	}
	require.InDelta(t, 1.59e-6, all[0].METG.Median, 0.01e-6)
	var out bytes.Buffer
	require.NoError(t, GraphTable(&out, o, all))
	require.Contains(t, out.String(), "trivial\n  one rank                 1.59 [1.59 1.59]  10: 1.00, 0.25  100: 4.00, 1.00\n")

	n := 0
	_, err = MeasureGraphs(t.Context(), func(context.Context, GraphWay, ...string) (GraphRun, error) {
		n++
		return GraphRun{Task: 1, Flops: 1, XSHA256: string(rune('a' + n/3))}, nil
	}, o)
	require.ErrorContains(t, err, "they must not differ")
}
