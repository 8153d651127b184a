package scale

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// A descendant of this process belongs to the job if its first argument is the name.
func TestLook(t *testing.T) {
	for range 2 {
		cmd := exec.CommandContext(t.Context(), "sleep", "60")
		require.NoError(t, cmd.Start())
		defer func() {
			cmd.Process.Kill()
			cmd.Wait()
		}()
	}
	f, err := look(os.Getpid(), "60")
	require.NoError(t, err)
	require.Equal(t, 2, f.job.processes)
	require.GreaterOrEqual(t, f.launcher.processes, 1)
	require.Positive(t, f.launcher.memory)
	require.Positive(t, f.launcher.wakeups)
}

// TestRead checks the values that are read from the report of a job of two processes. It also
// checks reports that are refused.
func TestRead(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	r := Row{Processes: 2}
	require.NoError(t, r.read([]byte(`{"joined":"2026-01-01T00:00:01.5Z","processes":[{"links":1},{"links":2}]}`), began))
	require.Equal(t, Row{Processes: 2, Start: 1.5, Links: 1.5, MostLinks: 2}, r)
	for report, want := range map[string]string{
		`{`:                "the report of intrarun",
		`{"processes":[]}`: "names 0 processes, want 2",
		`{"joined":"2026-01-01T00:00:01Z","processes":[{}]}`: "names 1 processes, want 2",
	} {
		err := r.read([]byte(report), began)
		require.ErrorIs(t, err, trial.ErrOutput)
		require.ErrorContains(t, err, want)
	}
}

func TestTable(t *testing.T) {
	var out strings.Builder
	require.NoError(t, Table(&out, Options{Degree: 2, Messages: 10, Rest: time.Second}, []Row{{Processes: 256, Start: 1.25, Memory: 4e6, Links: 26.9, MostLinks: 27}}))
	require.Regexp(t, `(?m)^ +256 +1\.25 .* 26\.9 +27 +4\.0 `, out.String())
}
