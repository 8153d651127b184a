package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// alloc makes an array, in an arena if a is not nil.
func alloc(a *arena.Arena, n int) []float64 {
	if a == nil {
		return make([]float64, n)
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(a.Alloc(8*n)))), n)
}

// Results for arrays in shared memory are stored. Results for other arrays are sent.
func TestStores(t *testing.T) {
	const n = 8
	want := serial(n)
	var all int64
	for seed := range 8 {
		replicas := 2 + seed%2
		g := newGroup(t, replicas, share, threads(1+seed/2%3)).withStores()
		final := make([]*vectors, replicas)
		g.run(rounds(n, sched.Adaptive, final))
		var stored, run, received int64
		for i, r := range g.replicas {
			require.NoError(t, r.err)
			require.Equal(t, want, final[i])
			s := r.engine.Snapshot()
			for _, k := range s.TaskTypes {
				stored += k.Stored
			}
			run, received = run+s.TasksRun, received+s.TasksReceived
			require.Equal(t, g.replicas[0].engine.Snapshot().Signature, s.Signature)
		}
		all += stored // replicas that never meet each run every task
		require.LessOrEqual(t, stored, received, "the first are sent, while one replica has no arrays yet")
		require.EqualValues(t, 2*n*16*replicas, run+received, "every result was made or stored once")
	}
	require.Positive(t, all)
}

// A stored result counts for its kernel, also in a section with several kernels.
func TestStoresOfSeveralKernels(t *testing.T) {
	// Replicas that never meet each run every task. This may happen on a busy machine.
	for stored, runs := int64(0), 0; stored == 0; runs++ {
		require.Less(t, runs, 50, "no result is ever stored")
		stored = storeSeveralKernels(t)
	}
}

