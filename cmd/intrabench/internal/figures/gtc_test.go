package figures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/inout"
	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

const gtcLine = `{"ranks":1,"steps":[],"seconds":{"push":4,"charge":2,"shift":1,"load":3,"total":13},"state_sha256":"ab"}`

const gtcReport = `{"processes":[{},{}],"task_types":{
	"example.com/ions.Ions.Predict":{"wait_seconds":1,"update_bytes":80,"decision":"share"},
	"example.com/ions.Ions.Correct":{"wait_seconds":3,"update_bytes":40,"decision":"replicate"},
	"example.com/ions.Ions.Charge":{"wait_seconds":0.5,"update_bytes":20,"decision":"share"},
	"example.com/ions.Ions.Load":{"wait_seconds":9,"update_bytes":9,"decision":"share"}}}`

func TestParseGTC(t *testing.T) {
	got, err := parseGTC([]byte(gtcLine), []byte(gtcReport))
	require.NoError(t, err)
	require.Equal(t, Trial{StateSHA256: "ab", Samples: map[string]Sample{
		"push":   {Seconds: 4, WaitSeconds: 2, UpdateBytes: 120, Decision: "mixed"},
		"charge": {Seconds: 2, WaitSeconds: 0.25, UpdateBytes: 20, Decision: "share"},
		Total:    {Seconds: 10, WaitSeconds: 2.25, UpdateBytes: 140},
	}}, got)
	for _, c := range []struct{ name, line, report, want string }{
		{"no JSON", "step 1", gtcReport, `GTC printed "step 1"`},
		{"no hash", strings.Replace(gtcLine, "ab", "", 1), gtcReport, "no hash"},
		{"a kernel is missing", strings.Replace(gtcLine, "push", "pull", 1), gtcReport, "0 seconds in push"},
		{"only loading", strings.Replace(gtcLine, "13", "3", 1), gtcReport, "0 seconds in its steps"},
		{"no report", gtcLine, "", "the report of intrarun is"},
		{"no process", gtcLine, "{}", "names no process"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseGTC([]byte(c.line), []byte(c.report))
			require.ErrorIs(t, err, trial.ErrOutput)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// fakeGTC replaces intrarun. In the native run everything takes 1 s in the first round, 2 s in
// the second and so on. Each other run takes a multiple of that.
func fakeGTC(doubled bool) GTCRunner {
	runs := make(map[string]int)
	factor := map[string]float64{"native": 1, "replicated": 2, "static": 1.25, "send": 1.25, "auto": 1.25}
	return func(_ context.Context, c Config, _ GTCProblem) (Trial, error) {
		runs[c.Name]++
		f, ok := factor[c.Name]
		if !ok { // a configuration with a limited link
			f = 1.5
		}
		seconds := f * float64(runs[c.Name])
		if doubled && c.Replicas > 1 {
			seconds /= 2
		}
		t := Trial{StateSHA256: fmt.Sprint("hash", c.Ranks), Samples: make(map[string]Sample)}
		for _, k := range append([]string{Total}, GTCKernels...) {
			s := Sample{Seconds: seconds}
			if c.Replicas > 1 && c.Name != "replicated" {
				s.WaitSeconds = seconds / 4
			}
			if k != Total {
				s.Decision = "share"
			}
			t.Samples[k] = s
		}
		return t, nil
	}
}

func measuredGTC(t *testing.T, doubled bool) *GTCMeasurement {
	pr := GTCProblem{IonsPerCell: 2, Surfaces: 8, MaxTheta: 16, MaxZeta: 2, Steps: 3}
	m, err := MeasureGTC(t.Context(), fakeGTC(doubled), pr, 3, doubled, GTCConfigs(doubled), nil)
	require.NoError(t, err)
	for i, w := range inout.Ways {
		m.InOut = append(m.InOut, inout.Result{Way: w.Name, Seconds: []float64{1 + float64(i)/8, 1 + float64(i)/8}})
	}
	return m
}

func TestMeasureGTC(t *testing.T) {
	for _, doubled := range []bool{false, true} {
		m := measuredGTC(t, doubled)
		// Half the time on twice the cores gives the same efficiency.
		for name, e := range map[string]float64{"native": 1, "replicated": 0.5, "static": 0.8, "send": 0.8, "auto": 0.8} {
			r, ok := m.Row("push", name)
			require.True(t, ok)
			require.Equal(t, spread.Of([]float64{e}), r.E, name)
		}
		r, _ := m.Row("charge", "send")
		require.Equal(t, 0.25, r.Wait)
		require.Equal(t, map[string]int{"share": 3}, r.Decision)
		require.Equal(t, doubled, m.config("send").Ranks == 2)
	}
	require.Equal(t, 1, Send.Ranks)
}

func TestMeasureGTCRefuses(t *testing.T) {
	for _, c := range []struct {
		name, config string
		doubled      bool
		fails        error
		want         string
	}{
		{name: "replicas differ", config: "send", want: "must not differ"},
		{name: "replicated and native differ", config: "native", doubled: true, want: "must not differ"},
		{name: "different ranks may differ", config: "native"},
		{name: "failure", config: "static", fails: errors.New("exit status 3"), want: "round 1: exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := fakeGTC(c.doubled)
			_, err := MeasureGTC(t.Context(), func(ctx context.Context, config Config, pr GTCProblem) (Trial, error) {
				tr, err := run(ctx, config, pr)
				if config.Name == c.config {
					tr.StateSHA256, err = "other", c.fails
				}
				return tr, err
			}, GTCProblem{}, 2, c.doubled, GTCConfigs(c.doubled), nil)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestGTCTable(t *testing.T) {
	for name, doubled := range map[string]bool{"gtc.txt": false, "gtc_double.txt": true} {
		var out bytes.Buffer
		require.NoError(t, measuredGTC(t, doubled).Table(&out, 2))
		golden := filepath.Join("testdata", name)
		if *update {
			require.NoError(t, os.WriteFile(golden, out.Bytes(), 0o666))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), out.String())
		require.Equal(t, doubled, strings.Contains(out.String(), "WARNING: up to 4 processes on 2 cores"))
	}
}

func TestGTCPlotAndJSON(t *testing.T) {
	m := measuredGTC(t, true)
	file := filepath.Join(t.TempDir(), "f.svg")
	require.NoError(t, m.Plot(file))
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(b), ">0.62<")
	require.Contains(t, string(b), ">GTC<")
	require.ErrorContains(t, m.Plot("figure.gif"), ".svg, .png or .pdf")

	b, err = json.Marshal(m)
	require.NoError(t, err)
	var back GTCMeasurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)
}

func TestGTCCommand(t *testing.T) {
	p := &Programs{Intrarun: "intrarun", App: "gtc"}
	pr := GTCProblem{IonsPerCell: 2, Surfaces: 8, MaxTheta: 16, MaxZeta: 2, Steps: 3, Tasks: 4}
	require.Equal(t, "intrarun -quiet -report r -n 1 -r 2 -sched replicate gtc -json -micell 2 -mpsi 8 -mthetamax 16 -mzetamax 2 -steps 3 -tasks 4",
		strings.Join(p.gtc(GTCConfigs(false)[1], pr).Command("r", ""), " "))
	require.Contains(t, strings.Join(p.gtc(GTCConfigs(true)[3], pr).Command("r", ""), " "), "-n 2 -r 2 -direct=off gtc")
}
