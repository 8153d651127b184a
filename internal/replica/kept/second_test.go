package kept

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// alone returns the machine of a replica that has begun at safe point 1. After the
// operations of log its sibling dies with memory that the replica needs.
func alone(t *testing.T, log func(m *Machine)) *Machine {
	t.Helper()
	m := New(Config{Replica: 0, First: Plan{Next: 5, Types: []uint64{7}, Share: 1 << 15}})
	m.SafePoint(Point{Number: 1, Place: "here"})
	requireStep(t, m, Done)
	m.wrote(Span{0, 8}, 2)
	log(m)
	m.Dead()
	m.Touch(Span{4, 6})
	requireStep(t, m, Back)
	from, again := m.Behind()
	require.True(t, again)
	require.EqualValues(t, 1, from)
	return m
}

func requireStep(t *testing.T, m *Machine, kind StepKind) {
	t.Helper()
	s, err := m.Next()
	require.NoError(t, err)
	require.Equal(t, kind, s.Kind)
}

// back performs the steps of a rollback, and returns them.
func back(t *testing.T, m *Machine) (steps []Return) {
	t.Helper()
	for range Again + 1 {
		s, err := m.NextReturn()
		require.NoError(t, err)
		steps = append(steps, s)
	}
	require.False(t, m.behind)
	return steps
}

// TestStepsBack requires the order of the steps of a rollback: the memory of messages is
// copied before the image overwrites it, receives are undone before their messages return,
// and the second run comes last.
func TestStepsBack(t *testing.T) {
	m := alone(t, func(m *Machine) {
		m.Received(Message{Number: 3, Data: []byte("m")})
		m.Decided(Decision{Number: 4})
		m.Resulted(Result{Number: 5})
	})
	require.Equal(t, "rolls back to safe point 1: its sibling died with memory that it needs", m.Describe())
	steps := back(t, m)
	for i, kind := range []ReturnKind{CopySends, Undo, GiveBack, Load, Again} {
		require.Equal(t, kind, steps[i].Kind)
	}
	require.Equal(t, "here", steps[Load].Place)
	require.EqualValues(t, 3, steps[GiveBack].Messages[0].Number)
	require.EqualValues(t, 4, steps[GiveBack].Decisions[0].Number)
	require.EqualValues(t, 5, steps[GiveBack].Results[0].Number)
	_, err := m.NextReturn()
	require.ErrorContains(t, err, "does not roll back")
}

// TestDomains requires that a second run repeats the operations of one clock domain in order.
// Operations of different domains may be in any order.
func TestDomains(t *testing.T) {
	a, b, other := Op{Kind: OpSend, Number: 0, Hash: 1}, Op{Kind: OpSend, Number: 1}, Op{Kind: OpReceive, Peer: 2}
	log := func(m *Machine) {
		for domain, ops := range [][]Op{{a, b}, {other}} {
			for _, o := range ops {
				again, err := m.Did(uint64(domain), o)
				require.NoError(t, err)
				require.False(t, again)
			}
		}
	}
	m := alone(t, log)
	back(t, m)
	require.Equal(t, "runs again from safe point 1", m.Describe())
	for _, x := range []struct {
		domain uint64
		op     Op
	}{{1, other}, {0, a}, {0, b}} {
		again, err := m.Did(x.domain, x.op)
		require.NoError(t, err)
		require.True(t, again)
	}
	_, running := m.Behind()
	require.False(t, running, "all operations were repeated")

	m = alone(t, log)
	back(t, m)
	_, err := m.Did(0, b)
	require.EqualError(t, err, "the run again from safe point 1 differs, so a variable is not registered with Protect: "+
		"first send 0, rank 0, tag 0, context 0, hash 1, then send 1, rank 0, tag 0, context 0, hash 0")
	m.Cut(2)
	_, err = m.Next()
	require.ErrorContains(t, err, "before this replica has run again")
}

// TestDivergedPieces requires that replicas with different maps do not exchange pieces.
func TestDivergedPieces(t *testing.T) {
	m := New(Config{})
	m.wrote(Span{0, 8}, 2)
	m.Touch(Span{0, 4})
	requireStep(t, m, Wait)
	require.Equal(t, "waits for 1 pieces of memory from replica 1", m.Describe())
	m.Arrive(Frame{Kind: Pieces, Signature: 1}, nil)
	_, err := m.Next()
	var d *Divergence
	require.ErrorAs(t, err, &d)
	require.ErrorContains(t, err, "pieces of exchange 0: first list 0000000000000001 of the other replica, then list ")
}

// TestDivergedCut requires that replicas with different maps do not complete a cut.
func TestDivergedCut(t *testing.T) {
	m := New(Config{})
	m.wrote(Span{0, 8}, 2)
	m.Cut(3)
	requireStep(t, m, Wait)
	require.Equal(t, "safe point 3: waits for all memory of replica 1", m.Describe())
	m.Arrive(Frame{Kind: Whole, Number: 3, Signature: 1}, nil)
	_, err := m.Next()
	var d *Divergence
	require.ErrorAs(t, err, &d)
	require.ErrorContains(t, err, "memory in the cut of safe point 3: first list 0000000000000001 of the other replica, then list ")
}

// TestForgottenProtect runs programs with one unregistered array that outlives safe
// points. A second run that sends other data than the first one ends the job.
func TestForgottenProtect(t *testing.T) {
	found, unseen := 0, 0
	first, n := simseed.Range(t, 400)
	n = min(n, 400)
	for seed := first; seed < first+n; seed++ {
		j := newJob(seed)
		j.kills, j.config.First.Next = []kill{{from: j.rng.IntN(900), state: 6}}, longest
		j.noCuts = true
		for r := range j.prog.ranks {
			j.prog.ranks[r].registered[1] = false
		}
		j.backup = nil
		j.begin()
		err := j.run()
		var d *Divergence
		switch {
		case err == nil:
		case errors.As(err, &d):
			found++
			require.ErrorContains(t, err, "so a variable is not registered with Protect")
		default:
			unseen++ // no message that depends on the array was sent yet
		}
	}
	t.Logf("%d jobs: %d second runs differ and are found, %d differ only later", n, found, unseen)
	if n > 100 {
		require.Greater(t, 10*found, 6*(found+unseen), "too few differences are found")
	}
}
