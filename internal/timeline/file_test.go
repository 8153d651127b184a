package timeline

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/timeline/traceformat"
)

// file is a timeline that a test fills.
type file struct {
	*File
	t    *testing.T
	name string
}

func newFile(t *testing.T, limit int64, degrees ...int) *file {
	name := filepath.Join(t.TempDir(), "t.json")
	to, err := wholefile.Open(name)
	require.NoError(t, err)
	return &file{New(to, limit, degrees), t, name}
}

// tell adds events of a process. Their times are in µs after the beginning.
func (f *file) tell(p job.Process, clock string, events ...Event) {
	var e encoder
	for i := range events {
		events[i].At = f.began + 1000*events[i].At
		events[i].Lasted *= 1000
	}
	f.Add(p, e.encode(nil, &block{clock: clock, host: "host of " + clock, stamp: Now(), events: events}))
}

func (f *file) close() (*traceformat.File, uint64) {
	dropped, err := f.Close(true)
	require.NoError(f.t, err)
	text, err := os.ReadFile(f.name)
	require.NoError(f.t, err)
	require.LessOrEqual(f.t, int64(len(text)), f.limit)
	out, err := traceformat.Check(text)
	require.NoError(f.t, err)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(f.name), ".*"))
	require.NoError(f.t, err)
	require.Empty(f.t, left)
	return out, dropped
}

func process(rank, replica int) job.Process { return job.Process{Rank: rank, Replica: replica} }

// All events are drawn, and the file follows the rules of the format.
func TestFileOfAllKinds(t *testing.T) {
	f := newFile(t, DefaultLimit, 2, 2)
	c := f.clock
	f.tell(process(0, 0), c,
		Event{Kind: Section, At: 10, Lasted: 100, Number: 1, Place: "a.go:3"}, Event{Kind: Task, At: 11, Lasted: 20, Name: "x/y.f", Number: 1},
		Event{Kind: Task, At: 12, Lasted: 30, Name: "x/y.f", Number: 1, Tag: 1, Worker: 1}, Event{Kind: Wait, At: 40, Lasted: 10, Name: "x/y.f", Number: 1},
		Event{Kind: Sent, At: 32, Name: "x/y.f", Replica: 1, Number: 1, Bytes: 8},
		Event{Kind: Call, At: 200, Lasted: 50, Name: "Send", Place: "a.go:9", Rank: 1, Tag: 7, Bytes: 16},
		Event{Kind: Message, At: 210, Rank: 1, Context: 5, Number: 2, Tag: 7, Bytes: 16},
		Event{Kind: Point, At: 300, Lasted: 50, Number: 4, Place: "a.go:12"}, Event{Kind: Cut, At: 310, Lasted: 10, Name: "copy for the backup", Number: 4},
		Event{Kind: State, At: 320, Lasted: 90, Name: "backup", Rank: 1, Number: 4, Bytes: 100}, Event{Kind: State, At: 330, Lasted: 100, Name: "backup", Rank: 1, Replica: 1},
		Event{Kind: Rollback, At: 500, Lasted: 10, Number: 4}, Event{Kind: Again, At: 520, Lasted: 30, Number: 4}, Event{Kind: Verdict, At: 480, Rank: 1, Replica: 1}, Event{Kind: Memory, At: 490, Bytes: 1, Number: 2, Context: 3})
	f.tell(process(0, 1), c, Event{Kind: Received, At: 60, Name: "x/y.f", Number: 1, Bytes: 8}, Event{Kind: Join, At: 400, Lasted: 10})
	f.tell(process(1, 0), c, Event{Kind: Call, At: 190, Lasted: 50, Name: "Recv", Rank: 0, Tag: 7}, Event{Kind: Wait, At: 191, Lasted: 48},
		Event{Kind: Match, At: 230, Context: 5, Number: 2, Tag: 7, Bytes: 16})
	f.Dead(process(1, 1), "signal", "killed")
	f.Note("all have joined")
	out, dropped := f.close()
	require.Zero(t, dropped)
	found, arrows := make(map[string]bool), 0
	for _, e := range out.Events {
		if found[e.Cat] = true; e.Phase == "f" {
			arrows++
		}
	}
	for k := Section; k < kinds; k++ {
		require.True(t, found[k.String()] || k == Memory, k.String())
	}
	require.Equal(t, 2, arrows, "a message and an update")
	requireDocumented(t, out)
}

// Overlapping calls of several goroutines are drawn next to each other.
func TestSlicesThatOverlap(t *testing.T) {
	f := newFile(t, DefaultLimit, 1)
	f.tell(process(0, 0), f.clock, Event{Kind: Call, At: 10, Lasted: 20, Name: "a"}, Event{Kind: Call, At: 20, Lasted: 30, Name: "b"},
		Event{Kind: Call, At: 25, Lasted: 40, Name: "c"}, Event{Kind: Call, At: 26, Lasted: 1, Name: "d"}, Event{Kind: Call, At: 30, Lasted: 0, Name: "e"})
	out, _ := f.close()
	rows, at := make(map[traceformat.Row]string), make(map[string]string)
	for _, e := range out.Events {
		if e.Name == "thread_name" {
			rows[e.Row()] = e.Text("name")
		}
		if e.Phase == "X" {
			at[e.Name] = rows[e.Row()]
		}
	}
	require.Equal(t, map[string]string{"a": "0.0", "b": "0.0 (2)", "c": "0.0 (3)", "d": "0.0", "e": "0.0"}, at)
}

