package figures

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

const proxyLine = `{"benchmark":"CG","zeta":8.59,"verified":true,"seconds":4,"mops":7}`

const proxyReport = `{"wall_seconds":5,"processes":[{},{}],"task_types":{
	"example.com/npb/cg.multiply":{"run":9,"received":7,"seconds":5,"wait_seconds":1,"section_seconds":7,"update_bytes":80,"decision":"share"},
	"main.second":{"run":9,"seconds":2,"wait_seconds":1,"decision":"share"},
	"main.idle":{"run":0,"seconds":0}}}`

func TestParseProxy(t *testing.T) {
	got, err := parseProxy([]byte(proxyLine), []byte(proxyReport))
	require.NoError(t, err)
	require.Equal(t, map[string]Sample{
		"multiply": {Seconds: 3.5, WaitSeconds: 0.5, UpdateBytes: 80, Sections: true, Run: 9, Received: 7, Decision: "share"},
		"second":   {Seconds: 1.5, WaitSeconds: 0.5, Run: 9, Decision: "share"}, // no section begins with it
		Total:      {Seconds: 4, WaitSeconds: 1, UpdateBytes: 80},
		Wall:       {Seconds: 5, WaitSeconds: 1, UpdateBytes: 80},
	}, got.Samples)
	slower, err := parseProxy([]byte(strings.Replace(proxyLine, `"seconds":4,"mops":7`, `"seconds":5,"mops":6,"times":{}`, 1)), []byte(proxyReport))
	require.NoError(t, err)
	require.Equal(t, got.StateSHA256, slower.StateSHA256)
	other, err := parseProxy([]byte(strings.Replace(proxyLine, "8.59", "8.58", 1)), []byte(proxyReport))
	require.NoError(t, err)
	require.NotEqual(t, got.StateSHA256, other.StateSHA256)
	for _, c := range []struct{ line, report, want string }{
		{"table", proxyReport, `the program printed "table"`},
		{proxyLine, `{"wall_seconds":1}`, "names no process"},
		{proxyLine, strings.Replace(proxyReport, `"wall_seconds":5`, `"wall_seconds":0`, 1), "4 of 0 seconds"},
		{strings.Replace(proxyLine, `"seconds":4`, `"seconds":0`, 1), proxyReport, "0 of 5 seconds"},
		{strings.Replace(proxyLine, "true", "false", 1), proxyReport, "result is wrong"},
	} {
		_, err := parseProxy([]byte(c.line), []byte(c.report))
		require.ErrorIs(t, err, trial.ErrOutput)
		require.ErrorContains(t, err, c.want)
	}
}

// All configurations solve the same problem.
func TestProxyCommand(t *testing.T) {
	x := AMG("5pt", "pcg", [3]int{30, 20, 10})
	for _, doubled := range []bool{false, true} {
		configs := ProxyConfigs(doubled)
		for i, want := range []int{30, map[bool]int{false: 60, true: 30}[doubled]} {
			require.Equal(t, fmt.Sprintf("dir/amg -json -problem 5pt -solver pcg -ny 20 -nz 1 -nx %d", want),
				strings.Join(x.command("dir", configs[i], configs[0].Ranks), " "))
		}
	}
	require.Equal(t, "d/cg -json -class W", strings.Join(NPB("cg", "W").command("d", Replicated, 2), " "))
	c, err := Throttled("3GB/s")
	require.NoError(t, err)
	require.Equal(t, Config{Name: "send at 3GB/s", Ranks: 1, Replicas: 2, Flags: []string{"-direct=off", "-limit", "3GB/s"}, Limit: 3e9}, c)
	require.True(t, c.decides())
	require.False(t, Static.decides())
	_, err = Throttled("fast")
	require.ErrorContains(t, err, "not a bandwidth")
}

