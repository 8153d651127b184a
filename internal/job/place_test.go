package job

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		name    string
		degrees []int
		hosts   string // content of a host file
		over    bool
		want    string
		warning string
	}{
		{"a host per plane", []int{2, 2, 2, 2}, "a slots=4\nb slots=4", false,
			"a, 4 of 4 slots: 0.0 1.0 2.0 3.0\nb, 4 of 4 slots: 0.1 1.1 2.1 3.1\n", ""},
		{"neighbours stay together", []int{2, 2, 2, 2}, "h[1-4] slots=2", false,
			"h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 2.0 3.0\nh3, 2 of 2 slots: 0.1 1.1\nh4, 2 of 2 slots: 2.1 3.1\n", ""},
		{"planes share a host", []int{2, 2, 2}, "h[1-3] slots=2", false,
			"h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 0.1 2.0\nh3, 2 of 2 slots: 1.1 2.1\n", ""},
		{"hosts that are not needed", []int{2, 2}, "h[1-9] slots=2", false,
			"h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 0.1 1.1\n", ""},
		{"racks", []int{2, 2}, "h1 rack=a\nh2 rack=b\nh3 rack=a\nh4 rack=b", false,
			"h1 (rack a), 1 of 1 slots: 0.0\nh3 (rack a), 1 of 1 slots: 1.0\nh2 (rack b), 1 of 1 slots: 0.1\nh4 (rack b), 1 of 1 slots: 1.1\n", ""},
		{"a farther host in a rack of its own", []int{2, 2}, "h1 slots=2 rack=a\nh2 slots=2 rack=a\nh3 slots=2 rack=b", false,
			"h1 (rack a), 2 of 2 slots: 0.0 1.0\nh3 (rack b), 2 of 2 slots: 0.1 1.1\n", ""},
		{"hosts without a known rack count as separate racks", []int{2}, "h1\nh2\nh3 rack=a", false,
			"h1, 1 of 1 slots: 0.0\nh2, 1 of 1 slots: 0.1\n", ""},
		{"one rack", []int{2}, "h1 rack=a\nh2 rack=a", false,
			"h1 (rack a), 1 of 1 slots: 0.0\nh2 (rack a), 1 of 1 slots: 0.1\n", "rank 0 share a rack"},
		{"degrees differ", []int{1, 3, 2}, "h[1-3] slots=2", false,
			"h1, 2 of 2 slots: 0.0 1.0\nh2, 2 of 2 slots: 1.1 2.0\nh3, 2 of 2 slots: 1.2 2.1\n", ""},
		{"a large host is not filled too early", []int{2, 2, 2}, "big slots=3\ns[1-3]", false,
			"big, 3 of 3 slots: 0.0 1.0 2.0\ns1, 1 of 1 slots: 0.1\ns2, 1 of 1 slots: 1.1\ns3, 1 of 1 slots: 2.1\n", ""},
		{"a large host is not filled too late", []int{2, 2, 2}, "s[1-3]\nbig slots=3", false,
			"s1, 1 of 1 slots: 0.0\ns2, 1 of 1 slots: 1.0\ns3, 1 of 1 slots: 2.0\nbig, 3 of 3 slots: 0.1 1.1 2.1\n", ""},
		{"one host", []int{2, 2}, "h slots=4", false, "h, 4 of 4 slots: 0.0 0.1 1.0 1.1\n", "ranks 0, 1 share a host"},
		{"oversubscribed in proportion", []int{1, 1, 1, 1, 1, 1}, "h1 slots=2\nh2 slots=1", true,
			"h1, 4 of 2 slots: 0.0 1.0 2.0 3.0\nh2, 2 of 1 slots: 4.0 5.0\n", ""},
		{"oversubscribed", []int{2, 2, 2, 2}, "h1 slots=1\nh2 slots=1", true,
			"h1, 4 of 1 slots: 0.0 1.0 2.0 3.0\nh2, 4 of 1 slots: 0.1 1.1 2.1 3.1\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosts, err := ParseHostfile("hosts", strings.NewReader(c.hosts))
			require.NoError(t, err)
			p, err := Place(c.degrees, hosts, c.over)
			require.NoError(t, err)
			require.Equal(t, c.want, p.String())
			if c.warning == "" {
				require.Empty(t, p.Warning())
			}
			require.Contains(t, p.Warning(), c.warning)
		})
	}
	_, err := Place([]int{2, 2}, []Host{{Name: "h", Slots: 3}}, false)
	require.ErrorIs(t, err, ErrHosts)
	require.ErrorContains(t, err, "4 processes for 3 slots")
}

