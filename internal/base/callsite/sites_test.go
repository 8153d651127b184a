package callsite_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
)

//go:noinline
func launchIn(s *callsite.Sites, skip int) *callsite.Site { return s.Here(skip) }

//go:noinline
func through(s *callsite.Sites) *callsite.Site { return launchIn(s, 1) }

// TestSitesAreFoundAgain compares the places with those that Mark finds. One call is
// reached from several places.
func TestSitesAreFoundAgain(t *testing.T) {
	var s callsite.Sites
	_, _, line, _ := runtime.Caller(0)
	at := func(below int) string { return fmt.Sprintf("callsite/sites_test.go:%d", line+below) }
	seen := map[string]*callsite.Site{}
	for range 3 {
		for want, site := range map[string]*callsite.Site{
			at(5): launchIn(&s, 0),
			at(6): launchIn(&s, 0),
			at(7): through(&s),
			at(8): through(&s),
		} {
			require.Equal(t, want, site.String())
			if seen[want] != nil {
				require.Same(t, seen[want], site)
			}
			seen[want] = site
		}
	}
	require.Len(t, seen, 4)
	for range 100 { // more places than are kept without a map
		for _, pos := range []string{"a.go:1", "b.go:2", "c.go:3"} {
			require.Equal(t, pos, s.At(pos).String())
			require.Same(t, s.At(pos), s.At(string([]byte(pos))))
		}
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { launchIn(&s, 0); s.At("a.go:1") }))
}

// TestSitesOnAnyStack finds places at the bottom of a goroutine's stack, and after the
// stack has grown.
func TestSitesOnAnyStack(t *testing.T) {
	var s callsite.Sites
	done := make(chan *callsite.Site)
	for range 2 {
		go func() { done <- launchIn(&s, 0) }()
		require.Contains(t, (<-done).String(), "callsite/sites_test.go:")
	}
	var deep func(n int) *callsite.Site
	deep = func(n int) *callsite.Site {
		if n == 0 {
			return launchIn(&s, 0)
		}
		return deep(n - 1)
	}
	require.Same(t, deep(10), deep(10_000))
}

func BenchmarkHere(b *testing.B) {
	var s callsite.Sites
	for b.Loop() {
		launchIn(&s, 0)
	}
}
