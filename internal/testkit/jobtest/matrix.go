package jobtest

import (
	"os"
	"testing"
)

// Matrix reports whether tests of whole jobs run in all combinations: INTRA_MATRIX is set,
// for example by `make matrix`. By default they run only some of each kind, because each
// job takes a second or more of processor time.
func Matrix() bool { return os.Getenv("INTRA_MATRIX") != "" }

// Some returns the cases at the given indexes, or all of them in a matrix.
func Some[T any](all []T, places ...int) []T {
	if Matrix() {
		return all
	}
	some := make([]T, len(places))
	for i, p := range places {
		some[i] = all[p]
	}
	return some
}

// Count returns the number of jobs of a kind: some by default, all in a matrix.
func Count(some, all int) int {
	if Matrix() {
		return all
	}
	return some
}

// NeedMatrix skips a test that runs only in a matrix. The reason explains why other tests
// suffice otherwise.
func NeedMatrix(t testing.TB, reason string) {
	t.Helper()
	if !Matrix() {
		t.Skipf("%s: `make matrix` (INTRA_MATRIX=1) runs it", reason)
	}
}
