package comm_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// outcome is a hash of all observations of a process, and a hash of all messages that it
// sent.
type outcome struct{ seen, sent uint64 }

// runCourse runs a course in a job.
func runCourse(job sdrtest.Job, seed uint64, iterations int) (map[*sdrtest.Process]outcome, *sdrtest.Result, error) {
	saw := make(map[*sdrtest.Process]outcome)
	res, err := job.Run(func(p *sdrtest.Process) error {
		l := &course{seed: seed, iterations: iterations}
		sum, err := l.run(p)
		if err == nil {
			saw[p] = outcome{sum, l.sent}
		}
		return err
	})
	if res != nil {
		err = errors.Join(res.Err(), err)
	}
	return saw, res, err
}

// checkAnyOrder runs a course in a random job. All replicas of a rank must carry out the same
// decisions. The oracle is the program without replicas: if it repeats these decisions, it must
// observe and send the same values. decided counts the decisions.
func (t trial) checkAnyOrder(decided *atomic.Int64) (*sdrtest.Result, error) {
	seed := t.job.Seed
	t.job.Ordered, t.job.Record = true, true
	for k := range t.job.Lag { // a replica that lags behind repeats all polls of the other replicas
		t.job.Lag[k] = min(t.job.Lag[k], 8)
	}
	saw, res, err := runCourse(t.job, seed, t.iterations)
	if err != nil {
		return nil, fmt.Errorf("degrees %v, kills %v: %w", t.job.Degrees, t.job.Kills, err)
	}
	first := make([]*sdrtest.Process, len(t.job.Degrees))
	records := make([]*sdrtest.Record, len(t.job.Degrees))
	for _, p := range res.Processes {
		if _, ok := saw[p]; !ok || p.Killed {
			continue
		}
		if q := first[p.Rank]; q != nil {
			if err := q.Record.Differ(p.Record); err != nil || saw[q] != saw[p] {
				return nil, fmt.Errorf("degrees %v, kills %v: %v and %v have observed or sent different values: %w", t.job.Degrees, t.job.Kills, q, p, err)
			}
		}
		first[p.Rank], records[p.Rank] = p, p.Record
	}
	plain := sdrtest.Job{Seed: seed, Limits: t.job.Limits, Ordered: true, Replay: records,
		Degrees: slices.Repeat([]int{1}, len(t.job.Degrees)), Recovery: &sdrtest.Recovery{}}
	alone, again, err := runCourse(plain, seed, t.iterations)
	if err != nil {
		return nil, fmt.Errorf("degrees %v, kills %v, the plain program with the same decisions: %w", t.job.Degrees, t.job.Kills, err)
	}
	for _, p := range again.Processes {
		decided.Add(int64(p.Record.Len()))
		if q := first[p.Rank]; alone[p] != saw[q] {
			return nil, fmt.Errorf("degrees %v, kills %v: the plain rank %d observes or sends other values than %v with the same decisions", t.job.Degrees, t.job.Kills, p.Rank, q)
		}
	}
	return res, nil
}

func TestAnyOrder(t *testing.T) {
	var decided atomic.Int64
	n := runTrials(t, func(seed uint64) (*sdrtest.Result, error) { return newTrial(seed).checkAnyOrder(&decided) })
	require.GreaterOrEqual(t, decided.Load(), int64(n/150)*10_000, "too few decisions for a meaningful test")
}

// Replicas agree on the test of a request whose communicator was freed.
func TestOfARequestWhoseCommunicatorIsFreed(t *testing.T) {
	for seed := range uint64(20) {
		job := sdrtest.Job{Seed: seed, Degrees: []int{3, 2}, Ordered: true}
		res, err := job.Run(func(p *sdrtest.Process) error {
			w, err := comm.World(p.Engine)
			if err != nil {
				return err
			}
			d, err := w.Dup()
			if err != nil {
				return err
			}
			s := comm.Isend(d, []int{1}, 1-d.Rank(), 0)
			if _, err := comm.Recv(d, make([]int, 1), 1-d.Rank(), 0); err != nil {
				return err
			}
			if err := d.Free(); err != nil {
				return err
			}
			for done := false; !done && err == nil; {
				_, done, err = s.Test()
			}
			return err
		})
		require.NoError(t, err)
		require.NoError(t, res.Err())
	}
}
