//go:build system

package systemtest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/netns"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// Results stay where they were computed on hosts that are lost, cut off or drained, and the head
// is lost, also while a process runs again. The result is that of a run without replicas.
// INTRA_KEEP_HOSTS=N tries N seeds, INTRA_SEED=S begins there.
func TestKeptResultsOnHosts(t *testing.T) {
	t.Parallel()
	first, n := simseed.Environment(t, "INTRA_SEED", 0), simseed.Environment(t, "INTRA_KEEP_HOSTS", uint64(jobtest.Count(1, 7)))
	net := netns.Test(t, 4)
	seen := make(map[string]int)
	for seed := first; seed < first+n; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newKeptLoss(seed)
			args := []string{fmt.Sprint(seed), "300", "5ms"}
			want := keeps(t, "-n 2 -r 1", seed, "300", "0s")
			require.Zero(t, want.code, want.stderr)
			r, lost := l.run(t, net, args)
			printed := fmt.Sprintf("INTRA_SEED=%d: %+v, the head was lost: %v\n%s", seed, l, lost, r.stderr)
			require.Zero(t, r.code, printed)
			require.Equal(t, slices.Max(sorted(want.stdout)), slices.Max(sorted(r.stdout)), printed)
			if !lost {
				require.Equal(t, sorted(want.stdout), sorted(r.stdout), printed)
			}
			for _, p := range r.report.Processes {
				seen["second runs"] += len(p.SecondRuns)
			}
			seen["deaths"] += len(r.report.Failures)
			seen[l.What]++
			if lost {
				seen["heads"]++
			}
		})
	}
	t.Logf("%d jobs: %v", n, seen)
}

// keptLoss is what happens to the hosts of a job.
type keptLoss struct {
	What  string
	Flags string
	Slots int // of each host
	Wait  time.Duration
}

func newKeptLoss(seed uint64) keptLoss {
	rng := rand.New(rand.NewPCG(seed, 12))
	what := []string{"host", "head", "host, then head", "down", "drain", "cut", "agent"}
	l := keptLoss{What: what[seed%uint64(len(what))], Slots: 1 + rng.IntN(2), Wait: time.Duration(rng.IntN(1500)) * time.Millisecond}
	l.Flags = fmt.Sprintf("-n 2 -r 2 -fault stale -lag %s", []string{"20ms", "300ms", "1s", "10s"}[rng.IntN(4)])
	switch {
	case l.What == "host, then head":
		l.Slots = 1
	case l.What == "drain":
		l.Slots, l.Flags = 2, l.Flags+" -replace"
	case l.Slots == 2 && (l.What == "head" || rng.IntN(2) == 0): // the head survives on three hosts
		l.Flags += " -replace"
	}
	return l
}

// run runs a job. It reports whether the head was lost.
func (l keptLoss) run(t *testing.T, net *netns.Net, args []string) (jobRun, bool) {
	spec := hostedSpec(t, net, l.Slots, l.Flags, nil)
	spec.Program = append([]string{binaries.Program(t, "internal/testkit/systemtest/keeps")}, args...)
	j := &hostedJob{jobtest.Start(t, spec), t, net, spec}
	await(t, j.Job, joined)
	select {
	case <-j.Ended():
	case <-time.After(l.Wait):
	}
	victim := map[int]int{1: 3, 2: 1}[l.Slots] // it has processes
	switch l.What {
	case "host":
		require.NoError(t, net.Hosts[victim].Kill())
	case "down":
		require.NoError(t, net.Hosts[victim].Down())
	case "cut":
		net.Around(victim, netns.Conditions{Cut: true})
		time.Sleep(400 * time.Millisecond)
		net.Around(victim, netns.Conditions{})
	case "drain":
		signalAgent(t, net.Hosts[victim], syscall.SIGTERM)
	case "agent":
		signalAgent(t, net.Hosts[victim], syscall.SIGKILL)
	case "host, then head":
		require.NoError(t, net.Hosts[victim].Kill())
		await(t, j.Job, " runs again from safe point ")
		fallthrough
	case "head":
		j.lose(net.Hosts[0].Kill)
		return j.end()
	}
	r := newJobRun(t, j.Wait(t))
	for _, h := range net.Hosts {
		require.NoError(t, h.Up())
	}
	return r, false
}

// signalAgent sends a signal to the agent of a host.
func signalAgent(t *testing.T, h *netns.Host, s syscall.Signal) {
	all, err := h.Processes()
	require.NoError(t, err)
	for _, pid := range all {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		if bytes.HasSuffix(line, []byte("\x00-agent\x00")) {
			require.NoError(t, ignoreGone(syscall.Kill(pid, s)))
		}
	}
}
