package messages

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/spread"
)

// The test binary is also the program of the jobs.
const asRank = "-rank"

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asRank {
		Rank(os.Args[2])
	}
	os.Exit(m.Run())
}

func options(t *testing.T, cases ...Case) Options {
	self, err := os.Executable()
	require.NoError(t, err)
	return Options{
		Links: []string{"shm", "tcp"}, Degrees: [][]int{{1, 1}, {1, 2}, {1, 1, 1}},
		Cases: cases, Rounds: 2, Time: time.Microsecond, Program: []string{self, asRank},
	}
}

func TestMeasure(t *testing.T) {
	var rounds []int
	results, err := Measure(t.Context(), options(t, Case{"allreduce", 3}, Case{"barrier", 0}), func(round int) { rounds = append(rounds, round) })
	require.NoError(t, err)
	require.Equal(t, []int{0, 1}, rounds)
	require.Len(t, results, 2*3*2)
	for i, r := range results {
		require.Equal(t, []string{"shm", "tcp"}[i/6], r.Link)
		require.Equal(t, [][]int{{1, 1}, {1, 2}, {1, 1, 1}}[i/2%3], r.Degrees)
		require.Equal(t, []string{"allreduce", "barrier"}[i%2], r.Op)
		require.Len(t, r.Seconds, 2)
		require.Equal(t, spread.Of(r.Seconds), r.Spread)
		require.Positive(t, r.Min)
		if i/2%3 != 1 {
			require.Nil(t, r.Ratio, "only one job has as many ranks as another before it")
			continue
		}
		first := results[i-2]
		require.InDelta(t, (r.Seconds[0]/first.Seconds[0]+r.Seconds[1]/first.Seconds[1])/2, r.Ratio.Median, 1e-9)
	}
}

// Each job whose replicas agree on the order is compared with the asserting job that has the
// same replicas and link.
func TestMeasureOrders(t *testing.T) {
	o := options(t, AnySourceCases(1)...)
	o.Degrees, o.Orders = [][]int{{1, 1}, {2, 1}}, []Order{Asserted, Decided}
	results, err := Measure(t.Context(), o, nil)
	require.NoError(t, err)
	require.Len(t, results, 2*2*2*2)
	for i, r := range results {
		require.Equal(t, o.Orders[i/2%2], r.Order)
		require.Equal(t, o.Degrees[i/4%2], r.Degrees)
		if r.Order == Asserted {
			require.Nil(t, r.ToAsserted)
			continue
		}
		asserted := results[i-2]
		require.InDelta(t, (r.Seconds[0]/asserted.Seconds[0]+r.Seconds[1]/asserted.Seconds[1])/2, r.ToAsserted.Median, 1e-9)
	}
	require.Equal(t, []Case{{AnySource, 1}, {AnySource, 8}, {AnySourceRun, 1}, {AnySourceRun, 8}}, AnySourceCases(8))
}

