package arbiter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/detect"
	"github.com/intrahpc/intra/internal/job"
)

func at(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// placed is the state of a job with two ranks in two replicas, replica k on
// node 2+k.
func placed(t *testing.T) *State {
	s := NewState()
	for rank := range 2 {
		for replica := range 2 {
			require.Empty(t, s.Apply(Entry{Kind: Placed, Process: at(rank, replica), Incarnation: 1, Node: ID(2 + replica), PID: 100}))
		}
	}
	return s
}

func die(p job.Process, incarnation uint32, cause job.Cause) Entry {
	return Entry{Kind: Died, Process: p, Incarnation: incarnation, Cause: cause, Text: "killed"}
}

func TestVerdicts(t *testing.T) {
	s := placed(t)
	first := job.Verdict{Epoch: 1, Process: at(0, 1), Cause: job.CauseSignal, Detail: "killed"}
	require.Equal(t, []job.Verdict{first}, s.Apply(die(at(0, 1), 1, job.CauseSignal)))
	require.Empty(t, s.Apply(die(at(0, 1), 1, job.CauseExit)), "one death is enough")
	require.Empty(t, s.Apply(die(at(7, 0), 1, job.CauseExit)), "nobody")
	require.Equal(t, Running, s.Places[at(0, 0)].Standing)
	require.Equal(t, Dead, s.Places[at(0, 1)].Standing)

	loss := Loss{"last heard 1s ago", []detect.Testimony{{Observer: 1, Sighting: detect.Sighting{Host: 2, Age: 1, Silence: 1, Limit: 1}}}}
	got := s.Apply(Entry{Kind: Lost, Node: 2, Text: loss.Text, Testimonies: loss.Testimonies})
	require.Equal(t, []job.Verdict{
		{Epoch: 2, Process: at(0, 0), Cause: job.CauseHost, Detail: loss.Text},
		{Epoch: 3, Process: at(1, 0), Cause: job.CauseHost, Detail: loss.Text},
	}, got)
	require.Equal(t, loss, s.Lost[2])
	require.Empty(t, s.Apply(Entry{Kind: Lost, Node: 2, Text: "again"}))
	require.Equal(t, Running, s.Places[at(1, 1)].Standing)
	require.Len(t, s.Verdicts, 3)
}

// TestReplacement: a later life of a process is another one; word of the dead
// one comes too late.
func TestReplacement(t *testing.T) {
	s := placed(t)
	s.Apply(die(at(0, 1), 1, job.CauseSignal))
	s.Apply(Entry{Kind: Placed, Process: at(0, 1), Incarnation: 2, Node: 2})
	require.Equal(t, Running, s.Places[at(0, 1)].Standing)
	require.Empty(t, s.Apply(die(at(0, 1), 1, job.CauseSignal)))
	s.Apply(Entry{Kind: Finished, Process: at(0, 1), Incarnation: 1})
	require.Equal(t, Place{2, 2, 0, Running}, s.Places[at(0, 1)])
	s.Apply(Entry{Kind: Placed, Process: at(0, 1), Incarnation: 1, Node: 3})
	require.Equal(t, ID(2), s.Places[at(0, 1)].Node, "an old place")
	s.Apply(Entry{Kind: Lost, Node: 3, Text: "lost"})
	s.Apply(Entry{Kind: Placed, Process: at(1, 1), Incarnation: 2, Node: 3})
	require.Equal(t, Dead, s.Places[at(1, 1)].Standing, "nothing starts on a lost node")
}

// TestFinishing: what a process has finished stays so when it dies after that,
// and the first decision about the end counts.
func TestFinishing(t *testing.T) {
	s := placed(t)
	for rank := range 2 {
		require.False(t, s.Through[rank])
		s.Apply(Entry{Kind: Finished, Process: at(rank, 0), Incarnation: 1})
		require.True(t, s.Through[rank])
	}
	require.Equal(t, Done, s.Places[at(0, 0)].Standing)
	s.Apply(Entry{Kind: Lost, Node: 3, Text: "lost"})
	s.Apply(Entry{Kind: Finished, Process: at(0, 1), Incarnation: 1})
	require.Equal(t, Dead, s.Places[at(0, 1)].Standing, "the dead finish nothing")
	require.Len(t, s.Apply(die(at(0, 0), 1, job.CauseExit)), 1, "it dies after it has finished")
	require.True(t, s.Through[0])
	s.Apply(Entry{Kind: Decided, Code: 3, Text: "first"})
	s.Apply(Entry{Kind: Decided, Code: 1, Text: "second"})
	require.Equal(t, "first 3", fmt.Sprint(s.Text, " ", s.Code))
}

// TestSnapshot: any state is the same after a snapshot, and goes on the same.
func TestSnapshot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	random := func() Entry {
		kinds := []Kind{Note, Placed, Placed, Started, Died, Died, Lost, Finished, Decided, Released}
		return Entry{
			Kind: kinds[rng.IntN(len(kinds))], Process: at(rng.IntN(3), rng.IntN(3)), Incarnation: uint32(rng.IntN(3)), Node: ID(2 + rng.IntN(9)),
			PID: rng.IntN(100), Cause: job.CauseExit, Key: fmt.Sprint(rng.IntN(3)), Value: []byte{byte(rng.IntN(9))},
		}
	}
	for range 200 {
		a := NewState()
		for range rng.IntN(60) {
			e := random()
			b, err := e.encode()
			require.NoError(t, err)
			same, err := decodeEntry(b)
			require.NoError(t, err)
			require.Equal(t, e, same)
			a.Apply(e)
		}
		b := a.Clone()
		require.Equal(t, string(a.snapshot()), string(b.snapshot()))
		for range 20 {
			e := random()
			require.Equal(t, a.Apply(e), b.Apply(e))
		}
		require.Equal(t, string(a.snapshot()), string(b.snapshot()))
	}
	_, err := restore([]byte("nonsense"))
	require.ErrorContains(t, err, "read a snapshot")
}

func TestEntryIsChecked(t *testing.T) {
	for _, e := range []Entry{{}, {Kind: "x"}, {Kind: Note}, {Kind: Placed}, {Kind: Lost}, {Kind: Added}, {Kind: Removed}, {Kind: Died},
		{Kind: Note, Key: "k", Value: []byte(strings.Repeat("v", MaxEntry))}} {
		_, err := e.encode()
		require.ErrorIs(t, err, ErrEntry, "%+v", e.Kind)
	}
	_, err := decodeEntry([]byte("{"))
	require.ErrorIs(t, err, ErrEntry)
}

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

// TestNotes: the latest of a key counts, and one without a value is none.
func TestNotes(t *testing.T) {
	s := NewState()
	for _, value := range []string{"a", "b", "", "c"} {
		s.Apply(Entry{Kind: Note, Key: "k", Value: []byte(value)})
		if value == "" {
			require.NotContains(t, s.Notes, "k")
		} else {
			require.Equal(t, value, string(s.Notes["k"]))
		}
		require.Equal(t, s, s.Clone())
	}
}
