//go:build linux

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/messages"
	"github.com/intrahpc/intra/internal/agent/watchdog"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// binaries are programs that the tests have built.
var binaries jobtest.Binaries

// The test binary is also the program of the measured processes.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == asRank {
		messages.Rank(os.Args[2])
	}
	if os.Getenv(watchdog.Variable) != "" || len(os.Args) > 1 && slices.ContainsFunc(jobs, func(c command) bool { return c.name == os.Args[1] }) {
		main()
		os.Exit(0)
	}
	os.Exit(binaries.Main(m))
}

// inMatrix skips a test that repeats other tests in another form, unless INTRA_MATRIX is set.
func inMatrix(t *testing.T) {
	t.Helper()
	if !jobtest.Matrix() {
		t.Skip("another test runs most of it: `make matrix` runs all (INTRA_MATRIX=1)")
	}
}

// The command measures small real jobs. The measured times are not checked.
func TestPingpong(t *testing.T) {
	call := func(t *testing.T, args string) string {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), strings.Fields("pingpong -quiet -max 65536 -rounds 2 -time 100us "+args), &out, nil))
		return out.String()
	}
	for _, link := range []string{"shm", "unix", "tcp"} {
		t.Run(link, func(t *testing.T) {
			require.Regexp(t, `2 rounds in alternation: median \[quartiles\]\n\n`+
				` +`+link+` +1,1\*? µs +MB/s *\n( +(1|8|64|512|4096|32768|65536) +[\d.]+ +\[[\d.]+ [\d.]+\] +[\d.]+\n){7}(\* more .*\n)?`+
				`\nwhat the protocol does .*:\n +replicas .*\n +1,1 +\d+ +\[\S+ \S+\] +1.00 +0.\d+\n$`, call(t, "-degrees=1,1 -link "+link))
		})
	}
	t.Run("json", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "p.json")
		call(t, "-json "+file+" -link shm,unix")
		var doc messageResults
		readResult(t, file, &doc)
		require.Len(t, doc.Results, 2*3*7)
		last := doc.Results[len(doc.Results)-1]
		require.Equal(t, messages.Case{Op: messages.Pingpong, N: 65536}, last.Case)
		require.Equal(t, "unix", last.Link)
		require.Equal(t, []int{2, 2}, last.Degrees)
		require.Len(t, last.Seconds, 2)
		require.Positive(t, last.Min)
		require.Positive(t, last.Ratio.Median)
		require.Len(t, doc.Protocol, 3+2, "the mirror protocol differs if there are replicas")
	})
}

// Replicas that receive from any source agree on the order. Beside them, the table shows the same
// program with an assertion that the order does not matter.
func TestPingpongFromAnySource(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	var out bytes.Buffer
	args := []string{"pingpong", "-quiet", "-any", "-json", file, "-link", "shm,tcp", "-degrees", "1,1 2,2", "-max", "1", "-rounds", "2", "-time", "100us"}
	require.NoError(t, run(t.Context(), args, &out, nil))
	require.Regexp(t, `(?m)^ +shm +bytes +asserted 1,1\*? µs +MB/s +decided 1,1\*? µs +MB/s +ratio +/ asserted +asserted 2,2\*? µs +MB/s +ratio +decided 2,2\*? µs +MB/s +ratio +/ asserted *$`, out.String())
	require.Regexp(t, `(?m)^ +anysource-run +1 +[\d.]+ `, out.String())
	require.NotContains(t, out.String(), "what the protocol does", "the protocol is measured for messages from one source")
	var doc messageResults
	readResult(t, file, &doc)
	require.Len(t, doc.Results, 2*2*2*2)
	for i, r := range doc.Results {
		require.Equal(t, messages.Case{Op: []string{messages.AnySource, messages.AnySourceRun}[i%2], N: 1}, r.Case)
		require.Equal(t, []messages.Order{messages.Asserted, messages.Decided}[i/2%2], r.Order)
		require.Equal(t, r.Order == messages.Decided, r.ToAsserted != nil)
		require.Len(t, r.Seconds, 2)
		require.Positive(t, r.Min)
	}
	require.Empty(t, doc.Protocol)
}

func TestCollectives(t *testing.T) {
	var out bytes.Buffer
	args := []string{"collectives", "-quiet", "-degrees", "1,1,1 2,1,2 1,2", "-rounds", "1", "-time", "100us"}
	require.NoError(t, run(t.Context(), args, &out, nil))
	require.Regexp(t, `(?m)^ +shm +float64s +1,1,1\*? µs +2,1,2\*? µs +ratio +1,2\*? µs *$`, out.String())
	for _, c := range messages.CollectiveCases() {
		require.Regexp(t, `(?m)^ +`+c.Op+` +\d+( +[\d.]+ +\[[\d.]+ [\d.]+\]){4}$`, out.String())
	}
}

func TestMessagesUsage(t *testing.T) {
	for _, c := range []struct{ command, flag, value, want string }{
		{"pingpong", "-degrees", "1", "-degrees 1: a ping-pong has two ranks"},
		{"pingpong", "-degrees", "1,1 1,1,1", "-degrees 1,1,1: a ping-pong has two ranks"},
		{"pingpong", "-max", "0", "-max must be at least 1"},
		{"pingpong", "-any", "-peer=mpirun peer", "-any: the program of -peer does not receive from any source"},
		{"pingpong", "-rounds", "0", "-rounds and -time must be positive"},
		{"collectives", "-time", "0s", "-rounds and -time must be positive"},
	} {
		require.EqualError(t, run(t.Context(), []string{c.command, c.flag, c.value}, nil, nil), c.want)
	}
	require.ErrorIs(t, run(t.Context(), []string{"pingpong", "-degrees", "0,1"}, nil, nil), errUsage)
	for _, s := range []string{"0,1", "x", "1,65", "2,1 1,", " "} {
		_, err := parseAllDegrees(s)
		require.ErrorContains(t, err, "like 2,1", s)
	}
	for _, s := range []string{"pigeon", "", "shm,"} {
		_, err := parseLinks(s)
		require.ErrorContains(t, err, "unknown link", s)
	}
}
