package engine

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/arena"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// alloc makes an array, in an arena if there is one.
func alloc(a *arena.Arena, n int) []float64 {
	if a == nil {
		return make([]float64, n)
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(a.Alloc(8*n)))), n)
}

// rounds is a program of so many rounds, which leaves its vectors in final.
func rounds(n int, policy sched.Policy, final []*vectors) func(r *replica, p *Program) error {
	return func(r *replica, p *Program) error {
		v := newVectors(r.arena)
		for range n {
			if err := v.round(p, policy); err != nil {
				return err
			}
		}
		final[p.Self.Replica] = v
		return nil
	}
}

func TestReplicasShareTheirTasks(t *testing.T) {
	const n = 6
	want := serial(n)
	for replicas := 1; replicas <= 3; replicas++ {
		for _, workers := range []int{1, 3} {
			for _, policy := range []sched.Policy{sched.Static, sched.Adaptive, sched.Replicate} {
				t.Run(fmt.Sprintf("%d replicas, %d workers, %v", replicas, workers, policy), func(t *testing.T) {
					g := newGroup(t, replicas, threads(workers), share)
					final := make([]*vectors, replicas)
					g.run(rounds(n, policy, final))
					var run, received int64
					for i, r := range g.replicas {
						require.NoError(t, r.err)
						require.Equal(t, want, final[i])
						s := r.engine.Snapshot()
						require.EqualValues(t, 2*n, s.Sections)
						require.Equal(t, g.replicas[0].engine.Snapshot().Signature, s.Signature)
						run, received = run+s.TasksRun, received+s.TasksReceived
						require.Zero(t, s.TasksRerun)
					}
					all := int64(2 * n * 16 * replicas)
					switch {
					case policy == sched.Replicate || replicas == 1:
						require.Equal(t, all, run)
					case policy == sched.Static:
						require.Equal(t, all/int64(replicas), run)
						require.Equal(t, all-run, received)
					default:
						require.Less(t, run, all, "some were shared")
					}
				})
			}
		}
	}
}

// randomKills are points at which all replicas but the last may die.
func randomKills(seed uint64, replicas int) (kills []string) {
	rng := rand.New(rand.NewPCG(seed, 11))
	for i := range replicas - 1 {
		point := []string{"section", "task", "update"}[rng.IntN(3)]
		most := map[string]int{"section": 10, "task": 40, "update": 40}[point]
		kills = append(kills, fmt.Sprintf("0.%d@%s:%d", i, point, rng.IntN(most)))
	}
	return kills
}

// Whoever dies, and when: the others come to the same bits.
func TestReplicasThatDieWhileTheyShare(t *testing.T) {
	const n = 6
	want := serial(n)
	rerun, dead := int64(0), 0
	for seed := range uint64(40) {
		replicas, workers := 2+int(seed%2), 1+int(seed/2%2)
		policy := []sched.Policy{sched.Static, sched.Adaptive}[seed/4%2]
		kills := randomKills(seed, replicas)
		g := newGroup(t, replicas, threads(workers), share, killed(t, kills...))
		final := make([]*vectors, replicas)
		g.run(rounds(n, policy, final))
		require.NotEmpty(t, g.survivors())
		for _, r := range g.survivors() {
			require.NoError(t, r.err, "seed %d", seed)
			require.Equal(t, want, final[r.setup.Self.Replica], "seed %d, %v", seed, kills)
			rerun += r.engine.Snapshot().TasksRerun
			// A link may be at its end later than the program.
			require.Eventually(t, func() bool { return len(r.handled()) == len(g.verdicts) }, time.Minute, time.Millisecond,
				"seed %d: every death is handled", seed)
		}
		dead += len(g.verdicts)
	}
	require.Positive(t, rerun)
	require.Greater(t, dead, 20)
}

// Results of arrays in shared memory are stored there, and those of others are
// sent.
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
		all += stored // replicas that never meet make everything themselves
		require.LessOrEqual(t, stored, received, "the first are sent, while one replica has no arrays yet")
		require.EqualValues(t, 2*n*16*replicas, run+received, "every result was made or stored once")
	}
	require.Positive(t, all)
}

