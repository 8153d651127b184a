package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
)

// The timeline shows each state transfer with its purpose, destination and size.
func TestTracedStates(t *testing.T) {
	for kind, want := range map[transferKind]string{
		transferJoin: "state for a joiner", transferBackup: "backup", transferBack: "state for a rollback",
	} {
		t.Run(want, func(t *testing.T) {
			l := listener{t: t}
			e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{1}, Trace: true}}})
			end := e.recovering.traceState(transferID{kind: kind, number: 6}, job.Process{Rank: 2, Replica: 1}, 77)
			e.trace.flush(&l)
			require.Empty(t, l.got, "the transfer is not over")
			end()
			e.trace.flush(&l)
			require.Len(t, l.got, 1)
			got := l.got[0]
			got.At, got.Lasted, got.Place = 0, 0, ""
			require.Equal(t, timeline.Event{Kind: timeline.State, Name: want, Rank: 2, Replica: 1, Number: 6, Bytes: 77}, got)
		})
	}
}

// The timeline shows a joiner from its start. It shows a rollback from its beginning, with the
// safe point at which the program continues. It shows in the same way a process that runs again
// alone.
func TestTracedJoinAndRollback(t *testing.T) {
	l := listener{t: t}
	e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{1}, Trace: true}}})
	end := e.recovering.traceRollback()
	e.recovering.startAt = &rankPosition{Point: 5}
	end()
	e.recovering.traceJoin()
	e.recovering.traceAgain(&secondRun{from: &settled{number: 5}})
	e.trace.flush(&l)
	require.Len(t, l.got, 3)
	for i, kind := range []timeline.Kind{timeline.Rollback, timeline.Join, timeline.Again} {
		require.Equal(t, kind, l.got[i].Kind)
		require.EqualValues(t, 5, l.got[i].Number)
	}
	require.Equal(t, e.trace.origin, l.got[1].At)
	require.GreaterOrEqual(t, l.got[0].At, l.got[1].At)
}

// Without a timeline no recovery is recorded.
func TestUntracedRecovery(t *testing.T) {
	e := New(t.Context(), Config{Head: &setUp{setup: job.Setup{Degrees: []int{1}}}})
	require.NotPanics(t, func() {
		e.recovering.traceJoin()
		e.recovering.traceRollback()()
		e.recovering.traceAgain(&secondRun{from: new(settled)})
		e.recovering.traceState(transferID{kind: transferJoin}, job.Process{}, 1)()
	})
	require.Nil(t, newTracer(e.setup, time.Now()))
}
