package job

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSparesAreSpread(t *testing.T) {
	hosts, err := ParseHosts("a:2,b:2,c:2,d:1")
	require.NoError(t, err)
	p, err := Place([]int{2, 2}, hosts, false)
	require.NoError(t, err)
	require.Len(t, p.Hosts, 2)
	require.NoError(t, p.Reserve(3, hosts, false))
	require.Equal(t, "a, 2 of 2 slots: 0.0 1.0\nb, 2 of 2 slots: 0.1 1.1\nc, 2 of 2 slots: spare spare\nd, 1 of 1 slots: spare\n", p.String())
	require.ErrorContains(t, p.Reserve(1, hosts[:2], false), "no slot is free for 1 of 1 spares")
	require.NoError(t, p.Reserve(1, hosts[:2], true))

	p, err = Place([]int{2}, hosts, false)
	require.NoError(t, err)
	p.Keep(hosts)
	require.Len(t, p.Hosts, len(hosts))
	require.Zero(t, p.SparesOn(0))
}
