package verify

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
	"github.com/intrahpc/intra/sched"
)

// tally counts the outcomes of the schedules, so that the test can check that they
// occurred.
type tally struct{ repaired, undecided, escaped, deaths int }

// erring makes a rank from a seed in which one replica may err.
func erring(seed uint64) *rank {
	r := newRank(seed)
	if r.rng.IntN(4) > 0 {
		r.faulty = r.rng.IntN(len(r.nodes))
		r.mode = mode(r.rng.IntN(int(modes)))
		r.odds = 1 + r.rng.IntN(4)
	}
	return r
}

// check checks the results of a rank.
func (r *rank) check(t *tally) error {
	t.deaths += len(r.deaths)
	if r.ended != nil {
		if !errors.As(r.ended, new(*Undecided)) || r.errors == 0 {
			return fmt.Errorf("the job has ended after %d errors: %w", r.errors, r.ended)
		}
		if len(r.deaths) == 0 && (len(r.nodes) > 2 || r.mode == once) {
			return fmt.Errorf("undecided with %d replicas alive: %w", len(r.nodes), r.ended)
		}
		if m := r.by.m; m.peers[r.faulty].blamed && (r.by.id != r.faulty || !r.by.lone) {
			return fmt.Errorf("a blamed replica counts as a witness: %w", r.ended)
		}
		t.undecided++
		return nil
	}
	for _, n := range r.nodes {
		for section, res := range n.left {
			for i, hash := range res.Right {
				if hash != value(section, i) {
					// Only other replicas can find an error that is always the same.
					if r.mode != always && r.mode != worse || n.id != r.faulty || !n.alone[section] || n.warned[section] {
						return fmt.Errorf("replica %d left section %d with %x as the result of task %d", n.id, section, hash, i)
					}
					t.escaped++
				}
			}
			for _, g := range res.Faulty {
				if g.Replica != r.faulty {
					return fmt.Errorf("replica %d convicts %d, which never errs", n.id, g.Replica)
				}
				t.repaired++
			}
			if r.errors == 0 && len(res.Differed) > 0 {
				return fmt.Errorf("replica %d finds a difference where no replica errs", n.id)
			}
		}
	}
	return nil
}

// TestSchedules runs ranks through sections. One replica errs once, often, always, or
// always after it was blamed, and any replica dies at any point. No replica continues with
// a wrong result, no sound one is blamed, and none waits forever.
func TestSchedules(t *testing.T) {
	first, n := simseed.Range(t, 20_000)
	var all tally
	for seed := first; seed < first+n; seed++ {
		r := erring(seed)
		require.NoError(t, r.run(), "INTRA_SEED=%d", seed)
		require.NoError(t, r.check(&all), "INTRA_SEED=%d", seed)
	}
	if n > 1000 {
		require.Greater(t, all.deaths, int(n)/5, "too few deaths to mean anything")
		require.Greater(t, all.repaired, int(n)/5, "too few results were repaired")
		require.Positive(t, all.undecided)
		require.Positive(t, all.escaped)
	}
}

// TestAgreement lets each replica compute arbitrary results of its own. All replicas that
// leave a section with live peers leave it with the same results.
func TestAgreement(t *testing.T) {
	first, n := simseed.Range(t, 10_000)
	left := 0
	for seed := first; seed < first+n; seed++ {
		r := newRank(seed)
		r.wild = true
		require.NoError(t, r.run(), "INTRA_SEED=%d", seed)
		for section := range r.sampled {
			var agreed *Result
			for _, n := range r.nodes {
				res := n.left[section]
				if res == nil || n.alone[section] {
					continue
				}
				if left++; agreed != nil {
					require.Equal(t, agreed.Right, res.Right, "INTRA_SEED=%d section %d replica %d", seed, section, n.id)
				}
				agreed = res
			}
		}
	}
	require.Positive(t, left)
}

// TestEntry requires that a difference of memory at the entry of a section is
// distinguished from a wrong result.
func TestEntry(t *testing.T) {
	found := 0
	for seed := range uint64(2000) {
		r := newRank(seed)
		r.faulty, r.mode, r.diverged = r.rng.IntN(len(r.nodes)), always, true
		require.NoError(t, r.run(), "INTRA_SEED=%d", seed)
		if errors.As(r.ended, new(*EntryDiffers)) {
			found++
		}
		for _, n := range r.nodes {
			for _, res := range n.left {
				require.False(t, len(r.deaths) == 0 && len(res.Faulty) > 0, "INTRA_SEED=%d: blamed for its inputs", seed)
			}
		}
	}
	require.Greater(t, found, 500)
}

