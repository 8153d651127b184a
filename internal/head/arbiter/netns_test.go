//go:build system

package arbiter

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// onHosts starts a node on each of n hosts.
func onHosts(t *testing.T, n int, v6 bool) (*netns.Net, []*process) {
	hosts := netns.Test(t, n)
	var addresses []string
	for _, h := range hosts.Hosts {
		a := h.Addr
		if v6 {
			a = h.IPv6
		}
		addresses = append(addresses, a.String())
	}
	return hosts, startAt(t, addresses, func(i int) *exec.Cmd { return hosts.Hosts[i].Command(os.Args[0]) })
}

// TestPartition cuts off the host of the head. The others continue with another head. The old
// head, which still runs, learns of that when the network is whole again.
func TestPartition(t *testing.T) {
	for _, v6 := range []bool{false, true} {
		t.Run(fmt.Sprintf("IPv6 %v", v6), func(t *testing.T) {
			hosts, nodes := onHosts(t, 4, v6)
			hosts.Around(0, netns.Conditions{Cut: true})
			require.Eventually(t, func() bool {
				_, two := nodes[1].find("lead", any1)
				_, three := nodes[2].find("lead", any1)
				return two || three
			}, 60*time.Second, time.Millisecond)
			nodes[1].wait(t, string(decision.Lost), func(l outputLine) bool { return l.Node == Head })
			hosts.Around(0, netns.Conditions{})
			f := nodes[0].wait(t, "fence", any1)
			require.Contains(t, f.Text, "declared lost")
			require.False(t, f.Held)
		})
	}
}

// TestHalfDeadLink checks that no node loses its lease because a link is dead, or carries one
// direction only: other nodes forward its messages.
func TestHalfDeadLink(t *testing.T) {
	hosts, nodes := onHosts(t, 4, false)
	hosts.Set(3, 0, netns.Conditions{Cut: true})
	time.Sleep(1500 * time.Millisecond)
	hosts.Set(0, 3, netns.Conditions{Cut: true})
	time.Sleep(1500 * time.Millisecond)
	for i, n := range nodes {
		_, fenced := n.find("fence", any1)
		require.False(t, fenced, "node %d", i+1)
		_, verdict := n.find("verdict", any1)
		require.False(t, verdict, "node %d", i+1)
	}
	require.NoError(t, nodes[3].cmd.Process.Kill()) // all other nodes have watched node 3 all the time
	nodes[0].wait(t, "verdict", func(l outputLine) bool { return l.Process.Rank == 4 })
}
