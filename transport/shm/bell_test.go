//go:build linux

package shm

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A wake-up during arming is not lost: it changes the armed value on which the link sleeps.
func TestRungWhileArming(t *testing.T) {
	s, err := Create(fuzzRing)
	require.NoError(t, err)
	defer s.File().Close()
	a, err := Open(s.File(), 0)
	require.NoError(t, err)
	l := a.(*link)
	var stop atomic.Bool
	rings := make(chan struct{})
	go func() {
		defer close(rings)
		for !stop.Load() {
			l.own.ring()
		}
	}()
	for range 200_000 {
		if l.arm()&asleep == 0 {
			t.Error("the link sleeps and cannot be woken")
			break
		}
	}
	stop.Store(true)
	<-rings
	require.NoError(t, l.Close())
}