func TestMeasureFails(t *testing.T) {
	_, err := Measure(t.Context(), options(t, Case{"barrier", 0}, Case{"applause", 7}), nil)
	require.ErrorContains(t, err, "ranks with 1,1 replicas over shm: the job ended with exit code 1: rank ")
	require.ErrorContains(t, err, "applause of 7: there is no operation of this name")

	o := options(t, Case{"barrier", 0})
	o.Program = []string{o.Program[0], "-test.run=^$"} // the process ends without joining the job
	_, err = Measure(t.Context(), o, nil)
	require.ErrorContains(t, err, "the job ended with exit code 1: rank ")
	require.ErrorContains(t, err, "it never joined the job")
	require.Contains(t, verdict("nowhere"), "there is no report (open nowhere: ")

	ctx, cancel := context.WithCancel(t.Context())
	_, err = Measure(ctx, options(t, Case{"barrier", 0}), func(int) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

func TestMeasureWork(t *testing.T) {
	work, err := MeasureWork(t.Context(), [][]int{{1, 1}, {3, 2}}, 2, 100)
	require.NoError(t, err)
	require.Len(t, work, 3)
	require.Equal(t, "1,1", work[0].name())
	require.Equal(t, "3,2", work[1].name())
	require.Equal(t, "3,2 mirror", work[2].name())
	for _, w := range work {
		require.Len(t, w.Seconds, 2)
		require.Positive(t, w.Min)
		require.Equal(t, w.Degrees[0] == 1, w.Ratio == nil)
	}
}

// written returns results for the tests of the output.
func written() (Options, []Result) {
	o := Options{Degrees: [][]int{{1, 1}, {64, 64}}, Cases: []Case{{Pingpong, 1}, {Pingpong, 8 << 20}}}
	result := func(link string, d, c int, seconds ...float64) Result {
		return Result{Case: o.Cases[c], Link: link, Degrees: o.Degrees[d], Seconds: seconds, Spread: spread.Of(seconds)}
	}
	results := []Result{
		result("shm", 0, 0, 2e-7, 4e-7), result("shm", 0, 1, 1e-3, 1.2e-3),
		result("shm", 1, 0, 6e-7, 4e-7), result("shm", 1, 1, 2e-3, 2.4e-3),
	}
	for i := range 2 {
		results[2+i].Ratio = new(ratios(results[2+i].Seconds, results[i].Seconds))
	}
	return o, results
}

var writtenWork = []Work{
	{Degrees: []int{1, 1}, Seconds: []float64{1.5e-7, 1.6e-7}, Spread: spread.Of([]float64{1.5e-7, 1.6e-7})},
	{Degrees: []int{2, 2}, Mirror: true, Seconds: []float64{3e-7}, Spread: spread.Of([]float64{3e-7}), Ratio: &spread.Spread{Median: 2, Q1: 1.5, Q3: 2.5}, Allocations: 0.25},
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	o, results := written()
	require.NoError(t, Table(&out, o, results))
	require.Regexp(t, `^ +shm +1,1\*? µs +MB/s +64,64\* µs +MB/s +ratio *
 +1 +0.30 +\[0.25 0.35\] +3.33 +0.50 +\[0.45 0.55\] +2.00 +2.00 +\[1.50 2.50\]
 +8388608 +1100 +\[1050 1150\] +7626 +2200 +\[2100 2300\] +3813 +2.00 +\[2.00 2.00\]
\* more processes than the \d+ cores: .*\n$`, out.String())

	o = Options{Degrees: [][]int{{1, 1}}, Cases: []Case{{"bcast", 128}}}
	out.Reset()
	require.NoError(t, Table(&out, o, []Result{{Case: o.Cases[0], Link: "tcp", Degrees: o.Degrees[0], Spread: spread.Of([]float64{5e-6})}}))
	require.Regexp(t, `^ +tcp +float64s +1,1\*? µs *\n +bcast +128 +5.00 +\[5.00 5.00\]\n`, out.String())

	out.Reset()
	require.NoError(t, WorkTable(&out, writtenWork))
	require.Regexp(t, `^what .*\n +replicas +ns +ratio +allocations
 +1,1 +155 +\[152 158\] +1.00 +0.00
 +2,2 mirror +300 +\[300 300\] +2.00 +\[1.50 2.50\] +0.25\n$`, out.String())
}

// full is an output whose writes fail.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestWriteFails(t *testing.T) {
	o, results := written()
	require.ErrorIs(t, Table(full{}, o, results), errFull)
	require.ErrorIs(t, WorkTable(full{}, writtenWork), errFull)
}

func TestPingpongCases(t *testing.T) {
	require.Equal(t, []Case{{Pingpong, 1}}, PingpongCases(1))
	require.Equal(t, []Case{{Pingpong, 1}, {Pingpong, 8}, {Pingpong, 20}}, PingpongCases(20))
	cases := PingpongCases(8 << 20)
	require.Equal(t, []Case{{Pingpong, 2 << 20}, {Pingpong, 8 << 20}}, cases[len(cases)-2:])
}

// peer is a shell script that acts as an outside program with two ranks. It also prints other
// lines, as a launcher would.
const peer = `says() { echo hello to you; echo ranks $1; echo allreduce:3 2e-3; echo barrier:0 4e-3; }; says`

func TestMeasurePeer(t *testing.T) {
	o := options(t, Case{"allreduce", 3}, Case{"barrier", 0})
	o.Links, o.Peer = []string{"shm"}, peer+" 2"
	results, err := Measure(t.Context(), o, nil)
	require.NoError(t, err)
	require.Len(t, results, (3+1)*2)
	for i, r := range results[6:] {
		require.Equal(t, "peer", r.Link)
		require.Equal(t, []int{1, 1}, r.Degrees)
		require.Equal(t, []float64{2e-3 * float64(i+1), 2e-3 * float64(i+1)}, r.Seconds)
		require.Equal(t, 2e-3*float64(i+1), r.Median)
		require.Nil(t, r.ToPeer)
	}
	for i, r := range results[:6] {
		if len(r.Degrees) == 3 {
			require.Nil(t, r.ToPeer, "it has another number of ranks")
			continue
		}
		require.InDelta(t, (r.Seconds[0]+r.Seconds[1])/2/results[6+i%2].Median, r.ToPeer.Median, 1e-9)
	}
	var out bytes.Buffer
	require.NoError(t, Table(&out, o, results))
	require.Regexp(t, `(?m)^ +shm +float64s +1,1\*? µs +/ peer +1,2\*? µs +ratio +/ peer +1,1,1\*? µs *$`, out.String())
	require.Regexp(t, `(?m)^ +peer +float64s +1,1 µs *\n +allreduce +3 +2000 +\[2000 2000\]\n +barrier +0 +4000 +\[4000 4000\]$`, out.String())
}

func TestMeasurePeerFails(t *testing.T) {
	for command, want := range map[string]string{
		peer + " 4": "peer: it has 4 ranks, and no job of -degrees has as many",
		peer + " $(echo >> $CALLS; wc -l < $CALLS)": "peer: it has 3 ranks now and had 2 before",
		"echo allreduce:3 1 barrier:0 1; true":      `there is no line like "ranks 2"`,
		"echo ranks two; true":                      `there is no line like "ranks 2"`,
		"echo ranks 2; echo allreduce:3 1; true":    `there is no line "barrier:0 SECONDS" with a positive number`,
		"echo told >&2; exit 3;":                    "told",
	} {
		calls := filepath.Join(t.TempDir(), "calls")
		require.NoError(t, os.WriteFile(calls, []byte("\n"), 0o600))
		t.Setenv("CALLS", calls)
		o := options(t, Case{"allreduce", 3}, Case{"barrier", 0})
		o.Links, o.Peer = []string{"shm"}, command
		_, err := Measure(t.Context(), o, nil)
		require.ErrorContains(t, err, want, command)
	}
}
