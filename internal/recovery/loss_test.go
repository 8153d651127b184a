package recovery

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func proc0(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// lost returns the loss among actions, nil if there is none.
func lost(acts []Action) *Loss {
	for _, a := range acts {
		if a.Kind == Lose {
			return a.Loss
		}
	}
	return nil
}

// The job no longer needs a rank whose messages have all been received. The death of such a rank is
// no loss and no reason for a rollback. The death of another rank still is.
func TestDeathOfAFinishedRank(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1, 1}, Start: true})
	h.Finished(proc0(1, 0), 1, 0)
	h.Through(proc0(1, 0), 1, 0)
	require.Empty(t, h.Died(proc0(1, 0), 1, false, 0))
	require.Empty(t, h.replicas.Failed())
	h.Finished(proc0(2, 0), 1, 0) // the head still counts its end
	require.Equal(t, Finish, h.State(proc0(2, 0)))
	require.Equal(t, &Loss{Rank: 0, Why: "no backup was asked for"}, lost(h.Died(proc0(0, 0), 1, false, 0)))
}

// The head requests a process that cannot be started repeatedly, and then the loss names
// the reason.
func TestAReplacementThatIsRefused(t *testing.T) {
	h := NewHead(Config{Degrees: []int{1, 1}, Start: true, Backup: Policy{Every: 2}})
	h.backups.complete = &backup{number: 2, copies: [][]holder{{{process: proc0(1, 0), incarnation: 1, stored: true}}, {{process: proc0(1, 0), incarnation: 1, stored: true}}}}
	acts := h.Died(proc0(0, 0), 1, false, 0)
	now := time.Duration(0)
	for range startsOfLost - 1 {
		require.Equal(t, Start, acts[0].Kind)
		acts = h.Refused(proc0(0, 0), acts[0].Incarnation, "no such file", false, now)
		require.Len(t, acts, 1)
		require.Equal(t, Later, acts[0].Kind)
		require.Positive(t, acts[0].Pause)
		pause := acts[0].Pause
		require.Empty(t, kinds(h.Conclude(now+pause/2), Start), "before the pause is over")
		now += pause
		acts = h.Conclude(now)
	}
	acts = h.Refused(proc0(0, 0), acts[0].Incarnation, "no such file", false, now)
	require.Equal(t, &Loss{Rank: 0, Why: "no process takes its place: no such file"}, lost(acts))
}

// kinds returns the actions of one kind.
func kinds(acts []Action, k ActionKind) []Action {
	return slices.DeleteFunc(slices.Clone(acts), func(a Action) bool { return a.Kind != k })
}

// A live rank is not lost without a replacement, so the head requests one as long as the
// job lives, at pauses that grow up to longestPause.
func TestAReplacementIsAskedForWhileTheJobLives(t *testing.T) {
	for name, refuse := range map[string]func(*Head, uint32, time.Duration) []Action{
		"cannot be started": func(h *Head, n uint32, now time.Duration) []Action {
			return h.Refused(proc0(0, 1), n, "too many open files", false, now)
		},
		"no host has room": func(h *Head, n uint32, now time.Duration) []Action {
			return h.Refused(proc0(0, 1), n, "no free slot", true, now)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := NewHead(Config{Degrees: []int{2}, Start: true})
			h.Reply(proc0(0, 0), 1, job.Reply{Kind: job.ReplyFirst}, 0)
			acts := kinds(h.Died(proc0(0, 1), 1, false, 0), Start)
			require.Len(t, acts, 1)
			now, last := time.Duration(0), time.Duration(0)
			for range 100 {
				refused := refuse(h, acts[0].Incarnation, now)
				require.Nil(t, lost(refused))
				waits := kinds(refused, Later)
				require.Len(t, waits, 1)
				require.Empty(t, kinds(refused, Start), "at once")
				require.GreaterOrEqual(t, waits[0].Pause, last)
				last = waits[0].Pause
				acts = kinds(h.Conclude(now+last-1), Start)
				require.Empty(t, acts)
				now += last
				acts = kinds(h.Conclude(now), Start)
				require.Len(t, acts, 1)
			}
			require.Equal(t, longestPause, last)
			h.Arrived(proc0(0, 1), acts[0].Incarnation, now)
			require.Equal(t, arrived, h.replicas.of[proc0(0, 1)].status)
		})
	}
}

