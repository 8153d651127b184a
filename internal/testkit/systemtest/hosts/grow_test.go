//go:build system

package hosts

import (
	"encoding/json"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
)

// growth is the part of a report about the number of replicas.
type growth struct {
	Degrees []int
	Most    []int `json:"max_degrees"`
	Changes []struct {
		At      float64 `json:"at_seconds"`
		Process job.Process
		Degree  int
	} `json:"degrees_over_time"`
	Replacements []any
	Received     int64 `json:"tasks_received"`
}

// With -r 1..2 a rank begins with one replica, since there is room for one. A host that joins
// runs another, which shares the work. When that host leaves, the first replica goes on alone.
func TestReplicaIsAddedWhenAHostJoins(t *testing.T) {
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "1200", "-json"}
	c := newCluster(t, 3)
	want := c.run(c.list(1, 1), "-n 1 -r 1", program...)
	require.Zero(t, want.Code, want.Stderr)
	job := c.start(c.list(1, 1), "-n 1 -r 1..2 -sched static -v", program...)
	job.await("all have joined")
	guest := c.join(job, 2, "")
	job.await("0.1 is added on " + c.Hosts[2].Name)
	require.Eventually(t, func() bool { // it has begun to work
		out, err := exec.Command("ip", "netns", "exec", c.Hosts[0].Name, binaries.Intrarun(t), "status", "-json", strconv.Itoa(job.PID())).Output()
		var s struct {
			Processes []struct {
				Tasks int `json:"tasks_run"`
			}
		}
		return err == nil && json.Unmarshal(out, &s) == nil && len(s.Processes) == 2 && s.Processes[1].Tasks > 100
	}, jobtest.Deadline, 10*time.Millisecond)
	c.drain(job, 2)
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
	var g growth
	r.Decode(t, &g)
	require.Equal(t, []int{1}, g.Degrees)
	require.Equal(t, []int{2}, g.Most)
	require.Len(t, g.Changes, 2, r.Stderr)
	require.Equal(t, 2, g.Changes[0].Degree)
	require.Equal(t, 1, g.Changes[1].Degree)
	require.Empty(t, g.Replacements, "it replaces none")
	require.Positive(t, g.Received, "they share the work")
	require.NoError(t, guest.Wait(), "%s", guest.Stderr)
	c.requireEmpty()
}

// The replica that was added goes on alone when the host of the first one is lost, and another
// one is added when a host joins.
func TestAddedReplicaGoesOnAlone(t *testing.T) {
	jobtest.NeedMatrix(t, "each of these steps is tested alone")
	program := []string{binaries.Program(t, "examples/hpccg"), "-nx", "40", "-ny", "40", "-nz", "40", "-iters", "2500", "-json"}
	c := newCluster(t, 5)
	want := c.run(c.list(1, 1, 2, 3), "-n 3 -r 1", program...)
	require.Zero(t, want.Code, want.Stderr)
	job := c.start(c.list(1, 1, 2, 3), "-n 3 -r 1..2 -backup 20 -v", program...)
	job.await("the first backup is complete")
	c.join(job, 4, "-slots 3")
	for _, p := range []string{"0.1", "1.1", "2.1"} {
		job.await(p + " is added on " + c.Hosts[4].Name)
	}
	require.NoError(t, c.Hosts[2].Kill())
	r := job.wait()
	require.Zero(t, r.Code, r.Stderr)
	require.Equal(t, hash(t, want.Stdout), hash(t, r.Stdout))
	c.requireEmpty()
}
