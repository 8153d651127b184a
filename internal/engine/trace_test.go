package engine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// listener is a head that takes traces.
type listener struct {
	Head
	got []job.TraceEvent
}

func (l *listener) Trace(events []job.TraceEvent) { l.got = append(l.got, events...) }

func TestTracerIsBounded(t *testing.T) {
	var l listener
	start := time.Unix(5, 0)
	tr := newTracer(job.Setup{Trace: true}, start)
	s := &Section{Number: 3, Tasks: []Task{{Kernel: &Kernel{"a.f"}}}}
	for i := range traceEvents + 7 {
		tr.task(s, 0, 1, time.Duration(i), time.Duration(i+2))
	}
	tr.flush(&l)
	require.Len(t, l.got, traceEvents+1)
	require.Equal(t, job.TraceEvent{Kind: job.TraceTask, At: 5e9 + 1, Lasted: 2, Section: 3, Name: "a.f", Worker: 1}, l.got[1])
	last := l.got[traceEvents]
	require.Equal(t, job.TraceOverflow, last.Kind)
	require.EqualValues(t, 7, last.Bytes)

	// Memory is used again, events are not.
	l.got = nil
	tr.flush(&l)
	require.Empty(t, l.got)
	tr.wait(s, 0, 1, 2)
	tr.flush(&l)
	require.Len(t, l.got, 1)
	require.Equal(t, job.TraceWait, l.got[0].Kind)
}

func TestTracerThatIsOff(t *testing.T) {
	tr := newTracer(job.Setup{}, time.Now())
	require.Nil(t, tr)
	s := &Section{Tasks: []Task{{Kernel: &Kernel{"a.f"}}}}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		tr.task(s, 0, 0, 1, 2)
		tr.wait(s, 0, 1, 2)
		tr.section(s, 1, 2)
		tr.update(job.TraceSend, s, 0, 1, 2)
	}))
	tr.flush(nil)
}