func TestSectionsThatCannotBeStored(t *testing.T) {
	for name, policy := range map[string]sched.Policy{"static": sched.Static, "elsewhere": sched.Adaptive} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, 2, share).withStores()
			final := make([]*vectors, 2)
			g.run(func(r *replica, p *Program) error {
				v := newVectors(r.arena)
				if name == "elsewhere" { // one of the two arrays that are written
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

// Nobody reads what a dead replica has left half stored. (Each has one worker:
// in this process nothing would stop the others of a dead one.)
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

// sometimesStored runs a program on two replicas that share memory, with another
// beginning on each, until results have been stored or it was tried often.
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

// Arrays need not lie at the same place on all replicas.
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

// Where one replica can store and the other cannot, results are sent, and the
// user learns where that is.
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

// Memory that is not there any more for one replica is for the next: a process
// that comes later, and one that goes back, each have an area of their own.
func TestAreasOfLives(t *testing.T) {
	g := newGroup(t, 2, share).withStores()
	d, other := g.replicas[0].engine.stores, g.replicas[1]
	peer := job.Process{Replica: 1}
	s := &Section{Tasks: make([]Task, 1)}
	require.False(t, d.begun())
	newVectors(g.replicas[0].arena)
	require.True(t, d.begun())
	require.False(t, d.met(s), "it has allocated nothing")
	v := newVectors(other.arena)
	require.True(t, d.met(s))
	first := d.areas[1]

	v.x[0] = 5
	d.sharing.dead(peer)
	require.Same(t, first, d.areas[1], "its results may be taken in this section")
	d.incarnations[peer] = 2
	d.sharing.admit(peer)
	require.Zero(t, v.x[0], "the memory of the dead is given back")
	require.False(t, d.met(s), "its successor has allocated nothing")
	other.arena.Begin(2)
	v = newVectors(other.arena)
	require.True(t, d.met(s))
	v.x[0] = 5
	d.sharing.dead(peer)
	require.False(t, d.met(s), "nobody else is there")
	require.Zero(t, v.x[0], "the memory of the dead is given back")
	d.incarnations[peer] = 3
	d.sharing.admit(peer)
	other.arena.Begin(3)
	newVectors(other.arena)
	require.True(t, d.met(s))
	require.EqualValues(t, 3, d.areas[1].Life.Incarnation)

	d.setup.Incarnation = 4 // all go back
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

func TestReplicasThatDoNotLaunchTheSame(t *testing.T) {
	for name, other := range map[string]func(p *Program, v *vectors) error{
		"another kernel": func(p *Program, v *vectors) error {
			return runSection(p, sched.Static, 2, func(i int) Task {
				return Task{Kernel: kernelScale, Body: func() {}, Regions: []update.Region{update.Slice(update.Out, "w", v.w[100*i:100*i+100])}}
			})
		},
		"another number": func(p *Program, v *vectors) error {
			return runSection(p, sched.Static, 1, func(i int) Task {
				return Task{Kernel: kernelAdd, Body: func() {}, Regions: []update.Region{update.Slice(update.Out, "w", v.w[:100])}}
			})
		},
		"nothing": func(*Program, *vectors) error { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			g := newGroup(t, 2, share)
			g.run(func(r *replica, p *Program) error {
				v := newVectors(nil)
				if p.Self.Replica == 1 {
					return other(p, v)
				}
				return runSection(p, sched.Static, 2, func(i int) Task {
					return Task{Kernel: kernelAdd, Body: func() {}, Regions: []update.Region{update.Slice(update.Out, "w", v.w[100*i:100*i+100])}}
				})
			})
			err := errors.Join(g.replicas[0].err, g.replicas[1].err)
			if err == nil { // it was found when both had returned
				require.NotEmpty(t, g.failures)
				require.Equal(t, job.FailDivergence, g.failures[0].Kind)
				return
			}
			require.ErrorIs(t, err, ErrDiverged)
		})
	}
}

// meeting returns a function in which n goroutines wait for each other.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// goroutine names the calling one.
func goroutine() string {
	b := make([]byte, 64)
	name, _, _ := strings.Cut(string(b[:runtime.Stack(b, false)]), "[")
	return name
}

// What ends the body of a helper ends the goroutine of the program in the same
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

// In checked mode every replica runs everything, and the section is left when
// they agree.
func TestAgree(t *testing.T) {
	g := newGroup(t, 2)
	wrong := errors.New("not the same")
	var asked atomic.Int64
	g.run(func(r *replica, p *Program) error {
		e := p.Engine()
		for k := range 3 {
			ran := 0
			s := &Section{Guard: func(_ *Task, body func()) { body() }, Agree: func() error {
				asked.Add(1)
				if ran != 4 {
					return fmt.Errorf("%d tasks have run", ran)
				}
				if k == 2 {
					return wrong
				}
				return nil
			}}
			e.Opened(s)
			for range 4 {
				s.Tasks = append(s.Tasks, Task{Kernel: kernelAdd, Body: func() { ran++ }})
			}
			if err := e.Share(s); err != nil {
				return err
			}
			e.Closed(s)
		}
		return nil
	})
	require.EqualValues(t, 6, asked.Load())
	for _, r := range g.replicas {
		require.ErrorIs(t, r.err, wrong)
		require.ErrorIs(t, r.engine.Err(), wrong, "every section fails from then on")
	}
}

func TestOnceOfReplicas(t *testing.T) {
	g := newGroup(t, 3)
	var calls atomic.Int64
	results := make([][]byte, 3)
	g.run(func(_ *replica, p *Program) error {
		for k := range 20 {
			b, err := p.Engine().Once(func() ([]byte, error) {
				if k == 7 {
					return nil, errors.New("no such file")
				}
				return fmt.Appendf(nil, "%d ", calls.Add(1)), nil
			})
			if k == 7 {
				if err == nil || err.Error() != "no such file" {
					return fmt.Errorf("got %v", err)
				}
				continue
			}
			if err != nil {
				return err
			}
			results[p.Self.Replica] = append(results[p.Self.Replica], b...)
		}
		return nil
	})
	for i, r := range g.replicas {
		require.NoError(t, r.err)
		require.True(t, bytes.Equal(results[0], results[i]))
	}
	require.EqualValues(t, 19, calls.Load())
}

// A result that nobody else has is made again.
func TestOnceOfAReplicaThatDies(t *testing.T) {
	g := newGroup(t, 2)
	var calls atomic.Int64
	g.run(func(r *replica, p *Program) error {
		b, err := p.Engine().Once(func() ([]byte, error) {
			if calls.Add(1) == 1 {
				r.die(job.Kill{Process: r.setup.Self, Point: job.KillTask})
			}
			return []byte("now"), nil
		})
		if err == nil && string(b) != "now" {
			err = fmt.Errorf("got %q", b)
		}
		return err
	})
	require.EqualValues(t, 2, calls.Load())
	require.Len(t, g.survivors(), 1)
	require.NoError(t, g.survivors()[0].err)
}

// The end of the job ends what a replica waits for.
func TestEndWhileReplicasWait(t *testing.T) {
	g := newGroup(t, 2)
	ended, left := errors.New("no more"), make(chan struct{})
	g.run(func(r *replica, p *Program) error {
		if p.Self.Replica == 0 { // which would make the call
			<-left
			return nil
		}
		defer close(left)
		time.AfterFunc(time.Millisecond, func() { r.cancel(ended) })
		_, err := p.Engine().Once(func() ([]byte, error) { return nil, errors.New("made by another one") })
		return err
	})
	require.ErrorIs(t, g.replicas[1].err, ended)
}

// What a replica does is in its trace, and what it waits for is said.
func TestTraceOfAGroup(t *testing.T) {
	g := newGroup(t, 2, share, func(s *job.Setup, _ *Config) { s.Trace = true })
	final := make([]*vectors, 2)
	g.run(rounds(2, sched.Static, final))
	for _, r := range g.replicas {
		r.engine.FlushTrace()
		kinds := make(map[timeline.Kind]int)
		for _, e := range r.traced {
			kinds[e.Kind]++
		}
		require.Equal(t, 4, kinds[timeline.Section])
		require.Equal(t, 32, kinds[timeline.Task])
		require.Equal(t, 32, kinds[timeline.Sent])
		require.Equal(t, 32, kinds[timeline.Received])
		text := r.engine.explain()
		require.Contains(t, text, "incarnation 1, generation 0, sections 4, live: 0.0(1)")
		require.Contains(t, text, "waits: the program has returned: waits to be released; 0 files are being written")
	}
}