// fakeProxy replaces intrarun. Everything takes 1 s in the first round, 2 s in the second and
// so on, times a factor that depends on the configuration. One kernel takes half of the time,
// another almost none, and a third is not shared.
func fakeProxy() ProxyRunner {
	runs := make(map[string]int)
	return func(_ context.Context, c Config, _ Proxy, native int) (Trial, error) {
		factor := 1.0
		switch {
		case c.Name == Stored.Name:
			factor = 0.6
		case c.Replicas > 1 && c.Name != Replicated.Name && c.Limit == 0:
			factor = 0.8
		}
		if native == 2 && c.Replicas > 1 {
			factor *= 2
		}
		runs[c.Name]++
		seconds := factor * float64(runs[c.Name])
		t := Trial{StateSHA256: fmt.Sprint("bits", c.Ranks), Samples: map[string]Sample{
			Total: {Seconds: seconds}, Wall: {Seconds: 1.1 * seconds}, "tiny": {Seconds: seconds / 1000}, "fixed": {Seconds: seconds / 10},
		}}
		multiply := Sample{Seconds: seconds / 2}
		if c.Name != Native.Name && c.Name != Replicated.Name {
			multiply.UpdateBytes, multiply.Run, multiply.Received, multiply.Decision = 1e9, 15, 5, "share" // 5 of 10 tasks are shared
			multiply.Sections = true
			multiply.WaitSeconds = multiply.Seconds / 10
		}
		t.Samples["multiply"] = multiply
		multiply.Sections = false // no section begins with it
		t.Samples["second"] = multiply
		return t, nil
	}
}

func TestMeasureProxy(t *testing.T) {
	limited, err := Throttled("0.5GB/s")
	require.NoError(t, err)
	for _, doubled := range []bool{false, true} {
		m, err := MeasureProxy(t.Context(), fakeProxy(), NPB("cg", "A"), 3, ProxyConfigs(doubled, Static, limited), nil)
		require.NoError(t, err)
		require.Equal(t, []string{"multiply", "second", "fixed"}, m.Kernels)
		for name, e := range map[string]float64{"native": 1, "replicated": 0.5, "send": 0.625, "direct": 0.5 / 0.6} {
			r, ok := m.Row("multiply", name)
			require.True(t, ok)
			require.InDelta(t, e, r.E.Median, 1e-9, name)
			if name != "native" {
				require.InDelta(t, 2*e, m.gain("multiply", name).Median, 1e-9, name)
			}
		}
		var out bytes.Buffer
		require.NoError(t, Tables(&out, []*ProxyMeasurement{m}))
		require.NotContains(t, out.String(), "WARNING")
		golden(t, out.Bytes(), fmt.Sprintf("proxy_%t.txt", doubled))
		name := filepath.Join(t.TempDir(), "p.svg")
		require.NoError(t, PlotProxies(name, []*ProxyMeasurement{m, m}))
		require.FileExists(t, name)
		_, err = json.Marshal(m)
		require.NoError(t, err)

		rates := Rates{Ring: 2e9, Store: 8e9}
		all := m.Forecasts(rates)
		require.Len(t, all, 3, "one kernel is shared, in three ways")
		const v = 1.0 // GB
		plain, _ := m.Row("multiply", "replicated")
		for i, want := range []struct{ rate, e, got float64 }{
			{2e9, plain.Seconds.Median / (plain.Seconds.Median + v/2), 0.625},
			{8e9, plain.Seconds.Median / (plain.Seconds.Median + v/8), 0.5 / 0.6},
			{0.5e9, max(0.5, plain.Seconds.Median/(plain.Seconds.Median+v/0.5)), 0.5},
		} {
			require.Equal(t, want.rate, all[i].Rate)
			require.InDelta(t, want.e, all[i].Want, 1e-9)
			require.InDelta(t, want.got, all[i].Got.Median, 1e-9)
			require.InDelta(t, want.got-want.e, all[i].Off(), 1e-9)
			require.Equal(t, 0.5, all[i].Shared)
		}
		// The bodies take 0.5 of the plain time. Half of the updates take another 0.3 of it.
		require.InDelta(t, v/2*1e9/(0.3*plain.Seconds.Median), LinkRate([]*ProxyMeasurement{m, m}, 10e9), 1)
		require.Equal(t, 0.5e9, LinkRate([]*ProxyMeasurement{m}, 0.5e9), "at most the bandwidth of the link alone")
		require.Equal(t, 1e12, LinkRate([]*ProxyMeasurement{m}, 1e12), "too few bytes for a measurement")
		out.Reset()
		require.NoError(t, ForecastTable(&out, rates, m.Rounds, all))
		golden(t, out.Bytes(), fmt.Sprintf("forecast_%t.txt", doubled))
	}
}

