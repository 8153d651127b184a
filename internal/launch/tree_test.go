package launch

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func hostNames(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("h%d", i))
	}
	return all
}

func TestTree(t *testing.T) {
	for _, c := range []struct {
		hosts, fanout int
		want          string
	}{
		{0, 32, ""},
		{1, 1, ""},
		{32, 32, ""},
		{3, 1, "intrarun starts h0\nh0 starts h1\nh1 starts h2\n"},
		{7, 2, "intrarun starts h0 h3\nh0 starts h1 h2\nh3 starts h4 h5\nh5 starts h6\n"},
		{8, 3, "intrarun starts h0 h2 h5\nh0 starts h1\nh2 starts h3 h4\nh5 starts h6 h7\n"},
	} {
		require.Equal(t, c.want, (&tree{hostNames(c.hosts), c.fanout}).String(), "%d hosts, %d each", c.hosts, c.fanout)
	}
}

// Every host is started once, after the one that starts it; nobody starts more
// than the fanout, and there are no more levels than that takes.
func TestTreesAreLow(t *testing.T) {
	for _, fanout := range []int{1, 2, 3, 7, 32, 100} {
		for n := range 150 {
			tr := &tree{hostNames(n), fanout}
			depth := map[string]int{"": 0}
			deepest := 0
			tr.walk(func(starter string, hosts []string) {
				require.Contains(t, depth, starter)
				require.LessOrEqual(t, len(hosts), fanout)
				for _, h := range hosts {
					require.NotContains(t, depth, h)
					depth[h] = depth[starter] + 1
					deepest = max(deepest, depth[h])
				}
			})
			require.Len(t, depth, n+1)
			room, levels := 0, 0
			for width := fanout; room < n; width *= fanout {
				room, levels = room+width, levels+1
			}
			require.Equal(t, levels, deepest, "%d hosts, %d each", n, fanout)
			require.Equal(t, levels, tr.height(), "%d hosts, %d each", n, fanout)
		}
	}
}

// What stands behind -hosts and -rsh, and who starts whom.
func TestTreeOfAJob(t *testing.T) {
	var hosts []job.Host
	for _, name := range append(hostNames(3), "localhost") {
		hosts = append(hosts, job.Host{Name: name})
	}
	for _, c := range []struct {
		name   string
		config Config
		want   tree
	}{
		{"this host first", Config{RemoteShell: "ssh {host}", Fanout: 2}, tree{[]string{"localhost", "h0", "h1", "h2"}, 2}},
		{"as many as usual", Config{RemoteShell: "ssh {host}"}, tree{[]string{"localhost", "h0", "h1", "h2"}, DefaultFanout}},
		{"srun starts all", Config{RemoteShell: "/opt/bin/srun -w {host}", Fanout: 1}, tree{[]string{"localhost", "h0", "h1", "h2"}, 4}},
		{"the others come by themselves", Config{Indexed: &Indexed{Hosts: hosts}, Fanout: 1}, tree{[]string{"h0"}, 1}},
	} {
		c.config.Placement = &job.Placement{Hosts: hosts}
		require.Equal(t, &c.want, c.config.tree(), c.name)
	}
}

func TestCheckFanout(t *testing.T) {
	for text, c := range map[string]Config{
		"":                   {Fanout: 1, RemoteShell: "ssh {host}"},
		"want a number":      {Fanout: 0, RemoteShell: "ssh {host}"},
		"come by themselves": {Fanout: 2, Indexed: &Indexed{}},
		"srun starts all":    {Fanout: 2, RemoteShell: job.SlurmShell},
	} {
		err := c.CheckFanout()
		if text == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, text)
	}
}