// TestMismatch requires that a replica in another section is not blamed.
func TestMismatch(t *testing.T) {
	for name, w := range map[string]*Word{
		"another signature":       {Section: 3, Signature: 8, First: []uint64{1}},
		"more tasks":              {Section: 3, Signature: 7, First: []uint64{1, 2}},
		"a result of more tasks":  {Section: 3, Signature: 7, Result: &Result{Right: []uint64{1, 2}}},
		"a task that is not here": {Section: 3, Signature: 7, Result: &Result{Right: []uint64{1}, Differed: []int{1}}},
		"a wrong one, too":        {Section: 3, Signature: 7, Result: &Result{Right: []uint64{1}, Faulty: []Faulty{{Index: 1}}}},
	} {
		m := New(0, 2)
		m.Enter(3, 7, []int{0})
		m.Ran(0, 0, Run{Hash: 1})
		m.Complete()
		m.Receive(1, w)
		_, err := m.Done()
		require.ErrorContains(t, err, "replica 1 verifies section 3 with other tasks", name)
	}
}

// disputed returns replica 0 of a rank of three, whose result of a task in section 5
// differs from that of replica 1.
func disputed() *Machine {
	m := New(0, 3)
	m.Enter(5, 7, []int{4})
	m.Ran(0, 0, Run{Hash: 1})
	m.Complete()
	m.Receive(1, &Word{Section: 5, Signature: 7, First: []uint64{2}})
	m.Receive(2, &Word{Section: 5, Signature: 7, First: []uint64{1}})
	m.Ran(0, 9, Run{Hash: 1})
	for p := 1; p < 3; p++ {
		m.Receive(p, &Word{Section: 5, Signature: 7, Again: []Again{{Index: 0, Entry: 9, First: Run{Hash: uint64(3 - p)}, Second: Run{Hash: 1}}}})
	}
	return m
}

// TestResultIsHeld requires that a disputed result is used only when all live replicas
// hold it. A replica that has used it may die, and the other replicas might then never receive the
// votes that decided it.
func TestResultIsHeld(t *testing.T) {
	m := disputed()
	right := &Result{Right: []uint64{1}, Differed: []int{0}, Faulty: []Faulty{{Replica: 1}}}
	for p := 1; p < 3; p++ {
		r, err := m.Done()
		require.NoError(t, err)
		require.Nil(t, r)
		m.Receive(p, &Word{Section: 5, Signature: 7, Result: right})
	}
	r, err := m.Done()
	require.NoError(t, err)
	require.Equal(t, right, r)
}

// TestHeldResultIsAnswered requires that a replica that holds a result waits until all
// live replicas hold it, including those that needed no result. The result may come from a
// dead replica and may not have reached the other replicas.
func TestHeldResultIsAnswered(t *testing.T) {
	for name, then := range map[string]func(*Machine){
		"in the section":                   func(*Machine) {},
		"behind it":                        (*Machine).Leave,
		"in the next one":                  func(m *Machine) { m.Leave(); m.Enter(6, 8, []int{1}) },
		"in the next one, after its tasks": func(m *Machine) { m.Leave(); m.Enter(6, 8, []int{1}); m.Ran(0, 0, Run{Hash: 9}); m.Complete() },
	} {
		t.Run(name, func(t *testing.T) {
			m := New(0, 3)
			m.Enter(5, 7, []int{4})
			m.Ran(0, 0, Run{Hash: 1})
			m.Complete()
			for p := 1; p < 3; p++ {
				m.Receive(p, &Word{Section: 5, Signature: 7, First: []uint64{1}})
			}
			r, err := m.Done()
			require.NoError(t, err)
			require.Equal(t, &Result{Right: []uint64{1}}, r)
			then(m)
			acts := m.Receive(1, &Word{Section: 5, Signature: 7, Result: r})
			require.Len(t, acts, 2)
			for i, a := range acts {
				require.Equal(t, Action{Kind: Say, Peer: 1 + i, Word: &Word{Section: 5, Signature: 7, Result: r}}, a)
			}
			require.Empty(t, m.Receive(2, &Word{Section: 5, Signature: 7, Result: r}), "it has sent the result")
		})
	}
}

// TestLateWord requires that messages about a section that was left are not kept.
func TestLateWord(t *testing.T) {
	m := disputed()
	for p := 1; p < 3; p++ {
		m.Receive(p, &Word{Section: 5, Signature: 7, Result: &Result{Right: []uint64{1}}})
	}
	m.Leave()
	m.Receive(2, &Word{Section: 5, Signature: 7, First: []uint64{1}, Deaths: 1})
	m.Receive(2, &Word{Section: 4, Signature: 7, First: []uint64{1}})
	require.Empty(t, m.peers[2].said)
	m.Receive(2, &Word{Section: 6, Signature: 7, First: []uint64{1}})
	require.Len(t, m.peers[2].said, 1)
}

