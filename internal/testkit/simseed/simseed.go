package simseed

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Environment returns a number from the environment, or otherwise.
func Environment(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// Range returns the seeds to try: n of them from first on. INTRA_SEED says the
// first one, INTRA_SOAK how many; else they are usual ones from 0 on, or the
// first one alone.
func Range(t testing.TB, usual uint64) (first, n uint64) {
	t.Helper()
	if os.Getenv("INTRA_SEED") != "" {
		usual = 1
	}
	return Environment(t, "INTRA_SEED", 0), Environment(t, "INTRA_SOAK", usual)
}

// progress is after how many seeds a long search tells how far it is.
const progress = 50_000

// Search calls check with the seeds of Range, on two goroutines so that the
// other core of a small machine is used, until one fails. It returns how many
// there were, and 0 after a failure, which it reports.
func Search(t testing.TB, usual uint64, check func(seed uint64) error) uint64 {
	t.Helper()
	first, n := Range(t, usual)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // much garbage, of which little lives
	var tried atomic.Uint64
	var failed atomic.Bool
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for i := tried.Add(1) - 1; i < n && !failed.Load(); i = tried.Add(1) - 1 {
				if i > 0 && i%progress == 0 {
					t.Logf("%d of %d", i, n)
				}
				if err := check(first + i); err != nil {
					failed.Store(true)
					t.Errorf("%v\nreplay with INTRA_SEED=%d and -run '^%s$'", err, first+i, t.Name())
				}
			}
		})
	}
	workers.Wait()
	if failed.Load() {
		return 0
	}
	return n
}
