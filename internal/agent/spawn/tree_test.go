package spawn

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
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
		require.Equal(t, c.want, (&Tree{hostNames(c.hosts), c.fanout}).String(), "%d hosts, %d each", c.hosts, c.fanout)
	}
}

// Every host is started once, after its starter. No starter starts more hosts than the fanout,
// and the tree has no more levels than necessary.
func TestTreesHaveFewLevels(t *testing.T) {
	for _, fanout := range []int{1, 2, 3, 7, 32, 100} {
		for n := range 150 {
			tr := &Tree{hostNames(n), fanout}
			depth := map[string]int{"": 0}
			deepest := 0
			tr.Walk(func(starter string, hosts []string) {
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
