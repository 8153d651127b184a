package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Spares are placed on the hosts with the most free slots. So the loss of one host loses
// few of them.
func TestSparesAreSpread(t *testing.T) {
	for _, c := range []struct {
		name    string
		degrees []int
		hosts   string
		spares  int
		over    bool
		want    string
	}{
		{"over hosts without processes", []int{2, 2}, "a:2,b:2,c:2,d:2", 2, false,
			"a, 2 of 2 slots: 0.0 1.0\nb, 2 of 2 slots: 0.1 1.1\nc, 1 of 2 slots: spare\nd, 1 of 2 slots: spare\n"},
		{"the emptiest host first, in any order of the list", []int{2, 2}, "a:2,b:2,c:1,d:3", 3, false,
			"a, 2 of 2 slots: 0.0 1.0\nb, 2 of 2 slots: 0.1 1.1\nd, 2 of 3 slots: spare spare\nc, 1 of 1 slots: spare\n"},
		{"slots of processes are not free", []int{2, 2}, "a:3,b:3,c:2", 2, false,
			"a, 3 of 3 slots: 0.0 1.0 spare\nb, 2 of 3 slots: 0.1 1.1\nc, 1 of 2 slots: spare\n"},
		{"a full host gets none", []int{1, 1}, "a:1,b:1,c:4", 4, false,
			"a, 1 of 1 slots: 0.0\nb, 1 of 1 slots: 1.0\nc, 4 of 4 slots: spare spare spare spare\n"},
		{"without free slots they are spread, too", []int{2}, "a:1,b:1", 2, true,
			"a, 2 of 1 slots: 0.0 spare\nb, 2 of 1 slots: 0.1 spare\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			hosts, err := ParseHosts(c.hosts)
			require.NoError(t, err)
			p, err := Place(c.degrees, hosts, c.over)
			require.NoError(t, err)
			require.NoError(t, p.Reserve(c.spares, hosts, c.over))
			require.Equal(t, c.want, p.String())
		})
	}
}

func TestSparesNeedSlots(t *testing.T) {
	hosts, err := ParseHosts("a:2,b:2,c:2")
	require.NoError(t, err)
	p, err := Place([]int{2, 2}, hosts, false)
	require.NoError(t, err)
	require.ErrorContains(t, p.Reserve(1, hosts[:2], false), "no slot is free for 1 of 1 spares")
	require.ErrorContains(t, p.Reserve(5, hosts, false), "no slot is free for 3 of 5 spares")
	require.NoError(t, p.Reserve(1, hosts[:2], true))
}

func TestHostsAreKeptForReplacements(t *testing.T) {
	hosts, err := ParseHosts("a:2,b:2,c:2,d:1")
	require.NoError(t, err)
	p, err := Place([]int{2}, hosts, false)
	require.NoError(t, err)
	p.Keep(hosts)
	require.Len(t, p.Hosts, len(hosts))
	require.Zero(t, p.SparesOn(0))
}
