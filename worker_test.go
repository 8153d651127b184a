package intra_test

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/internal/base/bridge"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/intratest"
)

// The results have the same bits on any number of workers, and the counts are the same.
func TestThreadsHaveSerialMeaning(t *testing.T) {
	const rounds = 4
	want := newState()
	want.serial(rounds)
	for _, threads := range []int{1, 2, 4} {
		for replicas := 1; replicas <= 3; replicas++ {
			for _, policy := range []string{"static", "adaptive", "replicate", ""} {
				t.Run(fmt.Sprintf("%d on %d %s", replicas, threads, policy), func(t *testing.T) {
					got, report := survivors(t, intra.Spec{Replicas: replicas}, rounds,
						intratest.Sched(policy), intratest.Threads(threads))
					require.Len(t, got, replicas)
					for _, s := range got {
						require.Equal(t, want, s)
					}
					require.Equal(t, int64(4*rounds*replicas), report.Sections)
					require.Equal(t, int64(4*rounds*16*replicas), report.Run+report.Received)
					if policy == "static" {
						require.Equal(t, int64(4*rounds*16), report.Run, "every task runs once")
					}
				})
			}
		}
	}
}

// Replicas with several workers are killed at every kind of point.
func TestThreadsKilled(t *testing.T) {
	const rounds = 3
	want := newState()
	want.serial(rounds)
	for _, threads := range []int{2, 4} {
		for _, kills := range [][]string{
			{"0.0@section:0"}, {"0.1@section:7"},
			{"0.0@task:0"}, {"0.1@task:1"}, {"0.1@task:7"}, {"0.0@task:20"},
			{"0.0@update:0"}, {"0.1@update:7"}, {"0.0@update:18"}, {"0.1@update:25"},
			{"0.0@update:10", "0.1@update:30"},
			{"0.0@section:5", "0.2@section:5"},
			{"0.1@task:16", "0.2@update:33"},
		} {
			for _, policy := range []string{"static", "adaptive"} {
				t.Run(fmt.Sprint(threads, kills, policy), func(t *testing.T) {
					replicas := 2
					if len(kills) > 1 {
						replicas = 3
					}
					may := intratest.Kills
					if policy == "adaptive" {
						may = intratest.MayKill // the peers may have run all tasks
					}
					got, report := survivors(t, intra.Spec{Replicas: replicas}, rounds, may(kills...),
						intratest.Sched(policy), intratest.Threads(threads), intratest.Capacity(700))
					// A replica that was killed within an update may continue in this
					// process, without effect on its peers.
					require.GreaterOrEqual(t, len(got), replicas-len(report.Deaths))
					for _, s := range got {
						require.Equal(t, want, s)
					}
				})
			}
		}
	}
}

// No replica applies a torn update while several tasks run, whichever way updates are
// received.
func TestThreadsTornUpdates(t *testing.T) {
	want := newState()
	want.serial(1)
	for _, receive := range []job.Receive{job.ReceiveStaged, job.ReceiveInPlace} {
		torn := int64(0)
		for k := range 32 {
			got, report := survivors(t, intra.Spec{Replicas: 2}, 1, intratest.Sched("static"), intratest.Threads(2),
				intratest.Kills(fmt.Sprintf("0.1@update:%d", k)), intratest.Capacity(256),
				bridge.Receive(int(receive)).(intratest.Option))
			torn += report.Torn
			for _, s := range got {
				require.Equal(t, want, s, "update %d", k)
			}
		}
		require.GreaterOrEqual(t, torn, int64(20))
	}
}

func TestThreadsOnEveryLink(t *testing.T) {
	want := newState()
	want.serial(2)
	for _, link := range []string{"shm", "unix", "tcp"} {
		for _, kills := range [][]string{nil, {"0.1@update:11"}} {
			got, report := survivors(t, intra.Spec{Replicas: 2, Link: link}, 2,
				intratest.Kills(kills...), intratest.Sched("static"), intratest.Threads(3))
			require.Len(t, report.Deaths, len(kills), link)
			require.Len(t, got, 2-len(kills), link)
			for _, s := range got {
				require.Equal(t, want, s, link)
			}
		}
	}
}

// meeting returns a task body that returns when n such bodies run at the same time.
func meeting(n int) func() {
	var all sync.WaitGroup
	all.Add(n)
	return func() {
		all.Done()
		all.Wait()
	}
}

