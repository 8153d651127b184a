package comm_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/commtest"
	"github.com/intrahpc/intra/transport/sdr"
)

// iterate runs a random program of six iterations, beginning with iteration begin, and returns the
// hash of all results. sum is the hash of the results of the iterations before begin. Before iteration
// 2, iterate calls settled, with which the caller makes a settled point.
func iterate(w *comm.Comm, seed uint64, begin int, sum uint64, settled func(sum uint64) error) (uint64, error) {
	for i := begin; i < 6; i++ {
		if i == 2 {
			if err := settled(sum); err != nil {
				return 0, err
			}
		}
		d, err := w.Dup() // its messages are ordered only by the program
		if err != nil {
			return 0, err
		}
		part, err := commtest.Run(d, seed+uint64(i), 3)
		if err == nil {
			err = d.Free()
		}
		if err != nil {
			return 0, err
		}
		sum = sum*31 + part
	}
	return sum, nil
}

// TestRunsAgainOverLinks: a process runs again, alone, over real links. Its first run may have
// come to any place, and other goroutines may still use its engine. Then a replica of another rank
// dies.
func TestRunsAgainOverLinks(t *testing.T) {
	for kind := range pairOf {
		for seed := range uint64(3) {
			t.Run(fmt.Sprint(kind, seed), func(t *testing.T) {
				results := func(degrees []int, returning, victim int) []uint64 {
					c := newCluster(t, kind, degrees, false, sdr.Limits{Eager: 512, Window: 4000, Retain: 4000})
					if victim >= 0 {
						c.members[victim].killAt = int(10 * seed)
					}
					var mu sync.Mutex
					sums := make([]uint64, len(degrees))
					require.NoError(t, c.run(func(w *comm.Comm, m *member) error {
						var at *sdr.Place
						var there uint64
						var retired sync.WaitGroup
						first := m.engine
						sum, err := iterate(w, seed, 0, 0, func(sum uint64) (err error) {
							if returning < 0 || m != c.members[returning] {
								return nil
							}
							if at, err = first.Runs().Settle(); err != nil {
								return err
							}
							there = sum
							retired.Go(func() {
								for range 40 * seed {
									first.Progress()
								}
								_ = first.Runs().Retire(errBack) // fails if the job has ended
							})
							return nil
						})
						retired.Wait()
						if at != nil && (err == nil || errors.Is(err, errBack)) {
							if err := first.Released(c.ctx); err != nil {
								return err
							}
							next, err := first.Runs().Again(c.ctx, at)
							if err != nil {
								return err
							}
							m.engine = next
							again, err := comm.World(next)
							if err != nil {
								return err
							}
							next.Resume()
							if sum, err = iterate(again, seed, 2, there, func(uint64) error { return nil }); err != nil {
								return err
							}
							if n := next.Runs().Behind(); n > 0 {
								return fmt.Errorf("it has yet to send %d messages again", n)
							}
							if err := w.Barrier(); !errors.Is(err, errBack) {
								return fmt.Errorf("a barrier of the first run: %w", err)
							}
							return m.agreeOn(&mu, sums, sum)
						}
						if err != nil { // err is also set if the process was killed
							return err
						}
						return m.agreeOn(&mu, sums, sum)
					}))
					return sums
				}
				want := results([]int{1, 1, 1}, -1, -1)
				require.Equal(t, want, results([]int{2, 1, 2}, 0, -1))
				require.Equal(t, want, results([]int{2, 2, 2}, 1, 3))
			})
		}
	}
}

// agreeOn records the result of a rank, or returns an error if its replicas differ.
func (m *member) agreeOn(mu *sync.Mutex, sums []uint64, sum uint64) error {
	mu.Lock()
	defer mu.Unlock()
	if sums[m.rank] != 0 && sums[m.rank] != sum {
		return fmt.Errorf("replicas of rank %d differ", m.rank)
	}
	sums[m.rank] = sum
	return nil
}
