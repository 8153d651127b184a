package engine

import (
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// meeting returns a function in which n goroutines wait for each other.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// goroutine returns the name of the calling goroutine.
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "[")
	return name
}

// A panic or Goexit in the body of a helper ends the goroutine of the program in the same
// way.
func TestHelpersThatEnd(t *testing.T) {
	t.Run("panic", func(t *testing.T) {
		g := newGroup(t, 1, threads(3))
		var got any
		g.run(func(_ *replica, p *Program) error {
			own, meet := goroutine(), meeting(3)
			defer func() { got = recover() }()
			return runSection(p, sched.Adaptive, 3, func(int) Task {
				return Task{Kernel: kernelAdd, Body: func() {
					if meet(); goroutine() != own {
						panic("of a helper")
					}
				}}
			})
		})
		require.Equal(t, "of a helper", got)
	})
	t.Run("exit", func(t *testing.T) {
		g := newGroup(t, 1, threads(2), killed(t, "0.0@task:1"))
		returned := false
		g.run(func(_ *replica, p *Program) error {
			meet := meeting(2)
			err := runSection(p, sched.Adaptive, 2, func(int) Task { return Task{Kernel: kernelAdd, Body: meet} })
			returned = true
			return err
		})
		require.False(t, returned)
		require.Len(t, g.verdicts, 1)
	})
}

// Tasks that use the same scratch space run one after the other.
func TestScratchKeepsWorkersApart(t *testing.T) {
	g := newGroup(t, 1, threads(4))
	scratch := make([]float64, 8)
	var running, most atomic.Int64
	g.run(func(_ *replica, p *Program) error {
		return runSection(p, sched.Adaptive, 16, func(int) Task {
			return Task{Kernel: kernelAdd, Regions: []update.Region{update.Slice(update.Scratch, "s", scratch)}, Body: func() {
				most.Store(max(most.Load(), running.Add(1)))
				runtime.Gosched()
				running.Add(-1)
			}}
		})
	})
	require.EqualValues(t, 1, most.Load())
}
