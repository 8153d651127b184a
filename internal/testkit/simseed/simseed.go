package simseed

import (
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
)

// Environment returns the number in an environment variable. If the variable is not set,
// it returns otherwise.
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

// Range returns the seeds to try: n seeds, beginning with first. INTRA_SEED sets the first one,
// INTRA_SOAK the number. Without INTRA_SOAK the number is usual, or 1 with INTRA_SEED.
func Range(t testing.TB, usual uint64) (first, n uint64) {
	t.Helper()
	if os.Getenv("INTRA_SEED") != "" {
		usual = 1
	}
	return Environment(t, "INTRA_SEED", 0), Environment(t, "INTRA_SOAK", usual)
}

// progress is the number of seeds after which a long search reports its progress.
const progress = 50_000

// Search calls check with the seeds of Range until one fails, and reports a failure. It
// uses two goroutines, because small machines have two cores. It returns the number of
// seeds, or 0 after a failure.
func Search(t testing.TB, usual uint64, check func(seed uint64) error) uint64 {
	t.Helper()
	first, n := Range(t, usual)
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // collect garbage less often, because there is much garbage and little live memory
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
