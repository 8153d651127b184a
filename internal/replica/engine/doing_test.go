package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/sched"
)

// A process reports what it is doing, and how long it has made no progress.
func TestDoing(t *testing.T) {
	g := newGroup(t, 2)
	g.run(func(r *replica, p *Program) error {
		e := r.engine
		d := e.doing()
		require.Equal(t, job.StateRuns, d.State)
		require.Empty(t, d.Waits)
		require.NoError(t, p.SafePoint(nil))
		require.EqualValues(t, 1, e.doing().Point)

		s := &Section{Policy: sched.Static, At: new(callsite.Sites).At("heat.go:7"), Guard: func(_ *Task, body func()) { body() }}
		e.Opened(s)
		require.Equal(t, job.StateSection, e.doing().State)
		require.Empty(t, e.doing().Waits, "its tasks are being launched")
		for range 2 {
			s.Tasks = append(s.Tasks, Task{Kernel: kernelAdd, Body: func() {
				d := e.doing()
				require.Equal(t, job.StateSection, d.State)
				require.Equal(t, "heat.go:7", d.At)
				require.Contains(t, d.Task, kernelAdd.Name)
				require.Empty(t, d.Waits, "a process whose task runs waits for nothing")
				require.False(t, d.Blocked)
			}})
		}
		if err := e.Share(s); err != nil {
			return err
		}
		e.Closed(s)
		require.Equal(t, job.StateRuns, e.doing().State)
		_, err := e.Once(func() ([]byte, error) {
			require.Equal(t, job.StateOnce, e.doing().State)
			return []byte("x"), nil
		})
		require.NoError(t, err)
		d = e.doing()
		require.Equal(t, job.StateRuns, d.State)

		// An idle process stays idle until it makes progress.
		e.mu.Lock()
		e.progress.moved -= time.Hour
		e.mu.Unlock()
		require.GreaterOrEqual(t, e.doing().Idle, time.Hour)
		require.NoError(t, p.SafePoint(nil))
		require.Less(t, e.doing().Idle, time.Hour)
		return nil
	})
}

// A process that repeats a part of the program reports where this part begins and ends, until it
// has reached the end.
func TestDoingAgain(t *testing.T) {
	g := newGroup(t, 1)
	g.run(func(r *replica, p *Program) error {
		e := r.engine
		s := &secondRun{from: &settled{number: 3}, to: 5, begun: e.now()}
		e.recovering.second.back = s
		d := e.doing()
		require.Equal(t, []any{job.StateAgain, uint64(3), uint64(5)}, []any{d.State, d.From, d.To}, "the run before has ended")
		e.recovering.second.back, e.recovering.program, p.second = nil, p, s
		require.Equal(t, job.StateAgain, e.doing().State)
		e.recovering.caughtUp(p)
		require.Equal(t, job.StateRuns, e.doing().State)
		require.Len(t, e.Snapshot().SecondRuns, 1)
		p.second = nil
		return nil
	})
}

// The time of a section alone is computed from the average time of its tasks on all
// workers.
func TestAlone(t *testing.T) {
	a := &known{TaskStats: job.TaskStats{Run: 4, Seconds: 2}}
	b, never := &known{TaskStats: job.TaskStats{Run: 1, Seconds: 3}}, new(known)
	s := &Section{Tasks: []Task{{known: a}, {known: a}, {known: b}, {known: never}}}
	require.InDelta(t, 4, s.alone(), 1e-9)
	s.helpers.size = 2
	require.InDelta(t, 2, s.alone(), 1e-9)
}
