package figures

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

var update = flag.Bool("update", false, "write the golden files anew")

const goodLine = `{"ranks":1,"iterations":9,"residual":0.5,"x_sha256":"ab"}`

var goodClocks = []clock{
	{"total": 10, "waxpby": 1.5, "ddot": 0.5, "sparsemv": 5, "exchange": 0, "allreduce": 0.25},
	{"total": 9, "waxpby": 2.5, "ddot": 1.5, "sparsemv": 3, "exchange": 0, "allreduce": 0.25},
}

const goodReport = `{"processes":[{},{}],"task_types":{
	"example.com/x.waxpby":{"wait_seconds":1,"update_bytes":80,"decision":"replicate"},
	"example.com/x.Grid.sparsemv":{"wait_seconds":0.5,"update_bytes":20,"decision":"share"},
	"example.com/x.other":{"wait_seconds":9,"update_bytes":9,"decision":"share"}}}`

func TestParseTrial(t *testing.T) {
	got, err := parseTrial([]byte(goodLine), []byte(goodReport), goodClocks)
	require.NoError(t, err)
	require.Equal(t, Trial{Passes: 9, Residual: 0.5, XSHA256: "ab", Samples: map[string]Sample{
		"waxpby":   {Seconds: 2, WaitSeconds: 0.5, UpdateBytes: 80, Decision: "replicate"},
		"ddot":     {Seconds: 1},
		Summed:     {Seconds: 1.25},
		"sparsemv": {Seconds: 4, WaitSeconds: 0.25, UpdateBytes: 20, Decision: "share"},
		Total:      {Seconds: 10, WaitSeconds: 0.75, UpdateBytes: 100},
	}}, got)
	fused := strings.NewReplacer("x.waxpby", "x.waxpbyDot", "x.other", "x.waxpby").Replace(goodReport)
	got, err = parseTrial([]byte(goodLine), []byte(fused), goodClocks)
	require.NoError(t, err)
	require.Equal(t, Sample{Seconds: 2, WaitSeconds: 5, UpdateBytes: 89, Decision: "replicate+share"}, got.Samples["waxpby"])
	for _, c := range []struct {
		name, line, report string
		clocks             []clock
		want               string
	}{
		{"no JSON", "pass 1", goodReport, goodClocks, `HPCCG printed "pass 1"`},
		{"a long text that is no JSON", strings.Repeat("x", 999), goodReport, goodClocks, "x…"},
		{"0/0", strings.Replace(goodLine, "0.5", "null", 1), goodReport, goodClocks, "not a number after 9 passes"},
		{"a kernel is missing", goodLine, goodReport, []clock{{"total": 1}, {"total": 1, "waxpby": 1, "sparsemv": 1}}, "0 seconds in ddot"},
		{"no report", goodLine, "", goodClocks, "the report of intrarun is"},
		{"no process", goodLine, "{}", goodClocks, "names no process"},
		{"a process has written no times", goodLine, goodReport, goodClocks[:1], "the times of 1 processes of 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseTrial([]byte(c.line), []byte(c.report), c.clocks)
			require.ErrorIs(t, err, trial.ErrOutput)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// fake replaces intrarun. In the native run everything takes 1 s in round 0, 2 s in round 1
// and so on. Each other run takes a fixed multiple of that. fake records the order of the
// runs.
func fake(order *[]string) Runner {
	runs := make(map[string]int)
	factor := map[string]float64{"native": 1, "replicated": 2, "static": 1.25, "send": 1.25}
	return func(_ context.Context, c Config, pr Problem) (Trial, error) {
		*order = append(*order, c.Name)
		runs[c.Name]++
		f := factor[c.Name]
		if c.Limit > 0 {
			f = 2
		}
		seconds := f * float64(runs[c.Name])
		t := Trial{Passes: pr.Iters - 1, XSHA256: fmt.Sprint("hash", c.Ranks), Samples: make(map[string]Sample)}
		for i, k := range append([]string{Total}, append(slices.Clone(Kernels), Summed)...) {
			s := Sample{Seconds: seconds, WaitSeconds: seconds / 4, Decision: "share"}
			if c.Replicas == 1 || c.Name == "replicated" {
				s.WaitSeconds = 0
			}
			if c.Name == "static" {
				s.UpdateBytes = float64(i) * 1e9
			}
			if c.Limit > 0 && i%2 == 1 {
				s.Decision = "replicate"
			}
			t.Samples[k] = s
		}
		return t, nil
	}
}

func measured(t *testing.T, limits ...string) (*Measurement, []string) {
	configs := []Config{Native, Replicated, Static, Send}
	for _, l := range limits {
		c, err := Limited(l)
		require.NoError(t, err)
		configs = append(configs, c)
	}
	var order []string
	m, err := Measure(t.Context(), fake(&order), Problem{NX: 4, NY: 5, NZ: 6, Iters: 10}, 3, configs, nil)
	require.NoError(t, err)
	return m, order
}

func TestMeasureAlternates(t *testing.T) {
	m, order := measured(t)
	require.Equal(t, strings.Fields("native replicated static send send static replicated native replicated static send native"), order)
	r, ok := m.Row("ddot", "send")
	require.True(t, ok)
	// The times of the rounds drift by a factor of 3. E is a quotient within a round, so the
	// drift cancels.
	require.Equal(t, spread.Of([]float64{0.8}), r.E)
	require.Equal(t, spread.Of([]float64{1.25, 2.5, 3.75}), r.Seconds)
	require.Equal(t, 0.25, r.Wait)
	require.Equal(t, map[string]int{"share": 3}, r.Decision)
	r, _ = m.Row(Total, "replicated")
	require.Equal(t, 0.5, r.E.Median)
	require.Empty(t, r.Decision, "it has no choice")
	_, ok = m.Row("ddot", "nothing")
	require.False(t, ok)
	require.Empty(t, m.Models)
}

// A configuration with limited links may be compared with a native run over
// such links.
func TestMeasureBeside(t *testing.T) {
	c, err := Limited("3GB/s")
	require.NoError(t, err)
	both := Beside(c)
	require.Equal(t, Config{Name: "native at 3GB/s", Ranks: 2, Replicas: 1, Flags: []string{"-limit", "3GB/s"}, Limit: 3e9}, both[0])
	var order []string
	m, err := Measure(t.Context(), fake(&order), Problem{Iters: 10}, 3, append([]Config{Native, Replicated, Static}, both...), nil)
	require.NoError(t, err)
	for config, e := range map[string]float64{"native": 1, "native at 3GB/s": 0.5, "send at 3GB/s": 1, "replicated": 0.5} {
		r, ok := m.Row(Total, config)
		require.True(t, ok)
		require.Equal(t, e, r.E.Median, config)
	}
	var text bytes.Buffer
	require.NoError(t, m.modelTable(&text))
	require.Equal(t, len(m.Models), strings.Count(text.String(), "  3  "), "only what is shared:\n%s", text.String())
}

func TestRunsOnHosts(t *testing.T) {
	p := Programs{Intrarun: "intrarun", Hosts: []string{"a", "b"}}
	require.Equal(t, []string{"ip", "netns", "exec", "a", "intrarun", "-quiet", "-report", "r", "-n", "1", "-r", "2",
		"-rsh", "ip netns exec {host}", "-hosts", "a:1,b:1", "-direct=off", "x"}, p.job(Send, []string{"x"}).Command("r", "t"))
}

func TestMeasureRefusesDifferentResults(t *testing.T) {
	for name, change := range map[string]func(*Trial){
		"hash":    func(t *Trial) { t.XSHA256 = "other" },
		"passes":  func(t *Trial) { t.Passes++ },
		"failure": nil,
	} {
		t.Run(name, func(t *testing.T) {
			var order []string
			run := fake(&order)
			_, err := Measure(t.Context(), func(ctx context.Context, c Config, pr Problem) (Trial, error) {
				tr, err := run(ctx, c, pr)
				if c.Name == "send" {
					if change == nil {
						return tr, errors.New("exit status 3")
					}
					change(&tr)
				}
				return tr, err
			}, Problem{Iters: 10}, 2, []Config{Native, Replicated, Send}, nil)
			want := map[string]string{"hash": "must not differ", "passes": "passes", "failure": "round 1: exit status 3"}[name]
			require.ErrorContains(t, err, want)
		})
	}
}

func TestModel(t *testing.T) {
	m := Model{Seconds: 2, Bytes: 4e9}
	require.Equal(t, 2e9, m.Flip())
	require.Equal(t, 0.5, m.E(m.Flip()))
	require.Equal(t, 0.75, m.E(6e9))

	got, _ := measured(t, "1GB/s")
	require.Equal(t, []Model{{Total, 4, 0}, {"waxpby", 4, 1e9}, {"ddot", 4, 2e9}, {"sparsemv", 4, 3e9}}, got.Models)
	_, err := Limited("fast")
	require.ErrorContains(t, err, `"fast" is not a bandwidth`)
}

func TestTable(t *testing.T) {
	m, _ := measured(t, "0.5GB/s", "2GB/s")
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

func TestPlot(t *testing.T) {
	for name, magic := range map[string]string{"f.svg": "<?xml", "f.png": "\x89PNG", "f.pdf": "%PDF"} {
		for _, limits := range [][]string{nil, {"0.5GB/s", "2GB/s"}} {
			m, _ := measured(t, limits...)
			file := filepath.Join(t.TempDir(), name)
			require.NoError(t, m.Plot(file))
			b, err := os.ReadFile(file)
			require.NoError(t, err)
			require.True(t, bytes.HasPrefix(b, []byte(magic)), "%.20q", b)
			if name == "f.svg" {
				require.Equal(t, len(limits) > 0, bytes.Contains(b, []byte("sparsemv, measured and model")))
				require.Contains(t, string(b), ">1.25<", "the value of the axis, on top of a bar")
				require.NotContains(t, string(b), ">0.80<", "not its inverse")
				require.NotContains(t, string(b), "WARNING")
			}
		}
	}
	require.ErrorContains(t, CheckPlotName("figure.gif"), ".svg, .png or .pdf")
}

func TestPeer(t *testing.T) {
	re := regexp.MustCompile(`Time: *(\S+)`)
	for _, c := range []struct {
		command, err string
		time         *regexp.Regexp
		want         float64
	}{
		{command: "echo Time: 7; echo Time: 2.5", time: re, want: 2.5},
		{command: "echo nothing", time: re, err: "nothing that matches"},
		{command: "echo Time: soon", time: re, err: "not a number of seconds"},
		{command: "echo Time: -1", time: re, err: "not a number of seconds"},
		{command: "echo gone wrong >&2; exit 3", time: re, err: "exit status 3\ngone wrong"},
		{command: "sleep 0.01"},
	} {
		got, err := Peer{Command: c.command, Time: c.time}.Run(t.Context())
		switch {
		case c.err != "":
			require.ErrorContains(t, err, c.err)
		case c.time == nil:
			require.NoError(t, err)
			require.GreaterOrEqual(t, got, 0.01)
		default:
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
	}
	var order []string
	peer := Peer{Command: "echo Time: 5", Time: re}
	m, err := Measure(t.Context(), peer.Beside(fake(&order)), Problem{Iters: 10}, 3, []Config{Native, Send, PeerConfig}, nil)
	require.NoError(t, err)
	require.Len(t, order, 6)
	var out bytes.Buffer
	require.NoError(t, m.PeerTable(&out))
	// The peer's 5 s are compared with 1.25, 2.5 and 3.75 s.
	require.Regexp(t, `send +2\.5000 .* 2\.000 +\[1\.667 3\.000\]`, out.String())
}

// Other programs read the output: every number must be a JSON number.
func TestJSON(t *testing.T) {
	m, _ := measured(t, "1GB/s")
	b, err := json.Marshal(m)
	require.NoError(t, err)
	var back Measurement
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, *m, back)
}
