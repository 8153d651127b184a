package simseed

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder records the reports of a test.
type recorder struct {
	testing.TB
	failures int
}

func (r *recorder) Errorf(string, ...any) { r.failures++ }

func TestRange(t *testing.T) {
	for _, c := range []struct {
		name, seed, soak string
		first, n         uint64
	}{
		{"by itself", "", "", 0, 7},
		{"soak", "", "40", 0, 40},
		{"replay", "12", "", 12, 1},
		{"soak from a seed on", "12", "40", 12, 40},
		{"replay of the first", "0", "", 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("INTRA_SEED", c.seed)
			t.Setenv("INTRA_SOAK", c.soak)
			first, n := Range(t, 7)
			require.Equal(t, [2]uint64{c.first, c.n}, [2]uint64{first, n})
		})
	}
}

func TestSearch(t *testing.T) {
	t.Setenv("INTRA_SEED", "")
	t.Setenv("INTRA_SOAK", "")
	var mu sync.Mutex
	var tried []uint64
	r := &recorder{TB: t}
	require.EqualValues(t, 100, Search(r, 100, func(seed uint64) error {
		mu.Lock()
		defer mu.Unlock()
		tried = append(tried, seed)
		return nil
	}))
	require.Zero(t, r.failures)
	slices.Sort(tried)
	require.Len(t, slices.Compact(tried), 100)

	require.Zero(t, Search(r, 100, func(seed uint64) error {
		if seed == 42 {
			return errors.New("wrong")
		}
		return nil
	}))
	require.Equal(t, 1, r.failures)
}