// A spare does not have to be started, so the head takes it at once.
func TestASpareEndsThePause(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2}, Start: true})
	h.Reply(proc0(0, 0), 1, job.Reply{Kind: job.ReplyFirst}, 0)
	acts := kinds(h.Died(proc0(0, 1), 1, false, 0), Start)
	require.Empty(t, kinds(h.Refused(proc0(0, 1), acts[0].Incarnation, "no memory", false, 0), Start))
	require.Len(t, kinds(h.SpareReady(0), Start), 1)
}

// A lost rank does not wait for the pause of an earlier, less urgent replacement, and the
// earlier attempts do not count.
func TestALostRankIsAskedForAtOnce(t *testing.T) {
	h := NewHead(Config{Degrees: []int{2, 1}, Start: true, Backup: Policy{Every: 2}})
	h.backups.complete = &backup{number: 2, copies: [][]holder{{{process: proc0(1, 0), incarnation: 1, stored: true}}, {{process: proc0(1, 0), incarnation: 1, stored: true}}}}
	h.Reply(proc0(0, 0), 1, job.Reply{Kind: job.ReplyFirst}, 0)
	acts, now := kinds(h.Died(proc0(0, 1), 1, false, 0), Start), time.Duration(0)
	for range startsOfLost + 1 {
		waits := kinds(h.Refused(proc0(0, 1), acts[0].Incarnation, "no memory", false, now), Later)
		now += waits[0].Pause
		acts = kinds(h.Conclude(now), Start)
	}
	require.Nil(t, lost(h.Refused(proc0(0, 1), acts[0].Incarnation, "no memory", false, now)))
	acts = h.Died(proc0(0, 0), 1, false, now)
	require.Nil(t, lost(acts))
	require.Len(t, kinds(acts, Start), 1)
}

// The job survives the loss of a rank if other processes hold each rank's state.
func TestReturns(t *testing.T) {
	held := func(by ...job.Process) (all []holder) {
		for _, p := range by {
			all = append(all, holder{process: p, incarnation: 1, stored: true})
		}
		return all
	}
	a, b, c := proc0(0, 0), proc0(1, 0), proc0(2, 0)
	for _, test := range []struct {
		name   string
		config Config
		copies [][]holder
		want   bool
	}{
		{"no backup", Config{Start: true}, nil, false},
		{"no process to take its place", Config{}, [][]holder{held(a, b), held(b, c), held(c, a)}, false},
		{"held by other processes", Config{Start: true}, [][]holder{held(a, b), held(b, c), held(c, a)}, true},
		{"by a spare too", Config{Spares: 1}, [][]holder{held(b), held(b, c), held(c)}, true},
		{"held by itself alone", Config{Start: true}, [][]holder{held(a), held(b, c), held(c, a)}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.config.Degrees = []int{1, 1, 1}
			h := NewHead(test.config)
			if test.copies != nil {
				h.backups.complete = &backup{number: 2, copies: test.copies}
			}
			require.Equal(t, test.want, h.backups.Returns(a))
		})
	}
}

// A joiner holds no copy, so the head never names its death as the cause of the loss of
// the last copy. This also holds for a new head that does not know yet that the copies are
// gone.
func TestLastHolderOfACopy(t *testing.T) {
	last := job.Endpoint{Process: proc0(1, 0), Incarnation: 1}
	h, _ := Resume(Config{Degrees: []int{1, 1, 1}, Start: true, Backup: Policy{Every: 2}}, Snapshot{
		Incarnations: 3, Rolling: true, Complete: 2, Cut: 2, Failures: Failures{Count: 2}, Last: last,
		Places: map[job.Process]Place{
			proc0(0, 0): {Incarnation: 2, Status: Joining},
			proc0(1, 0): {Incarnation: 3, Status: Joining},
			proc0(2, 0): {Incarnation: 1, Status: Lives},
		},
	}, 0)
	require.Nil(t, lost(h.Died(proc0(1, 0), 3, true, 0)))
	loss := lost(h.Repeated(proc0(2, 0), 1, 0))
	require.Equal(t, &Loss{Rank: 0, Back: true, Number: 2, By: last, Why: "the last process that held the state of rank 0 is dead"}, loss)
}
