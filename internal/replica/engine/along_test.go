package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// storingAlong makes replicas store results past the caches whatever their size, in parts
// of a few elements.
func (g *group) storingAlong() *group {
	g.withStores()
	for _, r := range g.replicas {
		r.engine.stores.large, r.engine.stores.part = 0, 3*8
	}
	return g
}

// elementwise runs sections whose tasks are elementwise, and take long enough
// that replicas meet in them. It counts the parts in which the tasks run.
func elementwise(n int, parts *atomic.Int64, final [][]float64) func(r *replica, p *Program) error {
	return func(r *replica, p *Program) error {
		const tasks, length = 8, 100
		x := alloc(r.arena, tasks*length)
		for range n {
			err := runSection(p, sched.Adaptive, tasks, func(i int) Task {
				x := x[i*length:][:length]
				body := func(lo, hi int) {
					for k := lo; k < hi; k++ {
						x[k] = x[k]*3 + float64(k+1)
					}
				}
				result := update.Slice(update.InOut, "x", x)
				result.SetElementwise(func(lo, hi int) {
					if lo%10 == 0 {
						time.Sleep(10 * time.Microsecond)
					}
					parts.Add(1)
					body(lo, hi)
				})
				return Task{Kernel: kernelScale, Regions: []update.Region{result}, Body: func() {
					time.Sleep(100 * time.Microsecond)
					body(0, length)
				}}
			})
			if err != nil {
				return err
			}
		}
		final[p.Self.Replica] = x
		return nil
	}
}

// Elementwise tasks store their results while they run. A replica may die at any moment;
// the survivors continue each task at the element where the dead replica stopped.
func TestReplicasThatDieWhileTheyStoreAlong(t *testing.T) {
	const n = 8
	var parts atomic.Int64
	var resumed int64
	alone := make([][]float64, 1)
	newGroup(t, 1).run(elementwise(n, &parts, alone))
	for seed := range uint64(40) {
		replicas := 2 + int(seed%2)
		kills := randomKills(seed, replicas)
		g := newGroup(t, replicas, share, killed(t, kills...)).storingAlong()
		final := make([][]float64, replicas)
		g.run(elementwise(n, &parts, final))
		for _, r := range g.survivors() {
			require.NoError(t, r.err, "seed %d", seed)
			require.Equal(t, alone[0], final[r.setup.Self.Replica], "seed %d, %v", seed, kills)
			resumed += r.engine.Snapshot().TasksRerun
		}
	}
	require.Positive(t, parts.Load())
	require.Positive(t, resumed)
}

// Several workers store the results of their tasks while these run.
func TestWorkersStoreAlong(t *testing.T) {
	const n = 12
	var parts atomic.Int64
	alone := make([][]float64, 1)
	newGroup(t, 1).run(elementwise(n, &parts, alone))
	for workers := 1; workers <= 3; workers++ {
		g := newGroup(t, 2, share, threads(workers)).storingAlong()
		final := make([][]float64, 2)
		g.run(elementwise(n, &parts, final))
		for i, r := range g.replicas {
			require.NoError(t, r.err)
			require.Equal(t, alone[0], final[i])
		}
	}
	require.Positive(t, parts.Load())
}
