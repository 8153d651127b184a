package recoverybench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

var update = flag.Bool("update", false, "write the golden files anew")

const line = `{"ranks":1,"x_sha256":"ab","seconds":{"total":2.5}}`

const report = `{"exit_code":0,"wall_seconds":3,"failures":[{"process":"0.1","at_seconds":0.5,"cause":"injected"}],
	"replacements":[{"process":"0.1","bytes":6000000,"died_seconds":0.5,"joined_seconds":0.75,"seconds":0.25}],
	"checkpoint":{"dir":"d","sets":[{"set":1},{"set":2}]}}`

const trace = `{"traceEvents":[
	{"name":"thread_name","ph":"M","ts":0,"pid":1,"tid":7,"args":{"name":"0.0 on a"}},
	{"name":"dot","cat":"task","ph":"X","ts":1000000,"dur":5,"pid":1,"tid":7},
	{"name":"thread_name","ph":"M","ts":0,"pid":1,"tid":2,"args":{"name":"0.1"}},
	{"name":"dead: injected","cat":"death","ph":"i","ts":1500000,"pid":1,"tid":2},
	{"name":"dot","cat":"task","ph":"X","ts":2000000,"dur":5,"pid":1,"tid":2},
	{"name":"thread_name","ph":"M","ts":0,"pid":2,"tid":3,"args":{"name":"1.0"}},
	{"name":"dot","cat":"task","ph":"X","ts":2000000,"dur":5,"pid":2,"tid":3},
	{"name":"section","cat":"section","ph":"X","ts":2000000,"dur":5,"pid":1,"tid":2}]}`

func TestParse(t *testing.T) {
	r, err := parse([]byte(line), []byte(report))
	require.NoError(t, err)
	require.Equal(t, Run{Wall: 3, Seconds: 2.5, XSHA256: "ab", Replacements: []trial.Replacement{{Bytes: 6e6, Died: 0.5, Joined: 0.75}}, Deaths: []float64{0.5}, Sets: 2}, r)
	require.NoError(t, r.addTrace([]byte(trace)))
	require.Equal(t, map[int][]float64{0: {0}, 1: {1}}, r.Tasks)

	r, err = parse(nil, []byte(`{"exit_code":3,"wall_seconds":1}`))
	require.NoError(t, err, "a lost rank prints nothing")
	require.Equal(t, lostRank, r.Code)
	require.ErrorContains(t, r.addTrace([]byte(trace)), "shows no death")
	for _, c := range []struct{ line, report, want string }{
		{"pass 1", report, `HPCCG printed "pass 1"`},
		{strings.Replace(line, "2.5", "0", 1), report, "spent 0 seconds"},
		{line, "", "the report of intrarun is"},
		{line, `{}`, "it took 0 seconds"},
	} {
		_, err := parse([]byte(c.line), []byte(c.report))
		require.ErrorIs(t, err, trial.ErrOutput)
		require.ErrorContains(t, err, c.want)
	}
	require.ErrorIs(t, r.addTrace([]byte("{")), trial.ErrOutput)
}

// cluster replaces intrarun. A pass takes 10 ms, or 15 ms on one process alone. A replacement
// takes 0.1 s, during which the survivor is half as fast.
type cluster struct {
	jobs []Job
	hash string
}

func (c *cluster) run(_ context.Context, j Job, pr Problem) (Run, error) {
	c.jobs = append(c.jobs, j)
	r := Run{XSHA256: fmt.Sprint(pr, c.hash)}
	perPass := 0.010
	for i, f := range j.Flags {
		if f == "-backup" || f == "-checkpoint-every" {
			perPass *= 1.2
		}
		if f != "-kill" {
			continue
		}
		_, when, _ := strings.Cut(j.Flags[i+1], "@")
		d, err := time.ParseDuration(when)
		if err != nil { // the kill is at a section
			d = 200 * time.Millisecond
		}
		r.Deaths = append(r.Deaths, d.Seconds())
	}
	replace := slices.Contains(j.Flags, "-replace")
	if len(r.Deaths) > 1 && !replace {
		r.Deaths = r.Deaths[:2]
		r.Code, r.Wall = lostRank, r.Deaths[1]
		return r, nil
	}
	r.Seconds = perPass * float64(pr.Iters-1)
	if len(r.Deaths) > 0 && !replace {
		r.Seconds = r.Deaths[0] + (r.Seconds-r.Deaths[0])*1.5
	}
	for _, at := range r.Deaths {
		if replace {
			r.Seconds += 0.1
			r.Replacements = append(r.Replacements, trial.Replacement{Bytes: float64(24 * pr.NX * pr.NY * pr.NZ), Died: at, Joined: at + 0.1})
		}
	}
	r.Wall = r.Seconds
	if j.Traced {
		r.Tasks = map[int][]float64{1: {0.01, 0.35}}
		for at := 0.0; at < r.Wall; at += 0.001 {
			if replace && at > r.Deaths[0] && at < r.Deaths[0]+0.1 {
				at += 0.001
			}
			r.Tasks[0] = append(r.Tasks[0], at)
		}
	}
	return r, nil
}

