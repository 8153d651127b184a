package direct

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// common are words that all replicas share.
type common [NumAgreements]atomic.Uint64

func (w *common) Load(k int) uint64                          { return w[k].Load() }
func (w *common) CompareAndSwap(k int, old, new uint64) bool { return w[k].CompareAndSwap(old, new) }

// agree is Agree of a replica that sends if it is too far behind.
func agree(w Agreements, at Moment, mine Way) Way {
	if way, ok := Agree(w, at, mine); ok {
		return way
	}
	return Send
}

func TestTheFirstOneDecides(t *testing.T) {
	var w common
	for section := range uint64(1000) {
		first, second := Way(section%4), Way(section/4%4)
		at := Moment{Section: section}
		require.Equal(t, first, agree(&w, at, first))
		require.Equal(t, first, agree(&w, at, second))
		require.Equal(t, first, agree(&w, at, first))
	}
	for _, section := range []uint64{0, 1000 - NumAgreements - 1} {
		_, ok := Agree(&w, Moment{Section: section}, Store)
		require.False(t, ok, "section %d is too far behind", section)
	}
	last := Moment{Section: 1000 - NumAgreements}
	require.Equal(t, Way(last.Section%4), agree(&w, last, Send))
}

// After a rollback a job decides again about sections that it had already reached.
func TestAgreementsOfAGeneration(t *testing.T) {
	var w common
	for generation := range uint32(5) {
		want := Way(generation % 4)
		for section := range uint64(200) {
			at := Moment{generation, 200 + section}
			require.Equal(t, want, agree(&w, at, want))
			require.Equal(t, want, agree(&w, at, (want+1)%4))
		}
	}
	at := Moment{1<<generationBits + 7, 1<<40 + 3} // more than the generations that a word can distinguish
	require.Equal(t, Store, agree(&w, at, Store))
	require.Equal(t, Store, agree(&w, at, Send))
}

func TestReplicasThatAgreeAtOnce(t *testing.T) {
	const replicas, sections = 4, 3000
	var w common
	var got [replicas][sections]Way
	var all sync.WaitGroup
	for r := range replicas {
		all.Go(func() {
			for s := range sections {
				got[r][s] = agree(&w, Moment{Section: uint64(s)}, Way((s+r)%4))
			}
		})
	}
	all.Wait()
	// A replica that was far behind may send. All other replicas got the same way.
	for s := range sections {
		var ways [4]int
		for r := range replicas {
			ways[got[r][s]]++
		}
		others := 0
		for w, n := range ways {
			if Way(w) != Send && n > 0 {
				others++
			}
		}
		require.LessOrEqual(t, others, 1, "section %d: %v", s, ways)
	}
}
