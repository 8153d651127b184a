//go:build system

package systemtest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

func TestHPCCGOnSeveralHosts(t *testing.T) {
	t.Parallel()
	const problem = "-nx 24 -ny 24 -nz 24"
	n := netns.Test(t, 4)
	want := intrarun(t, "-n 4 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	for _, c := range jobtest.Some([]struct {
		name   string
		flags  string
		during func()
		causes []string
	}{
		{"nobody dies", "-n 4 -r 2", nil, nil},
		{"encrypted", "-n 4 -r 2 -tls", nil, nil},
		{"a short cut", "-n 4 -r 2", func() {
			n.Around(2, netns.Conditions{Cut: true})
			time.Sleep(400 * time.Millisecond)
			n.Around(2, netns.Conditions{})
		}, nil},
		{"a short cut of one direction between two hosts", "-n 4 -r 2", func() {
			n.Set(2, 3, netns.Conditions{Cut: true})
			time.Sleep(300 * time.Millisecond)
			n.Set(2, 3, netns.Conditions{})
		}, nil},
		{"a link goes down and comes up again", "-n 4 -r 2", func() {
			require.NoError(t, n.Hosts[3].Down())
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, n.Hosts[3].Up())
		}, nil},
		{"in the middle of an update and of a message, encrypted", "-n 4 -r 2 -tls -kill 1.0@update:40 -kill 2.1@message:60", nil, []string{"1.0 injected", "2.1 injected"}},
		{"a host is lost", "-n 4 -r 2", func() { require.NoError(t, n.Hosts[3].Kill()) }, []string{"2.1 host", "3.1 host"}},
		{"a link goes down", "-n 4 -r 2", func() { require.NoError(t, n.Hosts[1].Down()) }, []string{"2.0 host", "3.0 host"}},
	}, 5, 6) {
		t.Run(c.name, func(t *testing.T) {
			r, hash := onHosts(t, n, 2, c.flags, problem, c.during)
			for _, h := range n.Hosts {
				require.NoError(t, h.Up())
			}
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, want, hash, r.stderr)
			require.ElementsMatch(t, c.causes, r.report.Deaths(), r.stderr)
			t.Log("seconds:", r.report.WallSeconds)
		})
	}
}

// Agents start each other along a tree. The loss of an agent that has started others is
// the loss of its host only.
func TestHPCCGOnATreeOfHosts(t *testing.T) {
	t.Parallel()
	const problem = "-nx 16 -ny 16 -nz 16 -iters 400"
	n := netns.Test(t, 7)
	want := intrarun(t, "-n 4 -r 1", append(strings.Fields(problem), "-json")...)
	hash := want.sum(t)
	kill := func() { signalAgent(t, n.Hosts[3], syscall.SIGKILL) }
	r, got := onHosts(t, n, 1, "-degrees 1,2,2,2 -fanout 2", problem, kill)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, hash, got, r.stderr)
	require.Contains(t, r.stderr, fmt.Sprintf("%s starts %s\n", n.Hosts[5].Name, n.Hosts[6].Name), "three levels")
	require.Len(t, r.report.Failures, 1, r.stderr)
	require.Equal(t, job.CauseHost, r.report.Failures[0].Cause, r.stderr)
}

// A program that is built for the run is sent to hosts that do not share the folder in
// which it was built.
func TestPackageOnHostsWithoutSharedFiles(t *testing.T) {
	t.Parallel()
	n := netns.Test(t, 2)
	private := t.TempDir()
	r := jobtest.Run(t, jobtest.Spec{
		Intrarun: binaries.Intrarun(t),
		Flags: []string{"-n", "1", "-hosts", n.Hosts[0].Name + "," + n.Hosts[1].Name,
			"-rsh", "ip netns exec {host} unshare -m sh -c 'mount -t tmpfs none " + private + " && exec \"$@\"' sh"},
		Program:  append([]string{"../../../examples/hpccg"}, small...),
		Prefix:   []string{"ip", "netns", "exec", n.Hosts[0].Name},
		Env:      []string{"TMPDIR=" + private},
		Deadline: patience, // includes the time to build it
	})
	require.Zero(t, r.Code, r.Stderr)
	require.Contains(t, r.Stdout, "x_sha256")
	left, err := os.ReadDir(private)
	require.NoError(t, err)
	require.Empty(t, left)
}
