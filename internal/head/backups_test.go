package head

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// A solver is a program that reaches its safe points at equal intervals of virtual time. Its
// ranks have one replica each and are always at the same safe point. recovery.Head decides
// about the job, and a schedule of -fault weibull kills its processes.
type solver struct {
	ranks  int
	points uint64
	pass   time.Duration // time from one safe point to the next
	cut    time.Duration // time for which a cut stops all ranks
	copy   time.Duration // further time for which a backup stops all ranks
	back   time.Duration // time from a death until all ranks have rolled back
}

// spending is the time of a run that did not advance it.
type spending struct{ backups, redone time.Duration }

// solving is a run of a solver.
type solving struct {
	solver
	spending
	t        *testing.T
	head     *recovery.Head
	of       []uint32 // incarnation of each rank's process
	now      time.Duration
	at       uint64 // the last safe point that all ranks have passed
	next     uint64 // safe point of the next cut
	complete bool   // there is a backup
	away     time.Duration
}

// hopeless bounds the duration of a run, as a multiple of its work.
const hopeless = 4

// run runs the solver to its end.
func (s solver) run(t *testing.T, p recovery.Policy, w Weibull) spending {
	r := &solving{solver: s, t: t}
	var degrees []int
	for range s.ranks {
		degrees, r.of = append(degrees, 1), append(r.of, 1)
	}
	r.head = recovery.NewHead(recovery.Config{Degrees: degrees, Start: true, Backup: p})
	r.next = r.head.Next()
	failures := w.schedule()
	for due := failures.next(); r.at < s.points && r.now < hopeless*time.Duration(s.points)*s.pass; {
		if end := r.now + s.pass; due.at > end {
			r.now = end
			r.passed()
			continue
		}
		if r.complete {
			r.now = max(r.now, due.at)
			r.fails(int(due.pick * float64(s.ranks)))
		}
		for due = failures.next(); due.at <= r.now; { // failures during a rollback cost the same under any policy
			due = failures.next()
		}
	}
	r.redone = r.now - time.Duration(s.points)*s.pass - r.backups - r.away
	return r.spending
}

// reply sends a reply of a rank to the head, and returns the orders that follow.
func (r *solving) reply(rank int, m job.Reply) []job.Order {
	m.Generation = r.head.Generation()
	return r.orders(r.head.Reply(job.Process{Rank: rank}, r.of[rank], m, r.now))
}

// orders returns the orders to rank 0 or 1 among actions. They include all orders to all
// processes.
func (r *solving) orders(acts []recovery.Action) (all []job.Order) {
	for _, a := range acts {
		require.NotEqual(r.t, recovery.Lose, a.Kind, "%v", a.Loss)
		if a.Kind != recovery.Send {
			continue
		}
		switch o := a.Order; o.Kind {
		case job.OrderComplete:
			r.complete = true
		case job.OrderGo, job.OrderResume:
			r.next = o.Next
			all = append(all, o)
		case job.OrderRenew:
			all = append(all, o)
		case job.OrderRollback:
			r.at = o.Number
			all = append(all, o)
		}
	}
	return all
}

// passed moves all ranks to the next safe point.
func (r *solving) passed() {
	r.at++
	if r.at == 1 {
		for rank := range r.of {
			r.reply(rank, job.Reply{Kind: job.ReplyFirst})
		}
	}
	if r.at != r.next {
		return
	}
	number, began := r.at, r.now
	var plan []job.Copy
	for rank := range r.of {
		if rank == 1 { // every other rank waits for rank 0
			r.now += r.cut
		}
		for _, o := range r.reply(rank, job.Reply{Kind: job.ReplyDrained, Number: number}) {
			plan = o.Plan
		}
	}
	r.now += r.copy
	for _, c := range plan {
		r.reply(c.Source.Rank, job.Reply{Kind: job.ReplyStored, Number: number, Rank: c.Source.Rank, Seconds: r.copy.Seconds()})
	}
	for _, c := range plan { // while the ranks compute
		r.reply(c.Holder.Rank, job.Reply{Kind: job.ReplyStored, Number: number, Rank: c.Source.Rank})
	}
	r.backups += r.now - began
}