// Tasks run on all workers at once: each task waits until all of them run.
func TestThreadsRunTogether(t *testing.T) {
	for _, threads := range []int{2, 5} {
		for _, spec := range []intra.Spec{{}, {Ranks: 2}, {Replicas: 2}} {
			t.Run(fmt.Sprint(threads, spec), func(t *testing.T) {
				intratest.Run(t, spec, func(p *intra.Process) error {
					for range 3 {
						met := meeting(threads)
						var launched atomic.Bool
						s := p.Section()
						for range threads {
							s.Launch(taskBad, func() {
								if !launched.Load() {
									t.Error("a task with several workers runs before the end of the section")
								}
								met()
							})
						}
						launched.Store(true)
						if err := s.End(); err != nil {
							return err
						}
					}
					return nil
				}, intratest.Threads(threads), intratest.Sched("replicate"))
			})
		}
	}
}

// Tasks may share one scratch space. Then they run one after the other.
func TestThreadsWithSharedScratch(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		for _, common := range []bool{false, true} {
			together := make([]atomic.Int32, replicas)
			intratest.Run(t, intra.Spec{Replicas: replicas}, func(p *intra.Process) error {
				const n = 64
				var begun, running atomic.Int32
				space, w := make([]int, n*n), make([]int, n)
				s := p.Section()
				for i := range w {
					tmp, out := space[:n], w[i:i+1]
					if !common {
						tmp = space[i*n : (i+1)*n]
					}
					s.Launch(taskBad, func() {
						if running.Add(1) > 1 {
							together[p.Replica()].Store(1)
						}
						// The first task waits for another one, if another one can run.
						first := begun.Add(1) == 1 && !common
						for end := time.Now().Add(10 * time.Second); first && running.Load() < 2 && time.Now().Before(end); {
							runtime.Gosched()
						}
						for k := range tmp {
							tmp[k] = i
							runtime.Gosched()
						}
						for _, v := range tmp {
							out[0] += v
						}
						running.Add(-1)
					}, intra.Out("w", out), intra.Scratch("tmp", tmp))
				}
				if err := s.End(); err != nil {
					return err
				}
				for i := range w {
					require.Equal(t, i*n, w[i])
				}
				return nil
			}, intratest.Threads(3), intratest.Sched("replicate"))
			for i := range together {
				require.Equal(t, !common, together[i].Load() == 1)
			}
		}
	}
}

// In checked mode tasks run one after the other.
func TestCheckedModeHasOneThread(t *testing.T) {
	var running atomic.Int32
	intratest.Run(t, intra.Spec{Check: true}, func(p *intra.Process) error {
		s := p.Section()
		for range 8 {
			s.Launch(taskBad, func() {
				if running.Add(1) > 1 {
					t.Error("two bodies run at once")
				}
				time.Sleep(time.Millisecond)
				running.Add(-1)
			})
		}
		return s.End()
	}, intratest.Threads(4))
}

// A panic in a task is a panic of the program, on whichever worker the task runs.
func TestThreadsPanic(t *testing.T) {
	for bad := range 3 {
		for replicas := 1; replicas <= 2; replicas++ {
			t.Run(fmt.Sprint(bad, replicas), func(t *testing.T) {
				report := intratest.Run(t, intra.Spec{Replicas: replicas}, func(p *intra.Process) error {
					met := meeting(3) // makes each task run on another worker
					s := p.Section()
					for i := range 3 {
						s.Launch(taskBad, func() {
							met()
							if i == bad {
								panic("out of cheese")
							}
						})
					}
					s.MustEnd()
					return nil
				}, intratest.Threads(3), intratest.Sched("replicate"), intratest.Fails())
				require.ErrorContains(t, report.Err, "out of cheese")
				var panicked *intra.TaskPanic
				require.ErrorAs(t, report.Err, &panicked)
				require.Equal(t, "test.bad", panicked.Task)
				require.Contains(t, panicked.Pos, "intra/worker_test.go:")
			})
		}
	}
}

// If a section ends early, its workers end as well.
func TestThreadsEndWithTheirSection(t *testing.T) {
	var running atomic.Int32
	report := intratest.Run(t, intra.Spec{Replicas: 1}, func(p *intra.Process) (err error) {
		defer func() {
			require.NotNil(t, recover())
			require.Zero(t, running.Load(), "a body still runs after the section has failed")
			err = fmt.Errorf("as expected")
		}()
		met := meeting(2)
		s := p.Section()
		for i := range 16 {
			s.Launch(taskBad, func() {
				running.Add(1)
				defer running.Add(-1)
				if i < 2 {
					met()
				}
				if i == 0 {
					panic("stop")
				}
				for range 100 {
					runtime.Gosched()
				}
			})
		}
		return s.End()
	}, intratest.Threads(4), intratest.Fails())
	require.ErrorContains(t, report.Err, "as expected")
}
