package verify

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/simseed"
)

// pacing is a replica that reaches places, with a clock of its own.
type pacing struct {
	*Pace
	now    time.Duration
	hashed map[uint64]bool
	power  uint64 // after the last hash
	missed uint64 // the first multiple of power that was not hashed
}

func (p *pacing) visit(n uint64, between, cost time.Duration) {
	p.now += between
	if p.Due(n, func() time.Duration { return p.now }) {
		p.now += cost
		p.Took(n, cost, p.now)
		p.hashed[n], p.power = true, 1<<p.level
	} else if p.missed == 0 && n%p.power == 0 {
		p.missed = n
	}
}

// TestPace makes replicas with different times reach the same places. They hash at common
// places, stay within their share of the time, and hash more often when places become
// rarer.
func TestPace(t *testing.T) {
	simseed.Search(t, 300, func(seed uint64) error {
		rng := rand.New(rand.NewPCG(seed, 37))
		first := rng.Uint64N(1000)
		var all []*pacing
		for range 2 {
			all = append(all, &pacing{Pace: NewPace(first, 0), now: time.Duration(rng.Int64N(int64(time.Second))), hashed: make(map[uint64]bool), power: 1})
		}
		between, cost := time.Duration(1+rng.Int64N(int64(10*time.Millisecond))), time.Duration(1+rng.Int64N(int64(10*time.Millisecond)))
		places := 3000 + rng.Uint64N(3000)
		slow := first + places/2 // from there on places are further apart
		since := 0
		for n := first + 1; n <= first+places; n++ {
			apart := between
			if n > slow {
				apart *= 30
			}
			for _, p := range all {
				p.visit(n, apart+time.Duration(rng.Int64N(int64(apart))), cost+time.Duration(rng.Int64N(int64(cost))))
			}
			if n > slow && all[0].hashed[n] && all[1].hashed[n] {
				since++
			}
		}
		for i, p := range all {
			// The first hashes are taken before the time between places is well known.
			if p.missed > 0 {
				return fmt.Errorf("replica %d skipped place %d, a multiple of its power", i, p.missed)
			}
			if most := 3*2*cost + paceFree + p.now/100; p.Spent() > most {
				return fmt.Errorf("replica %d spent %v of %v on hashes that take up to %v, want at most %v", i, p.Spent(), p.now, 2*cost, most)
			}
		}
		if !all[0].hashed[first+1] || !all[1].hashed[first+1] {
			return fmt.Errorf("the first place was not hashed")
		}
		// This is half of the number of hashes that the time would allow if both replicas
		// chose the same power and hashes always took the same time.
		if could := int(time.Duration(places/2) * 30 * between / paceShare / (4 * cost)); since < could/8-2 && since < int(places/16) {
			return fmt.Errorf("%d hashes in common, and there was time for %d", since, could)
		}
		return nil
	})
}

// TestPaceAtTheBeginning requires that a job whose places follow each other faster than
// hashes can be taken is compared with few hashes: at the first places, and then each time
// that the number of places has doubled.
func TestPaceAtTheBeginning(t *testing.T) {
	const us = time.Microsecond
	p := &pacing{Pace: NewPace(0, 0), now: time.Millisecond, hashed: make(map[uint64]bool), power: 1}
	for n := uint64(1); n <= 1200; n++ {
		p.visit(n, 10*us, 40*us)
	}
	require.Zero(t, p.missed)
	require.Equal(t, []uint64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}, slices.Sorted(maps.Keys(p.hashed)))
}

// TestHashesAreKept requires that both replicas keep a common hash at some level, even if
// one is far ahead.
func TestHashesAreKept(t *testing.T) {
	ahead, behind := NewWatch(0, 2), NewWatch(1, 2)
	for n := uint64(1); n <= 5000; n++ {
		for _, s := range ahead.Pass(Place{AtSafePoint, n}, []uint64{n}) {
			behind.Receive(0, s.Word)
		}
	}
	require.LessOrEqual(t, len(ahead.own.at), kept*14)
	compared := 0
	for n := uint64(1); n <= 5000 && behind.Found() == nil; n++ {
		for _, s := range behind.Pass(Place{AtSafePoint, n}, []uint64{0}) {
			ahead.Receive(1, s.Word)
		}
		compared++
	}
	require.NotNil(t, behind.Found())
	require.Less(t, compared, 1000)
	require.NotNil(t, ahead.Found())
	require.Equal(t, behind.Found(), ahead.Found())
	require.Positive(t, ahead.Compared())
	require.Zero(t, behind.Compared())
}
