package timeline

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/callsite"
)

func flushed(t *testing.T, r *Recorder) (events []Event, lost uint64) {
	r.Flush(func(in []byte) {
		b, err := decode(in)
		require.NoError(t, err)
		require.NotEmpty(t, b.clock)
		require.LessOrEqual(t, len(b.events), blockEvents)
		events, lost = append(events, b.events...), lost+b.lost
	})
	return events, lost
}

// The recorder keeps the newest events, and counts those that it overwrites.
func TestRecorderIsBounded(t *testing.T) {
	r := NewRecorder()
	for round := range 3 {
		const more = 7
		for i := range ringEvents + more {
			r.Add(Event{Kind: Point, At: int64(i), Number: uint64(round)})
		}
		events, lost := flushed(t, r)
		require.EqualValues(t, more, lost)
		require.Len(t, events, ringEvents)
		for i, e := range events {
			require.Equal(t, Event{Kind: Point, At: int64(i + more), Number: uint64(round)}, e)
		}
		events, lost = flushed(t, r)
		require.Empty(t, events)
		require.Zero(t, lost)
	}
}

// No event is lost or passed on twice while several goroutines record.
func TestRecorderOfManyGoroutines(t *testing.T) {
	r, seen := NewRecorder(), make(map[Event]int)
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 1000 {
				r.Add(Event{Kind: Point, Worker: int32(g + 1), At: int64(i)})
			}
		})
	}
	take := func() {
		events, lost := flushed(t, r)
		require.Zero(t, lost)
		for _, e := range events {
			seen[e]++
		}
	}
	for range 10 {
		take()
	}
	wg.Wait()
	take()
	require.Len(t, seen, 4000)
	for e, n := range seen {
		require.Equal(t, 1, n, "%v", e)
	}
}

// Recording takes a lock and no memory.
func TestAddAllocatesNothing(t *testing.T) {
	r := NewRecorder()
	for range ringEvents {
		r.Add(Event{})
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { r.Add(Event{Kind: Call, Name: "x"}) }))
}

func recordCall(r *Recorder) (string, string) {
	return r.CallInto("github.com/intrahpc/intra/internal/timeline.recordCall")
}

func TestCallInto(t *testing.T) {
	r := NewRecorder()
	_, _, line, _ := runtime.Caller(0)
	for range 2 { // the second call finds the place in the cache
		function, place := recordCall(r)
		require.Equal(t, "recordCall", function)
		require.Equal(t, fmt.Sprintf("timeline/recorder_test.go:%d", line+2), place)
	}
	require.Len(t, r.sites.known, 1)
	function, place := r.CallInto("no such package.")
	require.Empty(t, function)
	require.Equal(t, "unknown place", place)
}

// Two processes agree on the time of an event, even on a busy machine.
func TestMoment(t *testing.T) {
	start := time.Now()
	first := Moment(start)
	for range 100 {
		require.InDelta(t, first, Moment(start), 20_000)
	}
}

func TestPlaces(t *testing.T) {
	var p Places
	a, b := callsite.At("a.go:1"), callsite.At("b.go:2")
	require.Equal(t, "a.go:1", p.Of(&a))
	require.Equal(t, "b.go:2", p.Of(&b))
	require.Equal(t, "a.go:1", p.Of(&a))
	require.Len(t, p, 2)
}

func BenchmarkAdd(b *testing.B) {
	r := NewRecorder()
	for b.Loop() {
		r.Add(Event{Kind: Task, At: 1, Lasted: 2, Name: "f"})
	}
}

func BenchmarkCallInto(b *testing.B) {
	r := NewRecorder()
	for b.Loop() {
		recordCall(r)
	}
}

func BenchmarkFlush(b *testing.B) {
	r := NewRecorder()
	for b.Loop() {
		for i := range 1000 {
			r.Add(Event{Kind: Match, At: int64(i), Rank: 1, Context: 0x1234567890abcdef, Number: uint64(i), Tag: 7, Bytes: 4096})
		}
		r.Flush(func([]byte) {})
	}
}