func TestJudge(t *testing.T) {
	ballot := func(hashes ...uint64) Ballot {
		var b Ballot
		for _, h := range hashes {
			b.Runs = append(b.Runs, Run{Hash: h})
		}
		return b
	}
	for _, c := range []struct {
		name    string
		ballots []Ballot
		right   uint64
		ok      bool
	}{
		{"all alike", []Ballot{ballot(1), ballot(1)}, 1, true},
		{"one erred once", []Ballot{ballot(2, 1), ballot(1, 1)}, 1, true},
		{"one errs each time in another way", []Ballot{ballot(2, 3), ballot(1, 1)}, 1, true},
		{"one errs always in the same way", []Ballot{ballot(2, 2), ballot(1, 1)}, 0, false},
		{"two against one that errs always in the same way", []Ballot{ballot(2, 2), ballot(1, 1), ballot(1, 1)}, 1, true},
		{"all contradict themselves", []Ballot{ballot(2, 3), ballot(1, 4)}, 0, false},
		{"each reports the first result of the other", []Ballot{ballot(1, 2), ballot(2, 1)}, 0, false},
		{"two against two", []Ballot{ballot(1, 1), ballot(1, 1), ballot(2, 2), ballot(2, 2)}, 0, false},
		{"alone, twice", []Ballot{ballot(1, 1)}, 1, true},
		{"alone, once", []Ballot{ballot(1)}, 0, false},
		{"a dead replica reported another result", []Ballot{ballot(1, 1), ballot(2)}, 0, false},
		{"a dead replica reported the same result", []Ballot{ballot(2, 1), ballot(1)}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 2 {
				right, ok := judge(c.ballots)
				require.Equal(t, c.ok, ok)
				if c.ok {
					require.Equal(t, c.right, right)
				}
				slices.Reverse(c.ballots)
			}
		})
	}
}

func TestSample(t *testing.T) {
	s := Sampler{Share: 0.01, Seed: 5, Replicas: 1}
	n := 0
	for section := range uint64(1000) {
		a := s.Sample(nil, section, 100)
		require.Equal(t, a, s.Sample(nil, section, 100))
		n += len(a)
	}
	require.InDelta(t, 1000, n, 150)
	require.NotEqual(t, s.Sample(nil, 0, 100000), Sampler{Share: 0.01, Seed: 6, Replicas: 1}.Sample(nil, 0, 100000))
	require.Equal(t, []int{0, 1, 2}, Sampler{Share: 1, Replicas: 1}.Sample(nil, 9, 3))
	require.Empty(t, Sampler{Replicas: 1}.Sample(nil, 9, 1000))
}

// Sampled tasks are spread evenly: blocks of equal length contain equally many, so all
// replicas run the same number of tasks.
func TestSampleIsEven(t *testing.T) {
	for replicas := 1; replicas <= 4; replicas++ {
		for _, n := range []int{replicas, 7, 16, 60} {
			s, all := Sampler{Share: 0.1, Seed: 5, Replicas: replicas}, 0
			for section := range uint64(4000) {
				chosen := s.Sample([]int{-1}, section, n)
				require.Equal(t, -1, chosen[0])
				require.True(t, slices.IsSorted(chosen))
				of := make([]int, replicas)
				for _, task := range chosen[1:] {
					of[sched.Owner(n, replicas, task)]++
				}
				require.LessOrEqual(t, slices.Max(of)-slices.Min(of), min(n%replicas, 1))
				all += len(chosen) - 1
			}
			require.InEpsilon(t, 0.1*4000*float64(n), all, 0.2, "%d replicas, %d tasks", replicas, n)
		}
	}
}

// TestDeadBeyondACut kills a replica that has passed a safe point, which is a cut for the
// other replicas. From that cut on fewer tasks are sampled.
func TestDeadBeyondACut(t *testing.T) {
	m := New(0, 3)
	m.Receive(1, &Word{Section: 3, Signature: 7, First: []uint64{5, 6}})
	m.Dead(1)
	m.Enter(3, 7, []int{1})
	m.Ran(0, 0, Run{Hash: 6})
	m.Complete()
	m.Receive(2, &Word{Section: 3, Signature: 7, First: []uint64{6}, Deaths: 1})
	r, err := m.Done()
	require.NoError(t, err)
	require.Equal(t, &Result{Right: []uint64{6}}, r)
}
