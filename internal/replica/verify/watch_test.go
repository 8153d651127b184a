package verify

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// TestWatch runs ranks through programs in which the state of one replica is wrong for a
// while, and any replica dies or is replaced at any point. A difference that two replicas
// have hashed is found, and no other one. All stop at one place and report the difference
// correctly, and no replica hangs.
func TestWatch(t *testing.T) {
	blocks, hashesOnly, joined := 0, 0, 0
	check := func(seed uint64) (*watching, error) {
		k := newWatching(seed)
		if err := k.run(); err != nil {
			return k, err
		}
		for _, x := range k.reports {
			if k.faulty < 0 || x.found.A != k.faulty && x.found.B != k.faulty {
				return k, fmt.Errorf("replica %d reports a difference between sound replicas: %+v", x.by, x.found)
			}
		}
		if k.faulty >= 0 && len(k.reports) == 0 {
			return k, k.missed()
		}
		return k, nil
	}
	n := simseed.Search(t, 4000, func(seed uint64) error { _, err := check(seed); return err })
	for seed := range min(n, 2000) {
		k, err := check(seed)
		require.NoError(t, err)
		for _, x := range k.nodes {
			if x.replaced {
				joined++
			}
		}
		for _, x := range k.reports {
			if x.of != nil {
				blocks++
			} else {
				hashesOnly++
			}
		}
	}
	if n >= 2000 {
		require.Greater(t, blocks, 100)
		require.Greater(t, hashesOnly, 100)
		require.Greater(t, joined, 30)
	}
}

// If the sections of replicas are equal again, the replicas report the difference after a
// while, and do not stop at every section from there on.
func TestSectionsThatAreAlikeAgain(t *testing.T) {
	ends := []*Watch{NewWatch(0, 2), NewWatch(1, 2)}
	send := func(all []Send, from int) (out []Send) {
		for _, s := range all {
			out = append(out, ends[s.To].Receive(from, s.Word)...)
		}
		return out
	}
	at := Place{AtSection, 1}
	send(ends[0].Pass(at, []uint64{1}), 0)
	send(ends[1].Pass(at, []uint64{2}), 1)
	send(ends[0].Propose(Place{AtSection, 2}), 0)
	stops := 0
	for n := uint64(2); n < 100; n++ {
		at.Number = n
		if !ends[0].Stops(at) {
			break
		}
		require.True(t, ends[1].Stops(at))
		stops++
		for _, w := range ends {
			w.Stop(at, Table{{1, 5}})
		}
		for range 4 {
			for _, k := range []int{1, 0} {
				step, of, out := ends[k].Step()
				send(out, k)
				if step == WatchTell {
					require.Nil(t, of)
					require.Equal(t, mostTries+1, stops)
					return
				}
			}
		}
	}
	t.Fatalf("no difference was reported after %d sections", stops)
}

// Both replicas of a difference report the same two hashes.
func TestDifferenceNamesBothHashes(t *testing.T) {
	at := Place{AtSafePoint, 3}
	want := &Difference{Place: at, A: 1, B: 2, Index: 1, Hashes: [2]uint64{8, 9}}
	require.Equal(t, want, differ(at, 1, 2, []uint64{7, 8}, []uint64{7, 9}))
	require.Equal(t, want, differ(at, 2, 1, []uint64{7, 9}, []uint64{7, 8}))
	require.Equal(t, &Difference{Place: at, A: 0, B: 1, Index: 1, Lengths: true, Hashes: [2]uint64{1, 2}}, differ(at, 1, 0, []uint64{7, 9}, []uint64{7}))
}

// Replicas that join after the end of the comparisons may differ from each other. They do
// not wait for replicas that no longer compare.
func TestJoinersAfterTheEnd(t *testing.T) {
	goes, a, b := NewWatch(0, 3), NewWatch(1, 3), NewWatch(2, 3)
	goes.Dead(1)
	goes.Dead(2)
	goes.End()
	for p, joiner := range []*Watch{1: a, 2: b} {
		if joiner == nil {
			continue
		}
		for _, s := range goes.Alive(p) {
			require.Equal(t, p, s.To)
			joiner.Receive(0, s.Word)
		}
		require.True(t, joiner.Over())
	}
	at := Place{AtSafePoint, 4}
	a.Pass(at, []uint64{1})
	b.Receive(1, &WatchWord{Kind: WatchHashes, Place: at, Hashes: []uint64{1}})
	b.Pass(at, []uint64{2})
	require.NotNil(t, b.Found())
	_, wants := b.Wants()
	require.False(t, wants)
}

// Messages of a dead replica do not count for its replacement: neither its hashes nor the
// place at which it stopped.
func TestJoinerHasSentNothing(t *testing.T) {
	w := NewWatch(0, 3)
	at, stop := Place{AtSafePoint, 5}, Place{AtSafePoint, 6}
	w.Receive(1, &WatchWord{Kind: WatchHashes, Place: at, Hashes: []uint64{9}})
	w.Dead(1)
	w.Alive(1)
	w.Pass(at, []uint64{1})
	require.Nil(t, w.Found())

	w.Receive(2, &WatchWord{Kind: WatchHashes, Place: at, Hashes: []uint64{2}})
	w.Propose(stop)
	for p := 1; p <= 2; p++ {
		w.Receive(p, &WatchWord{Kind: WatchTable, Place: stop, Table: Table{{1, 5}}})
	}
	w.Dead(1)
	w.Alive(1)
	w.Stop(stop, Table{{1, 5}})
	step, _, _ := w.Step()
	require.Equal(t, WatchWait, step, "for the joiner")
}
