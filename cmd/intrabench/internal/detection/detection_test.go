package detection

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

var update = flag.Bool("update", false, "write the golden files anew")

// made is a lab in which every step takes a known time.
type made struct {
	losses []Kind
	runs   []int // rarer of each run
	spoil  func(w *Work)
}

func (l *made) Lose(_ context.Context, k Kind) (float64, error) {
	l.losses = append(l.losses, k)
	return float64(k+1)/10 + float64(len(l.losses))/1000, nil
}

func (l *made) Work(_ context.Context, passes, rarer int, _ time.Duration) (Work, error) {
	l.runs = append(l.runs, rarer)
	w := Work{Outcome{float64(passes) / 100, 7}, 0.04, 2, 400, 40e3}
	if rarer == 1 {
		w.Seconds *= 1.01
		w.WatchCPU, w.Datagrams, w.Bytes = 0.05, 4000, 400e3
	}
	if l.spoil != nil {
		l.spoil(&w)
	}
	return w, nil
}

func TestMeasureAlternates(t *testing.T) {
	lab := new(made)
	m, err := Measure(t.Context(), lab, Options{Rounds: 2, Runs: 3, Rarer: 10, Time: 2 * time.Second})
	require.NoError(t, err)
	require.Equal(t, []Kind{ProcessHere, Process, Host, Link, Process, Host, Link, ProcessHere}, lab.losses)
	require.Equal(t, []int{1, 1, 10, 10, 1, 1, 10}, lab.runs, "the first run measures how long a pass takes")
	require.Equal(t, "kill -9 of all on a host", m.Losses[Host].Loss)
	require.InDeltaSlice(t, []float64{0.303, 0.306}, m.Losses[Host].Seconds, 1e-9)
	require.Equal(t, 198, m.Cost.Passes)
	require.InDelta(t, 1.01, m.Cost.Ratio.Median, 1e-9)
	require.InDelta(t, 0.025, m.Cost.UsualShare.Median, 1e-9)
	require.InDelta(t, 0.02, m.Cost.RareShare.Median, 1e-9)

	b, err := json.Marshal(m)
	require.NoError(t, err)
	var back Measurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)

	m, err = Measure(t.Context(), new(made), Options{Rounds: 1})
	require.NoError(t, err)
	require.Nil(t, m.Cost)
	m, err = Measure(t.Context(), new(made), Options{Runs: 1, Rarer: 2, Time: time.Second})
	require.NoError(t, err)
	require.Empty(t, m.Losses)
	require.NotNil(t, m.Cost)
}

func TestTable(t *testing.T) {
	m, err := Measure(t.Context(), new(made), Options{Rounds: 3, Runs: 2, Rarer: 10, Time: time.Second})
	require.NoError(t, err)
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
	n := 0.0
	_, err := Measure(t.Context(), &made{spoil: func(w *Work) { n++; w.Sum = n }}, Options{Runs: 1, Rarer: 2, Time: time.Second})
	require.ErrorIs(t, err, errRun)
	require.ErrorContains(t, err, "the results 2 and 3")
	_, err = Measure(t.Context(), tooEarly{}, Options{Rounds: 1})
	require.ErrorIs(t, err, errRun)
}

// tooEarly reports losses that were handled before they happened.
type tooEarly struct{}

func (tooEarly) Lose(context.Context, Kind) (float64, error) { return -0.001, nil }

func (tooEarly) Work(context.Context, int, int, time.Duration) (Work, error) {
	return Work{}, errors.New("unexpected loss")
}

func TestReport(t *testing.T) {
	began := time.Now()
	parse := func(failures string) (float64, error) {
		r := new(report)
		joined, err := json.Marshal(began.Add(-2 * time.Second))
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal([]byte(`{"joined":`+string(joined)+`,"failures":[`+failures+`]}`), r))
		return r.handled(began)
	}
	s, err := parse(`{"process":"1.1","handled_seconds":{"0.0":2.25,"0.1":2.5,"1.0":2.125}}`)
	require.NoError(t, err)
	require.InDelta(t, 0.5, s, 1e-6)
	for name, failures := range map[string]string{
		"nobody":                          ``,
		"somebody else":                   `{"process":"0.1","handled_seconds":{"0.0":2.25,"0.1":2.5,"1.0":2.125}}`,
		"two":                             `{"process":"1.1","handled_seconds":{}},{"process":"0.1","handled_seconds":{}}`,
		"one survivor has not handled it": `{"process":"1.1","handled_seconds":{"0.0":2.25,"1.0":2.125}}`,
	} {
		_, err := parse(failures)
		require.ErrorIs(t, err, errRun, name)
	}
}

func TestLauncherOutput(t *testing.T) {
	r := &run{said: trial.NewSaid(), ended: make(chan struct{})}
	go func() {
		for _, text := range []string{"intrarun:    0.000 1.0 has joined: pro", "cess 12 on a\nintrarun:    0.001 1.1 has joined: process 345 on b\n", "all have joined\n"} {
			_, _ = r.said.Write([]byte(text))
		}
	}()
	require.NoError(t, r.await(t.Context(), "all have joined"))
	pid, err := r.pid("1.1")
	require.NoError(t, err)
	require.Equal(t, 345, pid)
	_, err = r.pid("0.1")
	require.ErrorIs(t, err, errRun)
	close(r.ended)
	require.NoError(t, r.await(t.Context(), "1.0 has joined"), "the launcher has printed that")
	require.ErrorIs(t, r.await(t.Context(), "more"), trial.ErrOutput)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.ended = nil
	require.ErrorIs(t, r.await(ctx, "more"), context.Canceled)
}

func TestCPUTime(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	require.NoError(t, err)
	require.Positive(t, before)
	for {
		after, err := cpuTime(os.Getpid())
		require.NoError(t, err)
		if after > before+10*time.Millisecond {
			break
		}
	}
	_, err = cpuTime(1<<22 - 1) // no process can have this number
	require.ErrorContains(t, err, "process 4194303")

	from := used{at: time.Unix(10, 0), watch: time.Second, job: 5 * time.Second, datagrams: 100, bytes: 1000}
	to := used{at: time.Unix(14, 0), watch: 2 * time.Second, job: 13 * time.Second, datagrams: 500, bytes: 9000}
	var w Work
	to.since(from, &w)
	require.Equal(t, Work{WatchCPU: 0.25, JobCPU: 2, Datagrams: 100, Bytes: 2000}, w)

	_, err = cpuTimes([]int{os.Getpid(), 1<<22 - 1})
	require.ErrorContains(t, err, "process 4194303")
}