// The output warns of too few rounds, and of quartiles that are too far apart.
func TestWarnings(t *testing.T) {
	m, err := MeasureProxy(t.Context(), fakeProxy(), NPB("cg", "A"), 2, ProxyConfigs(false), nil)
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, m.warn(&out))
	require.Contains(t, out.String(), "WARNING: quartiles of 2 rounds say nothing")
	m.Rounds = 5
	m.Rows[1].E = spread.Of([]float64{0.5, 0.6, 0.7, 0.8})
	out.Reset()
	require.NoError(t, m.warn(&out))
	require.Contains(t, out.String(), "15% of the median apart in: total replicated\n")
}

func TestMeasureProxyRefuses(t *testing.T) {
	run := fakeProxy()
	_, err := MeasureProxy(t.Context(), func(ctx context.Context, c Config, x Proxy, native int) (Trial, error) {
		tr, err := run(ctx, c, x, native)
		tr.StateSHA256 += c.Name
		return tr, err
	}, NPB("cg", "A"), 1, ProxyConfigs(false), nil)
	require.ErrorContains(t, err, "the results must not differ")
}

func TestOverhead(t *testing.T) {
	require.Equal(t, Config{Name: "50%", Ranks: 4, Replicas: 1, Degrees: "2,2,1,1", Flags: []string{"-sched", "replicate"}}, Partial(4, 2))
	require.Equal(t, 6.0, Partial(4, 2).processes())
	require.Equal(t, 8.0, Apart(4).processes())
	var out bytes.Buffer
	for _, cores := range []int{2, 8} { // processes take turns, or have cores of their own
		run := func(_ context.Context, c Config, _ Proxy, native int) (Trial, error) {
			require.Equal(t, 4, native)
			require.Equal(t, cores == 2, slices.Contains(c.Flags, "-bind"), "no process is bound, or all as usual")
			apart := map[int]float64{2: 4, 8: 2}[cores]
			seconds := map[string]float64{"native": 2, "two native runs": apart, "50%": 3.15, "100%": 4.4}[c.Name]
			return Trial{StateSHA256: "bits", Samples: map[string]Sample{Total: {Seconds: seconds}}}, nil
		}
		o, err := MeasureOverhead(t.Context(), run, NPB("cg", "A"), 4, []int{2, 4}, 3, cores, nil)
		require.NoError(t, err)
		want := map[int][2]float64{2: {0.05, 0.1}, 8: {0.575, 1.2}}[cores]
		require.InDelta(t, want[0], o.Of("50%").Median, 1e-9)
		require.InDelta(t, want[1], o.Of("100%").Median, 1e-9)
		require.NoError(t, OverheadTable(&out, "title", []*Overhead{o}, map[string]string{"cg": "4.9%"}))
	}
	golden(t, out.Bytes(), "overhead.txt")
}

// If jobs run together, their time is the average of their times.
func TestTogether(t *testing.T) {
	of := func(seconds float64) Trial {
		return Trial{Samples: map[string]Sample{Total: {Seconds: seconds, UpdateBytes: 8}}}
	}
	require.Equal(t, map[string]Sample{Total: {Seconds: 3, UpdateBytes: 8}}, together([]Trial{of(2), of(4)}).Samples)
}

func TestStoreRate(t *testing.T) { require.Positive(t, StoreRate()) }

// golden compares a text with a file in testdata.
func golden(t *testing.T, got []byte, name string) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(name, got, 0o666))
	}
	want, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}
