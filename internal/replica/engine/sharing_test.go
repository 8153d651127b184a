package engine

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// rounds returns a program of n rounds, which stores its vectors in final.
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

// randomKills returns random kill points of all replicas but the last.
func randomKills(seed uint64, replicas int) (kills []string) {
	rng := rand.New(rand.NewPCG(seed, 11))
	for i := range replicas - 1 {
		point := []string{"section", "task", "update"}[rng.IntN(3)]
		most := map[string]int{"section": 10, "task": 40, "update": 40}[point]
		kills = append(kills, fmt.Sprintf("0.%d@%s:%d", i, point, rng.IntN(most)))
	}
	return kills
}

// Any replicas but the last may die at any time. The survivors have results with the same bits.
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
			// A link may end later than the program.
			require.Eventually(t, func() bool { return len(r.handled()) == len(g.verdicts) }, time.Minute, time.Millisecond,
				"seed %d: every death is handled", seed)
		}
		dead += len(g.verdicts)
	}
	require.Positive(t, rerun)
	require.Greater(t, dead, 20)
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
			if err == nil { // the difference was found after both had returned
				require.NotEmpty(t, g.failures)
				require.Equal(t, job.FailDivergence, g.failures[0].Kind)
				return
			}
			require.ErrorIs(t, err, ErrDiverged)
		})
	}
}

// In checked mode every replica runs every task. A replica leaves the section when all
// agree.
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

// The trace of a replica contains its actions, and describes its waits.
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
