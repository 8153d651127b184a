package supervise

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest/steps"
)

// A process of an MPI launcher, and its replacement, runs on the processors that the launcher
// has chosen for it, not on those of the agent.
func TestProcessorsOfALauncher(t *testing.T) {
	all, err := affinity.Allowed()
	require.NoError(t, err)
	last := all[len(all)-1]
	w := watch(t, Plan{Path: "/bin/sh", Args: []string{"sh", "-c", "grep Cpus_allowed_list /proc/self/status"}, Environ: os.Environ()})
	w.identity = func() (*launcher.Identity, error) { return &launcher.Identity{Processors: []int{last}}, nil }
	p, other := job.Process{}, job.Process{Rank: 1}
	for i, r := range []Role{First, Joiner} {
		w.Start(p, r)
		w.await(fmt.Sprintf("exited %v", p))
		w.await(fmt.Sprintf("end %v, %d", p, output.Stdout))
		require.Equal(t, strings.Repeat(fmt.Sprintf("Cpus_allowed_list:\t%d\n", last), i+1), w.written(p, output.Stdout))
		w.forget()
	}
	w.Start(other, Joiner)
	w.await(fmt.Sprintf("exited %v", other))
	w.await(fmt.Sprintf("end %v, %d", other, output.Stdout))
	if len(all) > 1 {
		require.NotEqual(t, fmt.Sprintf("Cpus_allowed_list:\t%d\n", last), w.written(other, output.Stdout))
	}
}

// A process has a slot on the board of its host until it has ended.
func TestSlots(t *testing.T) {
	w := newWard(t, "join", "forever")
	for _, p := range []job.Process{one, two} {
		w.Start(p, First)
		w.await(fmt.Sprintf("hello %v", p))
	}
	w.Signal(one, syscall.SIGKILL)
	w.await("exited 0.0")
	slot, ok := w.board.Take()
	require.True(t, ok)
	require.Zero(t, slot, "the process that has ended has no slot")
	slot, ok = w.board.Take()
	require.True(t, ok)
	require.Equal(t, 2, slot, "the other process still has its slot")

	w = watch(t, Plan{Path: os.Args[0], Args: steps.Program("join", "forever"), Environ: os.Environ(), Bind: affinity.None})
	w.Start(one, First)
	w.await("hello 0.0")
	require.Nil(t, w.board, "the kernel decides")
}
