//go:build system

package hosts

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// degree asks the job to change numbers of replicas.
func (c *cluster) degree(job run, degrees ...string) (string, error) {
	c.t.Helper()
	args := append([]string{"netns", "exec", c.Hosts[0].Name, binaries.Intrarun(c.t), "degree", strconv.Itoa(job.PID())}, degrees...)
	out, err := exec.Command("ip", args...).CombinedOutput()
	return string(out), err
}

// intrarun degree lets replicas go and adds others, even if the joiner or the replica that sends
// the state to it is killed meanwhile. The result is the same.
func TestDegreesByHand(t *testing.T) {
	for _, s := range []struct {
		name   string
		flags  string
		matrix bool
		died   int
	}{
		{"nobody dies", "", true, 0},
		{"the one that joins is killed", " -kill 0.1@join:receive", false, 1},
		{"the one that gives its state is killed", " -backup 20 -kill 0.0@join:copy", true, 1},
	} {
		t.Run(s.name, func(t *testing.T) {
			if s.matrix {
				jobtest.NeedMatrix(t, "this is simulated, too")
			}
			program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "1000", "-json"}
			c := newCluster(t, 3)
			want := c.run(c.list(2, 1), "-n 2 -r 1", program...)
			require.Zero(t, want.Code, want.Stderr)
			job := c.start(c.list(2, 1, 2), "-n 2 -r 1..2 -v"+s.flags, program...)
			out := ""
			require.Eventually(t, func() (ok bool) {
				var err error
				out, err = c.degree(job, "0=1", "1=1")
				return err == nil
			}, jobtest.Deadline, 10*time.Millisecond, "%s%s", out, job.Stderr())
			job.await("1 of 2 replicas of rank 0 left")
			job.await("1 of 2 replicas of rank 1 left")
			out, err := c.degree(job, "0=3")
			require.ErrorContains(t, err, "exit status 1")
			require.Contains(t, out, "rank 0: 3 is outside of its range of 1..2 replicas")
			out, err = c.degree(job, "0=2")
			require.NoError(t, err, out)
			require.Contains(t, out, "replicas join and leave at the next safe points")
			job.await("0.1 is added on")
			r := job.wait()
			require.Zero(t, r.Code, r.Stderr)
			require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
			var g growth
			r.Decode(t, &g)
			require.Equal(t, []int{2, 2}, g.Degrees)
			var degrees []int
			for _, change := range g.Changes {
				degrees = append(degrees, change.Degree)
			}
			if s.died == 0 {
				require.Equal(t, []int{1, 1, 2}, degrees)
			}
			var d drains
			r.Decode(t, &d)
			require.Len(t, d.Failures, s.died, r.Stderr)
			require.Equal(t, strings.Contains(s.flags, "-backup"), len(d.Rollbacks) > 0, r.Stderr)
			c.requireEmpty()
		})
	}
}
