package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// setUp is a head that gives a process its slot.
type setUp struct {
	Head
	setup job.Setup
}

func (h *setUp) Setup() job.Setup { return h.setup }

// An update that was lost with a connection counts as lost only if its sender sent it in
// its present incarnation.
func TestLostUpdateOfAFormerLife(t *testing.T) {
	peer := job.Process{Rank: 0, Replica: 1}
	e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{2}}}})
	e.incarnations[peer] = 2
	r := newReceiver(e, peer, 1)
	for _, incarnation := range []uint32{1, 3, 2} {
		h := update.Message{Kind: update.KindUpdate, Tasks: 4, Signature: 7}.Header(incarnation)
		r.Lost(&h)
		require.Equal(t, incarnation == 2, e.stats.total.UpdatesLost == 1, "in incarnation %d", incarnation)
	}
}