// storeSeveralKernels runs sections of two kernels and returns the number of stored
// results.
func storeSeveralKernels(t *testing.T) (stored int64) {
	const sections, tasks = 20, 8
	kernels := []*Kernel{kernelAdd, kernelScale}
	g := newGroup(t, 2, share).withStores()
	g.run(func(r *replica, p *Program) error {
		v := newVectors(r.arena)
		for range sections {
			err := runSection(p, sched.Adaptive, tasks, func(i int) Task {
				x := v.x[i*100 : (i+1)*100]
				return Task{Kernel: kernels[i%2], Regions: []update.Region{update.Slice(update.InOut, "x", x)}, Body: func() {
					for k := range x {
						x[k]++
					}
				}}
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	all := make(map[string]int64)
	for _, r := range g.replicas {
		require.NoError(t, r.err)
		for name, k := range r.engine.Snapshot().TaskTypes {
			all[name] += k.Run + k.Received
			stored += k.Stored
		}
	}
	each := int64(len(g.replicas) * sections * tasks / len(kernels))
	require.Equal(t, map[string]int64{kernelAdd.Name: each, kernelScale.Name: each}, all)
	return stored
}

func TestSectionsThatCannotBeStored(t *testing.T) {
	for name, policy := range map[string]sched.Policy{"static": sched.Static, "elsewhere": sched.Adaptive} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, 2, share).withStores()
			final := make([]*vectors, 2)
			g.run(func(r *replica, p *Program) error {
				v := newVectors(r.arena)
				if name == "elsewhere" { // this is one of the two arrays that are written
					v.w = newVectors(nil).w
					v.x = newVectors(nil).x
				}
				final[p.Self.Replica] = v
				return v.round(p, policy)
			})
			for i, r := range g.replicas {
				require.NoError(t, r.err)
				require.Equal(t, serial(1), final[i])
				for _, k := range r.engine.Snapshot().TaskTypes {
					require.Zero(t, k.Stored)
				}
			}
		})
	}
}

// No replica reads results that a dead replica has stored only in part. (Each replica has
// one worker: in this process the other workers of a dead replica would continue.)
func TestReplicasThatDieWhileTheyStore(t *testing.T) {
	const n = 6
	want := serial(n)
	var stored int64
	for seed := range uint64(30) {
		replicas := 2 + int(seed%2)
		kills := randomKills(seed, replicas)
		g := newGroup(t, replicas, share, killed(t, kills...)).withStores()
		final := make([]*vectors, replicas)
		g.run(rounds(n, sched.Adaptive, final))
		for _, r := range g.survivors() {
			require.NoError(t, r.err, "seed %d", seed)
			require.Equal(t, want, final[r.setup.Self.Replica], "seed %d, %v", seed, kills)
			for _, k := range r.engine.Snapshot().TaskTypes {
				stored += k.Stored
			}
		}
	}
	require.Positive(t, stored)
}

// sometimesStored runs a program on two replicas that share memory, until results have
// been stored, or gives up after many attempts. begin makes the data of each replica.
func sometimesStored(t *testing.T, begin func(r *replica) *vectors) (g *group, stored int64) {
	const n = 20
	for range 10 {
		g = newGroup(t, 2, share).withStores()
		final, meet := make([]*vectors, 2), meeting(2)
		g.run(func(r *replica, p *Program) error {
			v := begin(r)
			final[p.Self.Replica] = v
			meet()
			for range n {
				if err := v.round(p, sched.Adaptive); err != nil {
					return err
				}
			}
			return nil
		})
		for i, r := range g.replicas {
			require.NoError(t, r.err)
			require.Equal(t, serial(n), final[i])
			for _, k := range r.engine.Snapshot().TaskTypes {
				stored += k.Stored
			}
		}
		if stored > 0 {
			break
		}
	}
	return g, stored
}

// Arrays may be at different positions on the replicas.
func TestStoresToOtherPlaces(t *testing.T) {
	g, stored := sometimesStored(t, func(r *replica) *vectors {
		if r.setup.Self.Replica == 1 {
			r.arena.Alloc(1 << 20)
		}
		return newVectors(r.arena)
	})
	require.Positive(t, stored)
	for _, r := range g.replicas {
		require.Empty(t, r.engine.Snapshot().Notes)
	}
}

// If only one of two replicas can store, results are sent, and a note names the place.
func TestArraysThatOnlyOneReplicaShares(t *testing.T) {
	for shares := range 2 {
		g, _ := sometimesStored(t, func(r *replica) *vectors {
			v := newVectors(r.arena)
			if r.setup.Self.Replica != shares {
				v.w = newVectors(nil).w
			}
			return v
		})
		noted := false
		for _, r := range g.replicas {
			stats := r.engine.Snapshot()
			require.Zero(t, stats.TaskTypes[kernelAdd.Name].Stored)
			for _, note := range stats.Notes {
				require.Equal(t, "unknown place: results of engine_test.add are sent, not stored: only on some replicas are the arrays that it writes made by intra.Alloc", note)
				noted = true
			}
		}
		require.True(t, noted)
	}
}

// A process returns the memory of a dead one to the arena, for the next process. A joiner,
// and a process that rolls back, each have an area of their own.
func TestAreasOfLives(t *testing.T) {
	g := newGroup(t, 2, share).withStores()
	d, other := g.replicas[0].engine.stores, g.replicas[1]
	peer := job.Process{Replica: 1}
	s := &Section{Tasks: make([]Task, 1)}
	require.False(t, d.begun())
	newVectors(g.replicas[0].arena)
	require.True(t, d.begun())
	require.False(t, d.met(s), "the process has allocated nothing")
	v := newVectors(other.arena)
	require.True(t, d.met(s))
	first := d.areas[1]

	v.x[0] = 5
	d.sharing.dead(peer)
	require.Same(t, first, d.areas[1], "its results may still be read in this section")
	d.incarnations[peer] = 2
	d.sharing.admit(peer)
	require.Zero(t, v.x[0], "the memory of the dead process is freed")
	require.False(t, d.met(s), "its successor has allocated nothing")
	other.arena.Begin(2)
	v = newVectors(other.arena)
	require.True(t, d.met(s))
	v.x[0] = 5
	d.sharing.dead(peer)
	require.False(t, d.met(s), "no other replica is live")
	require.Zero(t, v.x[0], "the memory of the dead process is freed")
	d.incarnations[peer] = 3
	d.sharing.admit(peer)
	other.arena.Begin(3)
	newVectors(other.arena)
	require.True(t, d.met(s))
	require.EqualValues(t, 3, d.areas[1].Life.Incarnation)

	d.setup.Incarnation = 4 // all processes roll back
	d.begin()
	require.False(t, d.begun())
	newVectors(g.replicas[0].arena)
	require.True(t, d.begun())
	d.incarnations[peer] = 4
	require.False(t, d.met(s))
	other.arena.Begin(4)
	newVectors(other.arena)
	require.True(t, d.met(s))
}
