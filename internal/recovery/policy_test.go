package recovery

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// TestInterval: the best interval of Young and Daly, for a cost and a mean
// time to interruption.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ cost, mtti, want time.Duration }{
		{2 * time.Second, 100 * time.Second, 18 * time.Second}, // sqrt(400) - 2
		{time.Second, 5000 * time.Second, 99 * time.Second},    // sqrt(10000) - 1
		{0, time.Hour, 0},
		{time.Minute, time.Second, time.Second}, // a backup takes longer than the job lives
		{2 * time.Second, time.Second, time.Second},
	} {
		require.InDelta(t, c.want.Seconds(), Interval(c.cost, c.mtti).Seconds(), 1e-6, "%+v", c)
	}
}

// TestInterruption: a job whose ranks have two replicas that are replaced is
// interrupted far less often than one with single ones, and more deaths make
// the backups denser.
func TestInterruption(t *testing.T) {
	mtti := func(degree, deaths int) time.Duration {
		h := NewHead(Config{Degrees: []int{degree, degree}, Start: true, Backup: Policy{Auto: true}})
		h.deaths = deaths
		return h.interruption()
	}
	require.Equal(t, unknownUptime/2, mtti(1, 0))
	require.Equal(t, unknownUptime/8, mtti(1, 3))
	require.Greater(t, mtti(2, 0), 1000*mtti(1, 0))
}

// TestBackupsOfComparedStates: backups are taken where states are compared, at the first
// such safe point after that at which one is due.
func TestBackupsOfComparedStates(t *testing.T) {
	for _, c := range []struct{ from, every, compared, first, next uint64 }{
		{0, 3, 0, 3, 6}, {0, 3, 1, 3, 6}, {0, 3, 4, 4, 8}, {0, 8, 4, 8, 16}, {0, 1, 10, 10, 20}, {7, 3, 5, 10, 15},
	} {
		h := NewHead(Config{Degrees: []int{1, 1}, Backup: Policy{Every: c.every}, Compared: c.compared, From: c.from})
		require.Equal(t, c.first, h.Next(), "%+v", c)
		var next uint64
		for rank := range 2 {
			p := job.Process{Rank: rank}
			for _, a := range h.Reply(p, 1, job.Reply{Kind: job.ReplyDrained, Number: c.first}, time.Second) {
				if a.Order.Kind == job.OrderGo {
					next = a.Order.Next
				}
			}
		}
		require.Equal(t, c.next, next, "%+v", c)
	}
}

// TestPlannedCuts: a backup every three safe points is taken at 3, 6, ...; a
// process that comes to the planned cut needs no word of the head for it.
func TestPlannedCuts(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1}, Backup: Policy{Every: 3}})
	require.EqualValues(t, 3, h.Next())
	var next []uint64
	for n := uint64(3); n <= 9; n += 3 {
		for rank := range 2 {
			m := NewMember(job.Process{Rank: rank}, 0, n)
			m.Enter(n - 1)
			require.Equal(t, Pass, m.Next().Kind)
			m.Enter(n)
			require.Equal(t, Step{Kind: Drain, Number: n}, m.Next())
			acts := h.Reply(job.Process{Rank: rank}, 1, m.Drained()[0], time.Second)
			if rank == 1 {
				require.Equal(t, Keep, acts[0].Kind)
				require.Equal(t, job.OrderGo, acts[1].Order.Kind)
				require.Len(t, acts[1].Order.Plan, 2)
				next = append(next, acts[1].Order.Next)
			}
		}
		for rank := range 2 {
			for _, s := range []int{rank, 1 - rank} {
				h.Reply(job.Process{Rank: s}, 1, job.Reply{Kind: job.ReplyStored, Number: n, Rank: rank}, time.Second)
			}
		}
	}
	require.Equal(t, []uint64{6, 9, 12}, next)
}
