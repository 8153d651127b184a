//go:build system

package systemtest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// binaries are the programs that the tests have built.
var binaries jobtest.Binaries

func TestMain(m *testing.M) { os.Exit(binaries.Main(m)) }

// hpccg and plain return the path of HPCCG: as users build it, and built without the tag.
func hpccg(t testing.TB) string { return binaries.Program(t, "examples/hpccg") }
func plain(t testing.TB) string { return binaries.Plain(t, "examples/hpccg") }

// jobRun is the visible result of a job.
type jobRun struct {
	code           int
	stdout, stderr string
	report         jobtest.Report // empty: no report
}

func newJobRun(t *testing.T, r jobtest.Result) jobRun {
	t.Helper()
	run := jobRun{code: r.Code, stdout: r.Stdout, stderr: r.Stderr}
	if report := r.Summary(t); report != nil {
		run.report = *report
	}
	return run
}

// start starts a job. The returned function waits for the end of the job.
func start(t *testing.T, flags string, program ...string) (*jobtest.Job, func() jobRun) {
	t.Helper()
	j := jobtest.Start(t, jobtest.Spec{Intrarun: binaries.Intrarun(t), Flags: strings.Fields(flags), Program: program})
	return j, func() jobRun {
		r := newJobRun(t, j.Wait(t))
		if r.report.Processes != nil {
			require.Equal(t, r.code, r.report.ExitCode, r.stderr)
		}
		return r
	}
}

// intrarun runs HPCCG with flags for intrarun and arguments for HPCCG.
func intrarun(t *testing.T, flags string, args ...string) jobRun {
	t.Helper()
	_, wait := start(t, flags, append([]string{hpccg(t)}, args...)...)
	return wait()
}

// serial runs HPCCG built without the tag, as a single process.
func serial(t *testing.T, args ...string) jobRun {
	t.Helper()
	_, wait := start(t, "-r 1", append([]string{plain(t)}, args...)...)
	return wait()
}

// await waits until a job has printed a text, or intrarun has ended.
func await(t *testing.T, j *jobtest.Job, text string) {
	t.Helper()
	for !strings.Contains(j.Stderr(), text) {
		select {
		case <-j.Ended():
			return
		case <-time.After(time.Millisecond):
		}
	}
}

var small = strings.Fields("-nx 6 -ny 5 -nz 4 -iters 12 -json")

// sum returns all bits of the line of JSON that a run of HPCCG printed.
func (r jobRun) sum(t *testing.T) string {
	t.Helper()
	require.Zero(t, r.code, "%s", r.stderr)
	require.Equal(t, 1, strings.Count(r.stdout, "\n"), "%s", r.stdout)
	return bits(t, r.stdout)
}

// bits reads the output of HPCCG. The bits include the residuals, because x does not
// change after it has converged.
func bits(t *testing.T, stdout string) string {
	t.Helper()
	var out struct {
		XSHA256  string          `json:"x_sha256"`
		Residual json.RawMessage `json:"residual"`
		History  json.RawMessage `json:"history"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &out))
	require.Len(t, out.XSHA256, 64)
	require.NotEmpty(t, out.Residual)
	require.NotEmpty(t, out.History)
	return fmt.Sprintf("%s %s %s", out.XSHA256, out.Residual, out.History)
}