// fails kills the process of a rank: another one replaces it, and all processes roll back.
func (r *solving) fails(rank int) {
	began := r.now
	acts := r.head.Died(job.Process{Rank: rank}, r.of[rank], false, r.now)
	for _, a := range acts {
		if a.Kind == recovery.Start {
			r.of[rank] = a.Incarnation
		}
	}
	r.now += r.back
	p := job.Process{Rank: rank}
	r.orders(r.head.Arrived(p, r.of[rank], r.now))
	for other := range r.of {
		if q := (job.Process{Rank: other}); q != p {
			r.reply(rank, job.Reply{Kind: job.ReplyLinked, Process: q, Incarnation: r.of[other]})
			r.reply(other, job.Reply{Kind: job.ReplyLinked, Process: p, Incarnation: r.of[rank]})
		}
	}
	number := r.at
	for rank := range r.of {
		for _, o := range r.reply(rank, job.Reply{Kind: job.ReplyReady, Number: number}) {
			if o.Kind == job.OrderRenew {
				r.reply(o.Process.Rank, job.Reply{Kind: job.ReplyStored, Number: o.Number, Rank: o.Rank})
			}
		}
	}
	require.False(r.t, r.head.Returning(), "%v", r.head)
	r.away += r.now - began
}

// TestAutomaticBackupsAgainstFixedOnes compares -backup auto with fixed numbers of safe
// points. At any rate of failures, auto costs little more than the number that is best at that
// rate, in backups and repeated work. Each fixed number costs far more at some rate. With -v
// the test prints the table of docs/recovery.md.
func TestAutomaticBackupsAgainstFixedOnes(t *testing.T) {
	s := solver{ranks: 2, points: 6000, pass: 10 * time.Millisecond, cut: 3 * time.Millisecond, copy: 7 * time.Millisecond, back: 300 * time.Millisecond}
	first, n := simseed.Range(t, 3)
	policies := []string{"3", "10", "30", "100", "300", "auto"}
	rates := []time.Duration{time.Second, 10 * time.Second, 100 * time.Second}
	share := func(p string, shape float64, mtbf time.Duration) (backups, redone float64) {
		policy, err := recovery.ParsePolicy(p)
		require.NoError(t, err)
		for seed := first; seed < first+n; seed++ {
			o := s.run(t, policy, Weibull{Shape: shape, MTBF: mtbf, Seed: seed})
			backups, redone = backups+o.backups.Seconds(), redone+o.redone.Seconds()
		}
		work := (time.Duration(s.points) * s.pass).Seconds() * float64(n) / 100
		return backups / work, redone / work
	}
	for _, shape := range []float64{0.7, 1} {
		worst := make(map[string]float64) // largest ratio of a policy's cost to that of auto, over all rates
		for _, mtbf := range rates {
			all := make(map[string]float64)
			var text strings.Builder
			for _, p := range policies {
				backups, redone := share(p, shape, mtbf)
				all[p] = backups + redone
				fmt.Fprintf(&text, " | %.1f + %.1f = %.1f %%", backups, redone, all[p])
			}
			t.Logf("| shape=%v,mtbf=%v%s |", shape, mtbf, text.String())
			best := all["3"]
			for _, p := range policies[:len(policies)-1] {
				best, worst[p] = min(best, all[p]), max(worst[p], all[p]/all["auto"])
			}
			// auto pays for backups before the first failure, since it does not know the rate
			// yet.
			require.Less(t, all["auto"], 1.25*best+1, "mtbf %v", mtbf)
		}
		for p, times := range worst {
			require.Greater(t, times, 1.5, "-backup %s", p)
		}
	}
}
