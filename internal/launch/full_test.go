package launch

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// full opens a file that has no room.
func full(t *testing.T) *os.File {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// A job whose output is lost has failed, and its report contains the reason. A job whose
// reader has left has not failed.
func TestJobFailsIfOutputIsLost(t *testing.T) {
	const lost = "output of the job is lost: write /dev/full: no space left on device"
	for _, c := range []struct {
		name   string
		change func(*run)
		code   int
		report string
		err    []string
	}{
		{"standard output", func(r *run) { r.Stdout = full(t) }, ExitFailed, lost,
			[]string{"intrarun: standard output is lost from here on: write /dev/full: no space left on device\n", "intrarun: " + lost + "\n"}},
		{"standard error", func(r *run) { r.Stderr = full(t) }, ExitFailed, lost, nil},
		{"the pipe has no reader", func(r *run) {
			read, write, err := os.Pipe()
			require.NoError(t, err)
			require.NoError(t, read.Close())
			t.Cleanup(func() { write.Close() })
			r.Stdout = write
		}, ExitOK, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRun([]int{2}, "join", "out:x", "err:y", "finish")
			report := r.report(t)
			c.change(r)
			r.do(t, c.code)
			rep := report()
			require.Equal(t, c.code, rep.ExitCode)
			require.Equal(t, c.report, rep.Error)
			for _, line := range c.err {
				require.Contains(t, r.err.String(), line)
			}
			require.Equal(t, len(c.err), strings.Count(r.err.String(), "lost"), r.err.String())
		})
	}
}

// If the report goes to standard error, which is full, the job counts as failed, too.
func TestJobFailsIfTheReportIsLost(t *testing.T) {
	r := newRun([]int{1}, "join", "finish")
	r.Report, r.Stderr = "-", full(t)
	r.do(t, ExitFailed)
}

// If a placement cannot be printed, that is an error.
func TestDryRunFailsIfItsOutputIsLost(t *testing.T) {
	r := newRun([]int{2}, "join", "finish").on(t, "h1", "h2")
	r.DryRun, r.Stdout = true, full(t)
	r.do(t, ExitFailed)
	require.Contains(t, r.err.String(), "intrarun: show the placement: write /dev/full: no space left on device")
}
