package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline"
	"github.com/intrahpc/intra/transport/sdr"
)

// listener is a head that receives traces.
type listener struct {
	Head
	t   *testing.T
	got []timeline.Event
}

func (l *listener) Trace(block []byte) {
	events, err := timeline.Events(block)
	require.NoError(l.t, err)
	l.got = append(l.got, events...)
}

func TestTracer(t *testing.T) {
	l := listener{t: t}
	start := time.Now()
	tr := newTracer(job.Setup{Trace: true}, start)
	s := &Section{Number: 3, Tasks: []Task{{Kernel: &Kernel{Name: "a.f"}}}}
	tr.task(s, 0, 1, 5, 7)
	tr.wait(s, 0, 1, 2)
	tr.dead(job.Process{Rank: 1, Replica: 1})
	tr.memory(nil)
	tr.flush(&l)
	require.Len(t, l.got, 4)
	require.Equal(t, timeline.Event{Kind: timeline.Task, At: tr.origin + 5, Lasted: 2, Number: 3, Name: "a.f", Worker: 1}, l.got[0])
	require.Equal(t, timeline.Wait, l.got[1].Kind)
	require.Equal(t, int32(1), l.got[2].Replica)
	require.Positive(t, l.got[3].Bytes)
	require.Positive(t, l.got[3].Number)

	l.got = nil
	tr.flush(&l)
	require.Empty(t, l.got, "events are not sent twice")
}

// A job without a timeline has no cost of tracing.
func TestTracerThatIsOff(t *testing.T) {
	tr := newTracer(job.Setup{}, time.Now())
	require.Nil(t, tr)
	require.Nil(t, tr.observer())
	s := &Section{Tasks: []Task{{Kernel: &Kernel{Name: "a.f"}}}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tr.task(s, 0, 0, 1, 2)
		tr.wait(s, 0, 1, 2)
		tr.section(s, 1, 2)
		tr.update(timeline.Sent, s, 0, 1, 2)
		tr.dead(job.Process{})
		tr.memory(nil)
	}))
	tr.flush(nil)
}

// Calls of the program are recorded with their names, places and arguments. A message of a
// rank to itself crosses no link.
func TestTracedCalls(t *testing.T) {
	l := listener{t: t}
	tr := newTracer(job.Setup{Trace: true}, time.Now())
	c, err := newWorld(sdr.NewEngine(sdr.Config{Degrees: []int{1}, Observer: tr.observer()}))
	require.NoError(t, err)
	r := comm.Irecv(c, make([]float64, 3), 0, 7)
	require.NoError(t, comm.Send(c, []float64{1, 2, 3}, 0, 7))
	_, err = r.Wait() // the message has already arrived
	require.NoError(t, err)
	require.NoError(t, comm.Bcast(c, []float64{1}, 0))
	require.NoError(t, c.Barrier())
	tr.flush(&l)
	var calls []string
	for _, e := range l.got {
		require.Equal(t, timeline.Call, e.Kind)
		require.Regexp(t, `^engine/trace_test\.go:\d+$`, e.Place)
		calls = append(calls, e.Name)
	}
	require.Equal(t, []string{"Irecv", "Send", "Bcast", "Barrier"}, calls)
	require.EqualValues(t, 7, l.got[0].Tag)
	require.EqualValues(t, 24, l.got[1].Bytes)
	require.EqualValues(t, 8, l.got[2].Bytes)
	require.EqualValues(t, timeline.None, l.got[2].Rank)
}
