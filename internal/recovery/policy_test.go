package recovery

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// TestInterval checks the best interval of Young and Daly, for a cost and a mean time to
// interruption.
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

// TestInterruption compares jobs with one and two replicas a rank. With two replicas the
// job is interrupted far less often, unless none can be replaced.
func TestInterruption(t *testing.T) {
	mtti := func(degree int, start bool, failures float64) time.Duration {
		return NewHead(Config{Degrees: []int{degree, degree}, Start: start, Backup: Policy{Auto: true}}).pace.interruption(failures)
	}
	require.Equal(t, 4*time.Second, mtti(1, true, 0.25))
	require.Equal(t, time.Second, mtti(1, true, 1))
	require.Equal(t, 4*time.Second, mtti(2, false, 0.25), "every failure counts")
	require.Equal(t, 400*1600*time.Second, mtti(2, true, 1.0/400), "one second in 1600 the other replica is away")
}

// TestBackupsOfComparedStates requires that a backup that is due waits for the next safe
// point at which states are compared.
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

// TestPlannedCuts takes a backup every three safe points: at 3, 6, and so on. A process
// that reaches a planned cut needs no message from the head.
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

// lose kills the first process of a rank in a job of single replicas, replaces it, and
// rolls all processes back.
func lose(t *testing.T, h *Head, rank int, now time.Duration) {
	p := job.Process{Rank: rank}
	incarnation := h.replicas.of[p].incarnation
	h.Died(p, incarnation, false, now)
	next := h.replicas.of[p].incarnation
	require.Greater(t, next, incarnation)
	h.Arrived(p, next, now)
	for q, s := range h.replicas.of {
		if q != p {
			h.Reply(p, next, job.Reply{Kind: job.ReplyLinked, Process: q, Incarnation: s.incarnation}, now)
			h.Reply(q, s.incarnation, job.Reply{Kind: job.ReplyLinked, Process: p, Incarnation: next}, now)
		}
	}
	for q, s := range h.replicas.of {
		h.Reply(q, s.incarnation, job.Reply{Kind: job.ReplyReady, Generation: h.generation, Number: h.backups.complete.number}, now)
	}
	require.False(t, h.Returning())
}

// pass makes all processes pass safe points, one every 5 ms, until a time. Cuts take no
// time, and a backup stops every rank for 1 ms.
func pass(h *Head, at *uint64, now *time.Duration, until time.Duration) {
	reply := func(rank int, r job.Reply) {
		r.Generation = h.generation
		h.Reply(job.Process{Rank: rank}, h.replicas.of[job.Process{Rank: rank}].incarnation, r, *now)
	}
	for *now < until {
		*now += 5 * time.Millisecond
		if *at++; *at == 1 {
			reply(0, job.Reply{Kind: job.ReplyFirst})
		}
		if *at != h.Next() {
			continue
		}
		for rank := range h.config.Degrees {
			reply(rank, job.Reply{Kind: job.ReplyDrained, Number: *at})
		}
		*now += time.Millisecond
		for rank := range h.config.Degrees {
			reply(rank, job.Reply{Kind: job.ReplyStored, Number: *at, Rank: rank, Seconds: 0.001})
			reply((rank+1)%len(h.config.Degrees), job.Reply{Kind: job.ReplyStored, Number: *at, Rank: rank})
		}
	}
}

// TestLossesMakeBackupsFrequent loses ranks a few seconds apart. The job then takes
// backups so often that each rollback repeats only a small part of its work.
func TestLossesMakeBackupsFrequent(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1, 1}, Start: true, Backup: Policy{Auto: true}})
	var at uint64
	var now time.Duration
	for i, until := range []time.Duration{2 * time.Second, 4 * time.Second, 6 * time.Second} {
		pass(h, &at, &now, until)
		lost := at - h.backups.complete.number
		require.Less(t, lost, uint64(40), "loss %d goes back from safe point %d to %d", i+1, at, h.backups.complete.number)
		lose(t, h, i, now)
		at = h.backups.complete.number
	}
	after := h.pace.interval()
	require.InDelta(t, 10, after, 8, "right after a failure")
	pass(h, &at, &now, 20*time.Minute)
	require.Greater(t, h.pace.interval(), 10*after, "failures that are long ago count less")
}

// TestBackupsAreAsFrequentAsFailures checks the number of safe points of 10 ms between
// backups that take 5 ms each, after failures at these times.
func TestBackupsAreAsFrequentAsFailures(t *testing.T) {
	every := func(d time.Duration, n int) (all []time.Duration) {
		for i := range n {
			all = append(all, time.Duration(i+1)*d)
		}
		return all
	}
	second, minute := time.Second, time.Minute
	for _, c := range []struct {
		name     string
		failures []time.Duration
		now      time.Duration
		least    uint64
		most     uint64
	}{
		{"in the first moments", nil, 50 * time.Millisecond, 5, 20},
		{"none in a minute", nil, minute, 100, 200},
		{"none in a day", nil, 24 * time.Hour, 3000, 6000},
		{"one after two seconds, then none for a minute", every(2*second, 1), 62 * second, 50, 120},
		{"every two seconds", every(2*second, 20), 41 * second, 10, 16},
		{"every two minutes", every(2*minute, 20), 41 * minute, 80, 140},
		{"right after one of them", every(2*minute, 20), 40*minute + second, 40, 80},
		{"a host with five processes every two seconds", slices.Concat(every(2*second, 20), every(2*second, 20)), 41 * second, 10, 16},
		{"every two minutes, then every two seconds", append(every(2*minute, 5), 602*second, 604*second, 606*second, 608*second), 609 * second, 10, 45},
		{"every two seconds, then none for an hour", every(2*second, 20), time.Hour, 100, 400},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := NewHead(Config{Degrees: []int{1, 1}, Start: true, Backup: Policy{Auto: true}})
			slices.Sort(c.failures)
			for _, at := range c.failures {
				h.pace.failures.failed(at)
			}
			h.now, h.pace.rate.perPoint, h.pace.rate.copy = c.now, 10*time.Millisecond, 5*time.Millisecond
			n := h.pace.interval()
			require.GreaterOrEqual(t, n, c.least)
			require.LessOrEqual(t, n, c.most)
		})
	}
}

