//go:build linux

package shm_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/shm"
)

func pairOf(size int) linktest.Pair {
	return func(t testing.TB) (a, b transport.Link) {
		s, err := shm.Create(size)
		require.NoError(t, err)
		defer s.File().Close()
		a, err = shm.OpenWithoutNet(s.File(), 0)
		require.NoError(t, err)
		b, err = shm.OpenWithoutNet(s.File(), 1)
		require.NoError(t, err)
		return a, b
	}
}

// turning is pairOf for processes that take turns on a core.
func turning(size int) linktest.Pair {
	return func(t testing.TB) (a, b transport.Link) {
		a, b = pairOf(size)(t)
		a.(transport.Turning).TakeTurns()
		b.(transport.Turning).TakeTurns()
		return a, b
	}
}

func TestLink(t *testing.T) {
	for _, size := range []int{4096, 1 << 20, shm.DefaultSize} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { linktest.Run(t, pairOf(size)) })
	}
	t.Run("turns", func(t *testing.T) { linktest.Run(t, turning(64<<10)) })
}

func TestMain(m *testing.M) {
	linktest.Child(func(f *os.File) (transport.Link, error) {
		defer f.Close()
		return shm.Open(f, 1)
	})
	os.Exit(m.Run())
}

func TestCrash(t *testing.T) {
	linktest.Crash(t, func(t testing.TB) (transport.Link, *os.File) {
		s, err := shm.Create(1 << 20)
		require.NoError(t, err)
		l, err := shm.Open(s.File(), 0)
		require.NoError(t, err)
		l.(transport.Turning).TakeTurns()
		return l, s.File()
	})
}
