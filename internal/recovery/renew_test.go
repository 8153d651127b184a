package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// TestRenewalAfterARollback rolls back while a copy is in flight to a new holder. The
// holder does not accept that copy any more, so it is sent again.
func TestRenewalAfterARollback(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1, 2}, Start: true, Backup: Policy{Every: 2}})
	h.backups.complete = &backup{number: 2}
	for rank := range 3 {
		h.backups.complete.copies = append(h.backups.complete.copies, []holder{
			{process: proc0(rank, 0), incarnation: 1, stored: true, source: true},
			{process: proc0((rank+1)%3, 0), incarnation: 1, stored: true},
		})
	}
	renewals := func(acts []Action) (all []Action) {
		for _, a := range acts {
			if a.Kind == Send && a.Order.Kind == job.OrderRenew && a.Order.Rank == 1 {
				all = append(all, a)
			}
		}
		return all
	}
	renew := Action{Kind: Send, To: proc0(1, 0), Incarnation: 1, Order: job.Order{Kind: job.OrderRenew, Number: 2, Rank: 1, Process: proc0(2, 1)}}
	require.Equal(t, []Action{renew}, renewals(h.Died(proc0(2, 0), 1, false, 0)))
	h.Reply(proc0(1, 0), 1, job.Reply{Kind: job.ReplyStored, Number: 2, Rank: 2}, 0)

	acts := h.Died(proc0(0, 0), 1, false, 0)
	require.Equal(t, Start, acts[0].Kind)
	joiner, incarnation := acts[0].To, acts[0].Incarnation
	h.Arrived(joiner, incarnation, 0)
	for _, q := range []job.Process{proc0(1, 0), proc0(2, 1)} {
		h.Reply(joiner, incarnation, job.Reply{Kind: job.ReplyLinked, Process: q, Incarnation: 1}, 0)
		h.Reply(q, 1, job.Reply{Kind: job.ReplyLinked, Process: joiner, Incarnation: incarnation}, 0)
	}
	require.Equal(t, uint32(1), h.Generation())
	ready := job.Reply{Kind: job.ReplyReady, Generation: 1, Number: 2}
	h.Reply(joiner, incarnation, ready, 0)
	h.Reply(proc0(1, 0), 1, ready, 0)
	renew.Order.Generation = 1
	require.Equal(t, []Action{renew}, renewals(h.Reply(proc0(2, 1), 1, ready, 0)))
}
