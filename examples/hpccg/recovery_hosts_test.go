//go:build !intra

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/netns"
)

// Processes of a lost host are replaced on hosts with free slots, by spares or
// by new processes; a rank that was only there comes back from its backup.
func TestRecoveryOnSeveralHosts(t *testing.T) {
	n := netns.Test(t, 3)
	lose := func() {
		time.Sleep(time.Second) // for the first backup
		require.NoError(t, n.Hosts[1].Kill())
	}
	want := make(map[string]string)
	for _, c := range []struct {
		name, flags string
		slots       int
		passes      int // enough for the detection of a lost host
		during      func()
		replaced    []string
		rollbacks   int
		failures    int
	}{
		{"a process", "-n 2 -r 2 -replace -kill 1.1@section:50", 2, 400, nil, []string{"1.1"}, 0, 1},
		{"a spare, encrypted", "-n 2 -r 2 -spares 1 -tls -kill 1.1@section:50", 2, 400, nil, []string{"1.1"}, 0, 1},
		{"a host", "-n 2 -r 2 -replace", 2, 1200, lose, []string{"0.1", "1.1"}, 0, 2},
		{"a host with the only replica", "-n 2 -r 1 -spares 1 -backup 2", 1, 1200, lose, []string{"1.0"}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var (
				code                  int
				problem, hash, stderr string
				rep                   map[string]any
			)
			for passes := c.passes; passes < 100*c.passes; passes *= 4 { // until it lasts long enough
				problem = fmt.Sprintf("-nx 24 -ny 24 -nz 24 -iters %d", passes)
				code, hash, stderr, rep = onHosts(t, n, c.slots, c.flags, problem, c.during)
				require.NoError(t, n.Hosts[1].Up())
				if code != 0 || len(rep["replacements"].([]any)) == len(c.replaced) {
					break
				}
			}
			if want[problem] == "" {
				_, want[problem] = intrarun(t, "-n 2 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
			}
			require.Equal(t, 0, code, stderr)
			require.Equal(t, want[problem], hash, stderr)
			require.Len(t, rep["failures"], c.failures, stderr)
			var replaced []string
			for _, one := range rep["replacements"].([]any) {
				m := one.(map[string]any)
				replaced = append(replaced, fmt.Sprint(m["process"]))
				if c.during != nil {
					require.Equal(t, n.Hosts[2].Name, m["host"], stderr)
				}
			}
			require.ElementsMatch(t, c.replaced, replaced, stderr)
			require.Len(t, rep["rollbacks"], c.rollbacks, stderr)
		})
	}
	for _, h := range n.Hosts {
		require.Eventually(t, func() bool {
			all, err := h.Processes()
			return err == nil && len(all) == 0
		}, 10*time.Second, 20*time.Millisecond, "something is left on %s", h.Name)
	}
}

// A link that breaks between the only replicas of two ranks, both alive, costs
// one of them its life, and the job goes back to its last backup.
func TestLinkBetweenLastReplicas(t *testing.T) {
	n := netns.Test(t, 4)
	cut := func() {
		time.Sleep(time.Second) // for the first backup
		n.Between(1, 2, netns.Conditions{Loss: 1})
	}
	problem := "-nx 24 -ny 24 -nz 24 -iters 800"
	code, hash, stderr, rep := onHosts(t, n, 1, "-n 3 -r 1 -replace -backup 2", problem, cut)
	require.Equal(t, 0, code, stderr)
	_, want := intrarun(t, "-n 3 -r 1", append(strings.Fields(problem), "-json")...).sum(t)
	require.Equal(t, want, hash, stderr)
	require.NotEmpty(t, rep["rollbacks"], stderr)
	require.Equal(t, "link", rep["failures"].([]any)[0].(map[string]any)["cause"], stderr)
}
