//go:build system

package hosts

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// drains is the part of a report about hosts that have left the job.
type drains struct {
	Drains []struct {
		Host    string
		Reason  string
		Ranks   []int
		Bytes   int64
		Stall   float64 `json:"stall_ms"`
		Seconds float64
	}
	Rollbacks []any
	Failures  []any
}

// An agent that receives SIGTERM moves the processes of its host, even the last replica of
// a rank, and ends. The job does not roll back and has the same result. If the process
// that takes over is killed, another one takes over. If the process that leaves is killed,
// the job continues as after any death.
func TestHostLeavesOnNotice(t *testing.T) {
	for _, s := range []struct {
		name   string
		flags  string
		matrix bool // runs only in the matrix
		died   int
		back   bool // the job rolls back
	}{
		{"the last replicas", "-n 2 -r 1", false, 0, false},
		{"with replicas elsewhere", "-n 2 -r 2", true, 0, false},
		{"the one that takes over is killed", "-n 2 -r 1 -kill 1.0@join:receive", false, 1, false},
		{"the one that leaves is killed", "-n 2 -r 1 -kill 1.0@join:copy", true, 1, true},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.matrix {
				jobtest.NeedMatrix(t, "each of these kills is simulated, too")
			}
			program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "700", "-json"}
			c := newCluster(t, 4)
			want := c.run(c.list(4, 1), "-n 2 -r 1", program...)
			require.Zero(t, want.Code, want.Stderr)
			slots := 1 + strings.Count(s.flags, "-r 2")
			job := c.start(c.list(slots, 1, 2, 3), s.flags+" -replace -backup 20 -v", program...)
			require.Eventually(t, func() bool { return strings.Contains(job.Stderr(), "the first backup is complete") }, jobtest.Deadline, time.Millisecond)
			require.NoError(t, syscall.Kill(c.agent(2), syscall.SIGTERM))
			r := job.wait()
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
			require.Contains(t, r.Stderr, c.Hosts[2].Name+": intrarun: agent: this host has left the job")
			var d drains
			r.Decode(t, &d)
			require.Len(t, d.Drains, 1, r.Stderr)
			require.Equal(t, c.Hosts[2].Name, d.Drains[0].Host)
			require.Equal(t, "SIGTERM to its agent", d.Drains[0].Reason)
			require.Positive(t, d.Drains[0].Seconds, r.Stderr)
			require.Len(t, d.Failures, s.died, r.Stderr)
			require.Equal(t, s.back, len(d.Rollbacks) > 0, r.Stderr)
			require.Equal(t, s.back, len(d.Drains[0].Ranks) == 0, r.Stderr)
			t.Logf("%+v", d.Drains[0])
			c.requireEmpty()
		})
	}
}

// hash returns the hash of the result of hpccg -json.
func hash(t *testing.T, out string) string {
	_, after, ok := strings.Cut(out, `"x_sha256":"`)
	require.True(t, ok, out)
	return after[:64]
}