// separable decides by search whether each replica can have a host of its own.
func separable(degrees, room []int) bool {
	if len(degrees) == 0 {
		return true
	}
	var try func(from, more int) bool
	try = func(from, more int) bool {
		if more == 0 {
			return separable(degrees[1:], room)
		}
		for h := from; h < len(room); h++ {
			if room[h] > 0 {
				room[h]--
				ok := try(h+1, more-1)
				room[h]++
				if ok {
					return true
				}
			}
		}
		return false
	}
	return try(0, degrees[0])
}

func TestPlaceAgainstSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	apart := 0
	for range 3000 {
		degrees, hosts := make([]int, 1+r.IntN(5)), make([]Host, 1+r.IntN(5))
		for i := range degrees {
			degrees[i] = 1 + r.IntN(4)
		}
		room := make([]int, len(hosts))
		for i := range hosts {
			room[i] = 1 + r.IntN(5)
			hosts[i] = Host{Name: string(rune('a' + i)), Slots: room[i], Rack: []string{"", "x", "y"}[r.IntN(3)]}
		}
		p, err := Place(degrees, hosts, false)
		if err != nil {
			require.Greater(t, len(Processes(degrees)), sum(room))
			continue
		}
		require.Len(t, p.Of, len(Processes(degrees)))
		for i, h := range p.Hosts {
			require.LessOrEqual(t, len(p.On(i)), h.Slots)
			require.NotEmpty(t, p.On(i))
		}
		for rank, d := range degrees {
			on := make(map[int]bool)
			for k := range d {
				on[p.Of[Process{rank, k}]] = true
			}
			require.Equal(t, slices.Contains(p.Together, rank), len(on) < d)
		}
		require.Equal(t, separable(degrees, room), len(p.Together) == 0, "%v on %v", degrees, hosts)
		if len(p.Together) == 0 {
			apart++
		}
	}
	require.Greater(t, apart, 300)
}

// The replicas of a single rank use as many racks as possible. A host whose rack is not
// known counts as a rack.
func TestPlaceUsesAllRacks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	shared := 0
	for range 2000 {
		hosts, racks := make([]Host, 1+r.IntN(6)), make(map[string]bool)
		for i := range hosts {
			hosts[i] = Host{Name: string(rune('a' + i)), Slots: 1 + r.IntN(3), Rack: []string{"", "x", "y", "z"}[r.IntN(4)]}
			racks[rackOf(hosts[i])] = true
		}
		degree := 1 + r.IntN(len(hosts))
		p, err := Place([]int{degree}, hosts, false)
		require.NoError(t, err)
		used := make(map[string]bool)
		for k := range degree {
			used[rackOf(p.Hosts[p.Of[Process{0, k}]])] = true
		}
		require.Len(t, used, min(degree, len(racks)), "%d replicas on %v", degree, hosts)
		require.Equal(t, len(used) < degree, slices.Contains(p.SameRack, 0))
		if len(used) < degree {
			shared++
		}
	}
	require.Greater(t, shared, 100)
}

func rackOf(h Host) string {
	if h.Rack == "" {
		return "host " + h.Name
	}
	return h.Rack
}

func sum(all []int) (n int) {
	for _, v := range all {
		n += v
	}
	return n
}