// TestSuccessorKnowsTheFailures requires that a successor takes backups as often as the
// lost head would have.
func TestSuccessorKnowsTheFailures(t *testing.T) {
	c := Config{Degrees: []int{1, 2, 2, 2}, Start: true, Backup: Policy{Auto: true}}
	h := NewHead(c)
	var s Snapshot
	for i, at := range []time.Duration{time.Second, 3 * time.Second, 3 * time.Second} {
		p := job.Process{Rank: i + 1}
		h.Died(p, 1, false, at)
		s.Died(p, 1, false, at)
	}
	again, _ := Resume(c, s, 5*time.Second)
	h.now = 5 * time.Second
	require.Equal(t, h.pace.failures, again.pace.failures)
	require.Positive(t, h.pace.failures.Count)
	for _, h := range []*Head{h, again} {
		h.pace.rate.perPoint, h.pace.rate.copy = time.Millisecond, 5*time.Millisecond
	}
	require.Equal(t, h.pace.interval(), again.pace.interval())
}

// TestCostOfABackup requires that the cost is the delay of the slowest rank, in the cut
// and for the copy of its state. Copies for other ranks cause no delay.
func TestCostOfABackup(t *testing.T) {
	degrees := make([]int, 8)
	for rank := range degrees {
		degrees[rank] = 1
	}
	h := NewHead(Config{Degrees: degrees, Start: true, Backup: Policy{Auto: true}})
	reply := func(rank int, now time.Duration, r job.Reply) { h.Reply(job.Process{Rank: rank}, 1, r, now) }
	for rank := range degrees {
		reply(rank, 100*time.Millisecond+time.Duration(rank)*time.Millisecond, job.Reply{Kind: job.ReplyDrained, Number: 2})
	}
	for rank := range degrees {
		reply(rank, 200*time.Millisecond, job.Reply{Kind: job.ReplyStored, Number: 2, Rank: rank, Seconds: 0.01 * float64(1+rank%4)})
	}
	for rank := range degrees {
		reply((rank+1)%8, 300*time.Millisecond, job.Reply{Kind: job.ReplyStored, Number: 2, Rank: rank})
	}
	require.NotNil(t, h.backups.complete)
	require.Equal(t, 47*time.Millisecond, h.pace.rate.cost())
}

// TestFailureBringsTheNextBackupForward loses a replica and lets another one join. The job
// then takes the planned backup earlier.
func TestFailureBringsTheNextBackupForward(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2, 1}, Start: true, Backup: Policy{Auto: true}})
	h.backupAt, h.next = 5000, 5000
	h.pace.rate.perPoint, h.pace.rate.copy, h.now = time.Millisecond, time.Millisecond, 4*time.Second
	for rank := range h.config.Degrees {
		h.replicas.of[job.Process{Rank: rank}].safe = true
	}
	p := job.Process{Rank: 0, Replica: 1}
	h.Died(p, 1, false, 4*time.Second)
	now := 4100 * time.Millisecond
	h.Arrived(p, 2, now)
	for _, q := range []job.Process{{Rank: 0}, {Rank: 1}} {
		h.Reply(p, 2, job.Reply{Kind: job.ReplyLinked, Process: q, Incarnation: 1}, now)
		h.Reply(q, 1, job.Reply{Kind: job.ReplyLinked, Process: p, Incarnation: 2}, now)
	}
	h.Reply(job.Process{Rank: 0}, 1, job.Reply{Kind: job.ReplyCopied, Process: p}, now)
	for _, q := range []job.Process{{Rank: 0}, {Rank: 1}} {
		h.Reply(q, 1, job.Reply{Kind: job.ReplyCount, Round: 1, Number: 800}, now)
	}
	for _, q := range []job.Process{{Rank: 0}, {Rank: 1}} {
		h.Reply(q, 1, job.Reply{Kind: job.ReplyDrained, Number: 801}, now)
	}
	h.Reply(p, 2, job.Reply{Kind: job.ReplyJoined, Number: 801}, now)
	for _, q := range []job.Process{{Rank: 0}, {Rank: 1}, p} {
		h.Reply(q, h.replicas.of[q].incarnation, job.Reply{Kind: job.ReplyAdmitted, Number: 801}, now)
	}
	require.Equal(t, idle, h.cut.phase)
	require.Less(t, h.Next(), uint64(1000))
	require.Greater(t, h.Next(), uint64(801))
}