func options() Options {
	return Options{NX: 10, NY: 10, NZ: []int{10, 1000}, Time: time.Second, Rounds: 3, Failures: 3, Every: []uint64{1, 10},
		Bandwidth: func(context.Context) (float64, error) { return 1e9, nil }}
}

func TestMeasure(t *testing.T) {
	c := &cluster{}
	m, err := Measure(t.Context(), c.run, options())
	require.NoError(t, err)
	require.Len(t, m.Returns, 2)
	r := m.Returns[1]
	require.Equal(t, 2.4e6, r.Bytes)
	require.Equal(t, 0.0024, r.Transfer)
	require.InDelta(t, 0.1, r.Joined.Median, 1e-9)
	require.InDelta(t, 0.15, r.Sharing.Median, 1e-9)
	require.InDelta(t, 2, r.Slowdown.Median, 0.1)
	require.Equal(t, 101, r.Iters)

	require.Equal(t, "none", m.Costs[0].Way)
	for _, cost := range m.Costs {
		want := 1.0
		if cost.Way != "none" && cost.Way != "replacement only" {
			want = 1.2
		}
		require.InDelta(t, want, cost.Ratio.Median, 1e-9, cost.Way)
	}
	require.Len(t, m.Losses, 3)
	require.InDelta(t, 1/1.1, m.Losses[0].Replaced.Median, 1e-3)
	require.InDelta(t, 1/1.25, m.Losses[0].Left.Median, 1e-3)
	require.Zero(t, m.Losses[0].Restarts)
	// The second failure loses the rank at two thirds of the run, and the run begins again.
	require.InDelta(t, 1/(2./3+1), m.Losses[1].Left.Median, 1e-3)
	require.Equal(t, 3, m.Losses[1].Restarts)
	require.InDelta(t, 1/1.2, m.Losses[1].Replaced.Median, 1e-3)
	// With three failures, the second attempt has one failure, a quarter after its beginning.
	require.InDelta(t, 1/(0.5+0.25+0.75*1.5), m.Losses[2].Left.Median, 1e-3)
	for _, l := range m.Losses {
		require.Zero(t, l.Again+l.Missed)
	}
	b, err := json.Marshal(m)
	require.NoError(t, err)
	var back Measurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)
}

func TestTable(t *testing.T) {
	m, err := Measure(t.Context(), (&cluster{}).run, options())
	require.NoError(t, err)
	m.Losses[2].Missed = 2
	var out bytes.Buffer
	require.NoError(t, m.Table(&out))
	golden := filepath.Join("testdata", "table.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), out.String())
}

// Measurements that cannot be compared give an error.
func TestMeasureRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(j Job, r *Run)
		want  string
	}{
		"another result of a pair":   {func(j Job, r *Run) { r.XSHA256 += strings.Join(j.Flags[:min(1, len(j.Flags))], "") }, "came to"},
		"another result with files":  {func(j Job, r *Run) { r.XSHA256 += fmt.Sprint(slices.Contains(j.Flags, "-checkpoint")) }, "with files, k = 1 it ended with 0"},
		"another result after kills": {func(j Job, r *Run) { r.XSHA256 += fmt.Sprint(!j.Traced && slices.Contains(j.Flags, "-kill")) }, "without failures it was"},
		"no replacement":             {func(_ Job, r *Run) { r.Replacements = nil }, "no replacement joined within"},
		"no work for the joiner":     {func(_ Job, r *Run) { delete(r.Tasks, 1) }, "ran no task"},
		"an idle survivor":           {func(_ Job, r *Run) { delete(r.Tasks, 0) }, "too few tasks"},
	} {
		t.Run(name, func(t *testing.T) {
			cl := &cluster{}
			_, err := Measure(t.Context(), func(ctx context.Context, j Job, pr Problem) (Run, error) {
				r, err := cl.run(ctx, j, pr)
				c.spoil(j, &r)
				return r, err
			}, options())
			require.ErrorContains(t, err, c.want)
		})
	}
	broken := errors.New("no link")
	o := options()
	o.Bandwidth = func(context.Context) (float64, error) { return 0, broken }
	_, err := Measure(t.Context(), (&cluster{}).run, o)
	require.ErrorIs(t, err, broken)
}
