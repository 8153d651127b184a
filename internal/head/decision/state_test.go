package decision

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
)

func at(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

func place(p job.Process, incarnation uint32, node detect.ID) Entry {
	return Entry{Kind: Placed, Process: p, Incarnation: incarnation, Node: node, ID: p}
}

// placed is the state of a job with two ranks of two replicas each, replica k on node 2+k.
func placed(t *testing.T) *State {
	s := NewState()
	for rank := range 2 {
		for replica := range 2 {
			require.Empty(t, s.Apply(place(at(rank, replica), 1, detect.ID(2+replica))))
		}
	}
	return s
}

func die(p job.Process, incarnation uint32, cause job.Cause) Entry {
	return Entry{Kind: Died, At: time.Second, Process: p, Incarnation: incarnation, Cause: cause, Text: "killed"}
}

func finish(p job.Process, incarnation uint32) Entry {
	return Entry{Kind: Finished, Process: p, Incarnation: incarnation}
}

func TestVerdicts(t *testing.T) {
	s := placed(t)
	first := job.Verdict{Epoch: 1, Process: at(0, 1), Incarnation: 1, Cause: job.CauseSignal, Detail: "killed"}
	require.Equal(t, []job.Verdict{first}, s.Apply(die(at(0, 1), 1, job.CauseSignal)))
	require.Empty(t, s.Apply(die(at(0, 1), 1, job.CauseExit)), "one death is enough")
	require.Empty(t, s.Apply(die(at(7, 0), 1, job.CauseExit)), "nobody")
	require.Empty(t, s.Apply(die(at(0, 0), 2, job.CauseExit)), "another process")
	require.Equal(t, Running, s.Places[at(0, 0)].Status)
	require.Equal(t, Dead, s.Places[at(0, 1)].Status)

	loss := Loss{"last heard 1s ago", []detect.Testimony{{Observer: 1, Sighting: detect.Sighting{Host: 2, Age: 1, Silence: 1, Limit: 1}}}, 2 * time.Second}
	got := s.Apply(Entry{Kind: Lost, At: loss.At, Node: 2, Text: loss.Text, Testimonies: loss.Testimonies})
	require.Equal(t, []job.Verdict{
		{Epoch: 2, Process: at(0, 0), Incarnation: 1, Cause: job.CauseHost, Detail: loss.Text},
		{Epoch: 3, Process: at(1, 0), Incarnation: 1, Cause: job.CauseHost, Detail: loss.Text},
	}, got)
	require.Equal(t, loss, s.Lost[2])
	require.Empty(t, s.Apply(Entry{Kind: Lost, Node: 2, Text: "again"}))
	require.Equal(t, Running, s.Places[at(1, 1)].Status)
	require.Equal(t, Verdict{Verdict: first, At: time.Second}, s.Verdicts[0])
	require.Equal(t, 2*time.Second, s.Verdicts[2].At)
	require.Equal(t, 2*time.Second, s.Latest)
}

// A later incarnation of a slot is another process. A late decision about the dead one has no
// effect on it.
func TestReplacement(t *testing.T) {
	s := placed(t)
	s.Apply(Entry{Kind: Spawned, Process: at(0, 1), Incarnation: 1, PID: 100})
	s.Apply(place(at(0, 1), 2, 2))
	require.EqualValues(t, 1, s.Places[at(0, 1)].Incarnation, "the slot is taken")
	s.Apply(die(at(0, 1), 1, job.CauseSignal))
	s.Apply(place(at(0, 1), 2, 2))
	require.Equal(t, Running, s.Places[at(0, 1)].Status)
	require.Equal(t, []Predecessor{{Process: at(0, 1), Place: Place{1, 3, at(0, 1), 100, Dead}}}, s.Former)
	require.Empty(t, s.Apply(die(at(0, 1), 1, job.CauseSignal)))
	s.Apply(finish(at(0, 1), 1))
	s.Apply(Entry{Kind: Spawned, Process: at(0, 1), Incarnation: 1, PID: 100})
	require.Equal(t, Place{2, 2, at(0, 1), 0, Running}, s.Places[at(0, 1)])

	v := s.Apply(Entry{Kind: Withdrawn, Process: at(0, 1), Incarnation: 2, Text: "not needed any more"})
	require.Equal(t, []job.Verdict{{Epoch: 2, Process: at(0, 1), Incarnation: 2, Cause: job.CauseExit, Detail: "not needed any more"}}, v)
	require.True(t, s.Verdicts[1].Withdrawn)
	s.Apply(place(at(0, 1), 2, 3))
	require.Equal(t, Dead, s.Places[at(0, 1)].Status, "an old incarnation")

	s.Apply(Entry{Kind: Lost, Node: 3, Text: "lost"})
	require.Equal(t, []job.Verdict{{Epoch: 4, Process: at(1, 1), Incarnation: 2, Cause: job.CauseHost, Detail: "lost"}}, s.Apply(place(at(1, 1), 2, 3)),
		"no process lives on a lost node")
	require.Equal(t, Dead, s.Places[at(1, 1)].Status)
}

// A spare is not the peer of any process until it has a slot. Then its agent still uses the spare's
// own name.
func TestSpares(t *testing.T) {
	s := placed(t)
	for i := range 4 {
		e := place(at(2+i, 0), 1, detect.ID(2+i%2))
		e.Spare = true
		s.Apply(e)
		s.Apply(Entry{Kind: Spawned, Process: e.Process, Incarnation: 1, PID: 200 + i})
	}
	require.Len(t, s.Spares, 4)
	require.Empty(t, s.Apply(die(at(2, 0), 1, job.CauseExit)))
	require.Equal(t, Dead, s.Spares[at(2, 0)].Status)
	s.Apply(die(at(0, 0), 1, job.CauseSignal))
	take := func(id job.Process, incarnation uint32) []job.Verdict {
		return s.Apply(Entry{Kind: Placed, Process: at(0, 0), Incarnation: incarnation, Node: 3, ID: id})
	}
	require.Equal(t, []job.Verdict{{Epoch: 2, Process: at(0, 0), Incarnation: 2, Cause: job.CauseExit, Detail: "the spare process has ended"}}, take(at(2, 0), 2))
	require.Empty(t, take(at(3, 0), 3))
	require.Equal(t, Place{3, 3, at(3, 0), 201, Running}, s.Places[at(0, 0)])
	require.Equal(t, Dead, s.Spares[at(3, 0)].Status, "the process is no spare any more")
	verdicts := s.Apply(Entry{Kind: Lost, Node: 3, Text: "lost"})
	require.Len(t, verdicts, 3, "only processes with a slot count")
	require.Equal(t, at(0, 0), verdicts[0].Process)
	require.Equal(t, Dead, s.Spares[at(5, 0)].Status)
	require.Equal(t, Running, s.Spares[at(4, 0)].Status)
	e := place(at(6, 0), 1, 3)
	e.Spare = true
	s.Apply(e)
	require.Equal(t, Dead, s.Spares[at(6, 0)].Status, "no spare lives on a lost node")
}

// The end of a process's program remains recorded if the process dies later. The first
// decision about the end counts.
func TestFinishing(t *testing.T) {
	s := placed(t)
	drained := func(p job.Process) { s.Apply(Entry{Kind: Drained, Process: p, Incarnation: 1}) }
	drained(at(0, 0))
	require.Empty(t, s.Drained, "the process has not finished")
	for rank := range 2 {
		require.False(t, s.Through[rank])
		s.Apply(finish(at(rank, 0), 1))
		require.True(t, s.Through[rank])
	}
	drained(at(0, 0))
	require.Equal(t, map[int]bool{0: true}, s.Drained)
	require.Equal(t, Done, s.Places[at(0, 0)].Status)
	s.Apply(Entry{Kind: Lost, Node: 3, Text: "lost"})
	s.Apply(finish(at(0, 1), 1))
	require.Equal(t, Dead, s.Places[at(0, 1)].Status, "a dead process cannot finish")
	require.Len(t, s.Apply(die(at(0, 0), 1, job.CauseExit)), 1, "the process dies after it has finished")
	require.True(t, s.Through[0])
	s.Apply(Entry{Kind: Decided, Code: 3, Text: "first"})
	s.Apply(Entry{Kind: Decided, Code: 1, Text: "second"})
	require.Equal(t, "first 3", fmt.Sprint(s.Text, " ", s.Code))
}

// A verdict contains whether the rank is still needed. A finished rank is not needed once all
// its messages have arrived.
func TestVerdictsOnFinishedRanks(t *testing.T) {
	s := placed(t)
	s.Apply(finish(at(0, 0), 1))
	require.False(t, s.Apply(die(at(0, 1), 1, job.CauseSignal))[0].Through, "the process may still have messages to send")
	s.Apply(Entry{Kind: Drained, Process: at(0, 0), Incarnation: 1})
	require.True(t, s.Apply(die(at(0, 0), 1, job.CauseSignal))[0].Through)
	require.False(t, s.Apply(die(at(1, 0), 1, job.CauseSignal))[0].Through)
}

func TestInjectedFailures(t *testing.T) {
	s := placed(t)
	s.Apply(Entry{Kind: Fired, Index: 1, Process: at(0, 1), Incarnation: 1})
	s.Apply(Entry{Kind: Injected, At: 3 * time.Second, Process: at(0, 1), Incarnation: 1})
	require.Equal(t, map[int]uint32{1: 1}, s.Fired)
	require.Equal(t, []Injection{{at(0, 1), 1, 3 * time.Second}}, s.Injections)
}

// A successor knows the outcome of each set, but only of the last keptSets sets.
func TestSets(t *testing.T) {
	s := NewState()
	files := Files{{Rank: 0, Bytes: 5, Sum: 7}, {Rank: 1, Bytes: 6, Sum: 1 << 63}}
	whole := Entry{Kind: SetWhole, Set: &Set{Number: 2, Cut: 30, Files: files}}
	s.Apply(whole)
	s.Apply(Entry{Kind: SetAbandoned, Abandoned: &runreport.AbandonedSet{Set: 1, Why: "late"}})
	require.Equal(t, files, s.Sets[1].Files)
	done := &runreport.FileSet{Set: 2, Point: 30, Bytes: 11}
	s.Apply(Entry{Kind: SetDone, Done: done})
	s.Apply(whole)
	s.Apply(Entry{Kind: SetAbandoned, Abandoned: &runreport.AbandonedSet{Set: 2}})
	require.Equal(t, []Set{{Number: 1, Abandoned: &runreport.AbandonedSet{Set: 1, Why: "late"}}, {Number: 2, Cut: 30, Done: done}}, s.Sets)
	for n := uint64(3); n <= 2*keptSets; n++ {
		s.Apply(Entry{Kind: SetDone, Done: &runreport.FileSet{Set: n}})
	}
	require.Len(t, s.Sets, keptSets)
	require.EqualValues(t, keptSets+1, s.Sets[0].Number)
}

func TestMembers(t *testing.T) {
	s := NewState()
	s.Members = []detect.ID{1, 2, 3}
	for _, e := range []Entry{{Kind: Added, Node: 5}, {Kind: Added, Node: 3}, {Kind: Removed, Node: 2}, {Kind: Removed, Node: 4}} {
		s.Apply(e)
	}
	require.Equal(t, []detect.ID{1, 3, 5}, s.Members)
	require.EqualValues(t, 2, s.Changes)
}

// Any state is the same after a snapshot, and develops in the same way from there.
func TestSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	kinds := []Kind{Placed, Placed, Placed, Spawned, Started, Died, Died, Withdrawn, Lost, Finished, Finished, Drained, Fired, Injected,
		Opened, SetWhole, SetDone, SetAbandoned, Decided, Released, Added, Removed}
	random := func() Entry {
		e := Entry{
			Kind: kinds[rng.IntN(len(kinds))], At: time.Duration(rng.IntN(99)), Process: at(rng.IntN(3), rng.IntN(3)), Incarnation: uint32(1 + rng.IntN(3)),
			Node: detect.ID(2 + rng.IntN(9)), PID: rng.IntN(100), Cause: job.CauseExit, Index: rng.IntN(3),
		}
		if e.ID = e.Process; rng.IntN(4) == 0 {
			e.Process.Rank += 3
			e.ID, e.Spare = e.Process, true
		} else if rng.IntN(4) == 0 {
			e.ID.Rank += 3
		}
		set := uint64(1 + rng.IntN(4))
		switch e.Kind {
		case Opened:
			e.Opened = &Folders{First: set, Restart: &Restart{Dir: "x", Number: set, Files: Files{{Sum: 5}}, Refused: []string{"old"}}}
		case SetWhole:
			e.Set = &Set{Number: set, Cut: 5, Files: Files{{Bytes: 3, Sum: 1<<64 - 1}}}
		case SetDone:
			e.Done = &runreport.FileSet{Set: set}
		case SetAbandoned:
			e.Abandoned = &runreport.AbandonedSet{Set: set}
		}
		return e
	}
	for range 200 {
		a := NewState()
		for range rng.IntN(60) {
			e := random()
			b, err := e.Encode()
			require.NoError(t, err)
			same, err := Decode(b)
			require.NoError(t, err)
			require.Equal(t, e, same)
			a.Apply(e)
		}
		b := a.Clone()
		require.Equal(t, a, b)
		require.Equal(t, string(a.Snapshot()), string(b.Snapshot()))
		for range 20 {
			e := random()
			require.Equal(t, a.Apply(e), b.Apply(e))
		}
		require.Equal(t, string(a.Snapshot()), string(b.Snapshot()))
	}
	_, err := Restore([]byte("nonsense"))
	require.ErrorContains(t, err, "read a snapshot")
}

// The head sends its processes the description of the set that it has found.
func TestProcessesGetTheRestart(t *testing.T) {
	found := &job.Restart{Dir: "/before", Set: checkpoint.Set{Format: 1, Job: checkpoint.Job{Build: "b", Ranks: 2}, Number: 3, Cut: 40,
		Files: []checkpoint.File{{Rank: 0, Bytes: 4, Sum: 9}, {Rank: 1, Bytes: 1 << 40, Sum: 1<<64 - 1}}}}
	s := NewState()
	s.Apply(Entry{Kind: Opened, Opened: &Folders{First: 4, Restart: NewRestart(found, nil)}})
	require.Equal(t, found, s.Clone().Opened.Restart.Setup())
}
