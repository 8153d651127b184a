package figures

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

const linksReport = `{"processes":[{},{}],"task_types":{
	"example.com/a.v2/heat.relax":{"run":9,"seconds":5,"section_seconds":6,"wait_seconds":1,"update_bytes":80,"decision":"share","decided_after":4},
	"example.com/a.v2/heat.Grid.copy":{"run":9,"seconds":2,"section_seconds":4,"update_bytes":8,"stored":3,"decision":"share"},
	"main.idle":{"run":0,"seconds":0}}}`

func TestTaskSamples(t *testing.T) {
	rep, err := parseReport([]byte(linksReport))
	require.NoError(t, err)
	require.Equal(t, map[string]TaskSample{
		"relax":     {Seconds: 2.5, SectionSeconds: 3, WaitSeconds: 0.5, UpdateBytes: 40, Decision: "share", DecidedAfter: 4},
		"Grid.copy": {Seconds: 1, SectionSeconds: 2, UpdateBytes: 4, Decision: "direct"},
	}, taskSamples(rep))
}

func TestForced(t *testing.T) {
	c, err := Throttled("3GB/s")
	require.NoError(t, err)
	forced := Forced(Beside(c)[1])
	require.Equal(t, Config{Name: "static at 3GB/s", Ranks: 1, Replicas: 2, Limit: 3e9, Base: "native at 3GB/s",
		Flags: []string{"-sched", "static", "-direct=off", "-limit", "3GB/s"}}, forced)
	require.False(t, forced.shares(), "it has no choice")
	require.True(t, c.shares())
}

// overLinks replaces intrarun. The bodies of push take 2 s, and its updates are 2 GB for each
// process. No transfer is hidden, and at 1 GB/s the replicas share although they should not.
func overLinks(t *testing.T) *GTCMeasurement {
	var more []Config
	for _, l := range []string{"1GB/s", "4GB/s"} {
		c, err := Throttled(l)
		require.NoError(t, err)
		more = append(more, c, Forced(c))
	}
	run := fakeGTC(false)
	m, err := MeasureGTC(t.Context(), func(ctx context.Context, c Config, pr GTCProblem) (Trial, error) {
		tr, err := run(ctx, c, pr)
		push := TaskSample{Seconds: 2, SectionSeconds: 2}
		if c.Replicas > 1 && c.Name != Replicated.Name {
			push = TaskSample{Seconds: 1, SectionSeconds: 1, UpdateBytes: 2e9, Decision: "share", DecidedAfter: 3}
			if c.Limit > 0 {
				push.WaitSeconds = push.UpdateBytes / c.Limit
				push.SectionSeconds += push.WaitSeconds
			}
		}
		charge := TaskSample{Seconds: 1, SectionSeconds: 1} // the program does not share it
		tr.Tasks = map[string]TaskSample{"push": push, "charge": charge, "tiny": {SectionSeconds: 1e-6, UpdateBytes: 1}}
		return tr, err
	}, GTCProblem{Steps: 3}, 3, false, GTCConfigs(false, more...), nil)
	require.NoError(t, err)
	return m
}

func TestLinks(t *testing.T) {
	m := overLinks(t)
	require.Equal(t, []SectionTime{
		{"push", "send", spread.Of([]float64{0.5})}, {"push", "auto", spread.Of([]float64{0.5})},
		{"push", "send at 1GB/s", spread.Of([]float64{1.5})}, {"push", "send at 4GB/s", spread.Of([]float64{0.75})},
	}, m.Sections[:4], "what decides")
	require.Equal(t, "charge", m.Sections[4].Task)
	require.Len(t, m.Sections, 8, "without types that take almost no time")
	require.Len(t, m.Links, 3, "one type of task, without a limit and with two")
	for i, want := range []struct {
		config               string
		transfer, wait, loss float64
		hidden               bool
	}{
		{"send", 0, 0, 0, true},
		{"send at 1GB/s", 2, 2. / 3, 0.5, false},
		{"send at 4GB/s", 0.5, 1. / 3, 0, true},
	} {
		l := m.Links[i]
		require.Equal(t, []any{"push", want.config}, []any{l.Task, l.Config})
		require.Equal(t, 1.0, l.Half)
		require.Equal(t, want.transfer, l.Transfer, l.Config)
		require.InDelta(t, want.wait, l.Wait, 1e-9, l.Config)
		require.InDelta(t, want.loss, l.Loss.Median, 1e-9, l.Config)
		require.Equal(t, want.hidden, l.Hidden(), l.Config)
		require.Equal(t, map[string]int{"share": 3}, l.Decision)
		require.Equal(t, 3.0, l.After)
	}
	var out bytes.Buffer
	require.NoError(t, m.Table(&out, 2))
	golden(t, out.Bytes(), "gtc_links.txt")

	b, err := json.Marshal(m)
	require.NoError(t, err)
	var back GTCMeasurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)

	curves, err := m.curvePlot("GTC")
	require.NoError(t, err)
	at := texts(curves)
	for _, tick := range []string{"1", "2", "unlimited"} {
		require.Contains(t, at, tick)
	}
	require.Greater(t, at["unlimited"].X, at["2"].X)
}

// Without limits the output contains nothing about links.
func TestNoLinks(t *testing.T) {
	m := measuredGTC(t, false)
	require.Empty(t, m.Links)
	require.Empty(t, m.Models)
	var out bytes.Buffer
	require.NoError(t, m.linkTable(&out))
	require.Empty(t, out.String())
}
