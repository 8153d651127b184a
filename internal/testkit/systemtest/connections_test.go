//go:build system

package systemtest

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/jobtest"
	"github.com/intrahpc/intra/internal/testkit/needs"
	"github.com/intrahpc/intra/internal/testkit/netns"
)

// cutter repeatedly destroys the TCP connections between processes of HPCCG on a host, like a
// router that loses its state. The connections of the agents stay.
type cutter struct {
	host *netns.Host
	cuts int
	stop chan struct{}
	done sync.WaitGroup
}

func startCutter(t *testing.T, h *netns.Host, every time.Duration) *cutter {
	needs.Tool(t, "ss", "iproute2")
	c := &cutter{host: h, stop: make(chan struct{})}
	c.done.Go(func() {
		for {
			select {
			case <-time.After(every):
				c.cut()
			case <-c.stop:
				return
			}
		}
	})
	return c
}

func (c *cutter) cut() {
	out, err := c.host.Command("ss", "-Htnp", "state", "established").Output()
	if err != nil {
		return
	}
	var filter []string
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 5 && strings.Contains(f[4], `"hpccg-`) {
			filter = append(filter, "( src "+f[2]+" and dst "+f[3]+" )")
		}
	}
	if len(filter) == 0 {
		return
	}
	killed, err := c.host.Command("ss", "-KHtn", "state", "established", strings.Join(filter, " or ")).Output()
	if err == nil {
		c.cuts += strings.Count(string(killed), "\n")
	}
}

func (c *cutter) end() int {
	close(c.stop)
	c.done.Wait()
	return c.cuts
}

// A job continues across lost connections: no process is declared dead, no
// necessary frame is lost, and the result is the same.
func TestConnectionsAreCut(t *testing.T) {
	t.Parallel()
	const problem = "-nx 16 -ny 16 -nz 16 -iters 600"
	n := netns.Test(t, 2)
	want := intrarun(t, "-n 2 -r 1", append(strings.Fields(problem), "-json")...)
	hash := want.sum(t)
	for _, c := range jobtest.Some([]struct{ name, flags string }{
		{"static", "-n 2 -r 2 -sched static"},
		{"adaptive", "-n 2 -r 2"},
		{"encrypted", "-n 2 -r 2 -sched static -tls"},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			var cut *cutter
			r, got := onHosts(t, n, 2, c.flags, problem, func() { cut = startCutter(t, n.Hosts[0], 100*time.Millisecond) })
			require.NotNil(t, cut, r.stderr)
			cuts := cut.end()
			if cuts == 0 {
				t.Skip("this kernel does not let ss -K destroy connections")
			}
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, hash, got, r.stderr)
			require.Empty(t, r.report.Failures)
			t.Logf("%d ends of connections destroyed, %v updates lost", cuts, r.report.UpdatesLost)
		})
	}
}
