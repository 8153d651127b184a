package arbiter

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	roster := func(hosts ...string) (all []Peer) {
		for i, h := range hosts {
			all = append(all, Peer{ID: ID(i + 1), Host: h})
		}
		return all
	}
	for _, c := range []struct {
		hosts   []string
		members []ID
		says    string
	}{
		{[]string{"a"}, []ID{1}, "losing the head on a ends the job: its decisions are kept on one host, because the job has 1 and surviving the loss takes 3"},
		{[]string{"a", "a", "b"}, []ID{1}, "because the job has 2 "},
		{[]string{"a", "b", "c"}, []ID{1, 2, 3}, "the job survives the loss of the head: its decisions are kept on a, b and c"},
		{[]string{"a", "a", "b", "b", "c", "d"}, []ID{1, 3, 5}, "kept on a, b and c"},
	} {
		members, text := Plan(roster(c.hosts...))
		require.Equal(t, c.members, members)
		require.Contains(t, text, c.says)
	}
}