// A file keeps the newest events up to its limit. It counts all dropped events, whether
// they were dropped while the job ran or at the end.
func TestFileIsBounded(t *testing.T) {
	for _, blocks := range []int{30, 200} {
		f := newFile(t, LeastLimit, 1)
		const each = 500
		for n := range blocks {
			events := make([]Event, each)
			for i := range events {
				events[i] = Event{Kind: Task, At: int64(n*each + i), Name: fmt.Sprint("kernel ", n), Number: uint64(n), Tag: int64(i)}
			}
			f.tell(process(0, 0), f.clock, events...)
			require.LessOrEqual(t, f.size, f.limit/compact)
		}
		out, dropped := f.close()
		tasks, oldest := 0, float64(blocks)
		for _, e := range out.Events {
			if e.Cat == "task" {
				tasks++
				oldest = min(oldest, e.Number("section"))
			}
		}
		require.Positive(t, dropped)
		require.EqualValues(t, blocks*each, tasks+int(dropped))
		require.EqualValues(t, blocks, int(oldest)+tasks/each, "the newest")
		require.EqualValues(t, dropped, out.Other["droppedEvents"])
		require.Greater(t, tasks, 3000)
	}
}

// Times of a host whose clock differs are put at the right place of the axis.
func TestFileOfTwoHosts(t *testing.T) {
	f := newFile(t, DefaultLimit, 1, 1)
	const behind = 5_000_000 // µs
	for i := range int64(20) {
		f.tell(process(0, 0), f.clock, Event{Kind: Message, At: 100 * i, Rank: 1, Number: uint64(i)}, Event{Kind: Match, At: 100*i + 80, Rank: 1, Number: uint64(i)})
		f.tell(process(1, 0), "other", Event{Kind: Match, At: 100*i + 30 - behind, Number: uint64(i)}, Event{Kind: Message, At: 100*i + 50 - behind, Number: uint64(i)})
	}
	out, _ := f.close()
	require.EqualValues(t, 2, out.Other["clocks"])
	from, arrows := make(map[int]float64), 0
	for _, e := range out.Events {
		if e.Phase == "s" {
			from[*e.ID] = *e.TS
		}
		if e.Name == "thread_name" && e.Row().PID == 2 {
			require.Contains(t, e.Text("name"), "1.0 on host of other")
		}
	}
	for _, e := range out.Events {
		if e.Phase == "f" {
			arrows++
			require.InDelta(t, 30, *e.TS-from[*e.ID], 0.01)
		}
	}
	require.Equal(t, 40, arrows)
}

// Unreadable blocks are skipped and counted. A file that is not wanted is removed.
func TestFileOfUnreadableBlocks(t *testing.T) {
	f := newFile(t, DefaultLimit, 1)
	f.Add(process(0, 0), []byte("no block"))
	f.tell(process(3, 0), f.clock, Event{Kind: Point, Lasted: 1, Number: 2}) // an unknown process
	out, _ := f.close()
	require.EqualValues(t, 1, out.Other["unreadableBlocks"])

	f = newFile(t, DefaultLimit, 1)
	_, err := f.Close(false)
	require.NoError(t, err)
	left, err := os.ReadDir(filepath.Dir(f.name))
	require.NoError(t, err)
	require.Empty(t, left)
	f.Add(process(0, 0), nil) // ignored: the file is closed
	f.Note("")

	var none *File
	none.Add(process(0, 0), nil)
	none.Dead(process(0, 0), "", "")
	none.Note("")
	_, err = none.Close(true)
	require.NoError(t, err)
	require.Nil(t, New(nil, 0, nil))
}

// BenchmarkClose measures the time that Close takes with 100,000 events.
func BenchmarkClose(b *testing.B) {
	var e encoder
	for b.Loop() {
		to, err := wholefile.Open(filepath.Join(b.TempDir(), "t"))
		require.NoError(b, err)
		f := New(to, DefaultLimit, []int{1, 1})
		for n := range uint64(50) {
			var there, here []Event
			for i := range int64(500) {
				at := f.began + int64(n)*1e7 + i*10_000
				there = append(there, Event{Kind: Task, At: at, Lasted: 9000, Name: "hpccg.waxpby", Number: n, Tag: i}, Event{Kind: Message, At: at + 100, Rank: 1, Context: 5, Number: n*500 + uint64(i), Bytes: 8})
				here = append(here, Event{Kind: Task, At: at, Lasted: 9000, Name: "hpccg.waxpby", Number: n, Tag: i}, Event{Kind: Match, At: at + 300, Context: 5, Number: n*500 + uint64(i), Bytes: 8})
			}
			f.Add(process(0, 0), e.encode(nil, &block{clock: "c", stamp: Now(), events: there}))
			f.Add(process(1, 0), e.encode(nil, &block{clock: "c", stamp: Now(), events: here}))
		}
		_, err = f.Close(true)
		require.NoError(b, err)
	}
}
