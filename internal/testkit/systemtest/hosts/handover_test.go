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

// With -drain, SIGTERM to intrarun moves the processes of its host, and another host becomes the
// head. SIGTERM to the agent there moves processes and head once more. The job loses no safe point
// and has the same result, which intrarun prints.
func TestHeadsLeaveOnNotice(t *testing.T) {
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "1000", "-json"}
	c := newCluster(t, 4)
	spec := c.spec(c.list(2, 0, 1, 2, 3), "-n 3 -r 1 -replace -backup 20 -drain -v", program...)
	want := c.run(c.list(4, 1), "-n 3 -r 1", program...)
	require.Zero(t, want.Code, want.Stderr)
	spec.Dir = t.TempDir()
	h := &headless{run{jobtest.Start(t, spec), t}, spec.Dir}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("intrarun said:\n%s\nits successors:\n%s", h.Stderr(), h.left(".err"))
		}
	})
	h.await("the first backup is complete")
	head := h.handOver(c)
	require.NoError(t, syscall.Kill(c.agent(head), syscall.SIGTERM))
	h.next(c, 2)
	r, out, errs := h.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Empty(t, out+errs)
	require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
	var d drains
	r.Decode(t, &d)
	require.Len(t, d.Drains, 2, r.Stderr)
	for i, why := range []string{"SIGTERM to intrarun", "SIGTERM to its agent"} {
		require.Equal(t, c.Hosts[i*head].Name, d.Drains[i].Host)
		require.Equal(t, why, d.Drains[i].Reason)
		require.NotEmpty(t, d.Drains[i].Ranks)
	}
	require.Empty(t, d.Failures)
	require.Empty(t, d.Rollbacks)
	c.requireEmpty()
}

// An intrarun is killed some time after SIGTERM: before it hands over, while it does, or after
// that. The result is right nevertheless: another head continues the job, and moves the processes
// from that host.
func TestHeadIsKilledAfterNotice(t *testing.T) {
	jobtest.NeedMatrix(t, "the walks of package head lose heads that hand over")
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "500", "-json"}
	c := newCluster(t, 4)
	want := c.run(c.list(4, 1), "-n 3 -r 1", program...)
	require.Zero(t, want.Code, want.Stderr)
	for after := range 12 {
		spec := c.spec(c.list(2, 0, 1, 2, 3), "-n 3 -r 1 -replace -backup 20 -drain -v", program...)
		spec.Dir = t.TempDir()
		h := &headless{run{jobtest.Start(t, spec), t}, spec.Dir}
		h.await("the first backup is complete")
		require.NoError(t, syscall.Kill(h.PID(), syscall.SIGTERM))
		time.Sleep(time.Duration(after) * 30 * time.Millisecond)
		_ = syscall.Kill(h.PID(), syscall.SIGKILL) // it may have ended
		r, out, errs := h.wait()
		t.Logf("killed %d ms after notice: exit code %d", 30*after, r.Code)
		require.Contains(t, []int{0, -1}, r.Code, r.Stderr)
		if r.Code != 0 {
			require.Contains(t, errs, "intrarun: exit code 0\n", r.Stderr+errs)
		}
		require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout+out))
		c.requireEmpty()
	}
}

// SIGTERM to the agents of all hosts of a job with -checkpoint leaves its processes nowhere to
// go: a last set of files is written, and the job continues from it.
func TestAllHostsLeaveOnNotice(t *testing.T) {
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "700", "-json"}
	c := newCluster(t, 3)
	want := c.run(c.list(4, 1), "-n 2 -r 1", program...)
	require.Zero(t, want.Code, want.Stderr)
	dir := t.TempDir()
	job := c.start(c.list(1, 1, 2), "-n 2 -r 1 -v -checkpoint "+dir, program...)
	require.Eventually(t, func() bool { return strings.Contains(job.Stderr(), "checkpoint set 1 is complete") }, jobtest.Deadline, time.Millisecond)
	for _, host := range []int{1, 2} {
		require.NoError(t, syscall.Kill(c.agent(host), syscall.SIGTERM))
	}
	r := job.wait()
	require.Equal(t, 7, r.Code, r.Stderr)
	require.Contains(t, r.Stderr, "interrupted (SIGTERM to the agent of a host)")
	r = c.run(c.list(1, 1, 2), "-n 2 -r 1 -restart "+dir, program...)
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
	c.requireEmpty()
}
