package timeline

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/base/wholefile"
	"github.com/intrahpc/intra/internal/job"
)

// DefaultLimit is the default limit of a file's size, in bytes.
const DefaultLimit = 256 << 20

// LeastLimit is the smallest useful limit: some thousand events of a job of a few
// processes fit into it.
const LeastLimit = 1 << 20

// compact is the least factor by which a block is smaller than its events in the file.
// File keeps at most limit/compact bytes of blocks.
const compact = 4

// File is the timeline of a job. It keeps the newest blocks, and writes the file
// at the end. Methods of nil do nothing, for a job without a timeline.
type File struct {
	to      *wholefile.File
	limit   int64
	degrees []int
	clock   string
	began   int64 // time 0 of the file, before any process has started

	mu       sync.Mutex
	closed   bool
	blocks   []processBlock
	size     int64            // size of the kept blocks, in bytes
	dropped  uint64           // number of events dropped with their blocks
	lost     uint64           // number of events that the remaining blocks report as lost
	received map[string]int64 // by clock, see align
	own      *Recorder        // records the events of the head
}

// processBlock is a block that a process has sent.
type processBlock struct {
	of    job.Process
	bytes []byte
}

// head stands for the head in events that the head itself records.
var head = job.Process{Rank: None}

// New begins a timeline of a job with these degrees, of at most limit bytes, or
// DefaultLimit if limit is 0. It returns nil if to is nil.
func New(to *wholefile.File, limit int64, degrees []int) *File {
	if to == nil {
		return nil
	}
	return &File{to: to, limit: cmp.Or(limit, DefaultLimit), degrees: degrees, clock: clockName(), began: Now(),
		received: make(map[string]int64), own: NewRecorder()}
}

// Add adds a block of a process. The oldest blocks are dropped if there are too
// many.
func (t *File) Add(p job.Process, block []byte) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.add(p, block)
}

func (t *File) add(p job.Process, b []byte) {
	if t.closed {
		return
	}
	if clock, stamp, ok := stamped(b); ok {
		d := Now() - stamp
		if before, known := t.received[clock]; !known || d < before {
			t.received[clock] = d
		}
	}
	t.blocks = append(t.blocks, processBlock{p, b})
	t.size += int64(len(b))
	n := 0
	for ; t.size > t.limit/compact; n++ {
		t.drop(t.blocks[n])
	}
	t.blocks = slices.Delete(t.blocks, 0, n)
}

// drop counts the events of a block as dropped, and deducts its size.
func (t *File) drop(b processBlock) {
	t.size -= int64(len(b.bytes))
	if d, err := decode(b.bytes); err == nil {
		t.dropped += uint64(len(d.events)) + d.lost
	}
}

// Dead records the death of a process.
func (t *File) Dead(p job.Process, cause, detail string) {
	if t != nil {
		t.own.Add(Event{Kind: Death, At: Now(), Rank: int32(p.Rank), Replica: int32(p.Replica), Name: cause, Place: detail})
	}
}

// Note records a decision or an observation of the head.
func (t *File) Note(text string) {
	if t != nil {
		t.own.Add(Event{Kind: Note, At: Now(), Name: text})
	}
}

// Close writes the file if keep is set. It returns the number of events that the file
// lacks: those dropped for lack of room, and those that processes overwrote before they
// could send them.
func (t *File) Close(keep bool) (dropped uint64, err error) {
	if t == nil {
		return 0, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if keep {
		t.Note("end")
		t.own.Flush(func(b []byte) { t.add(head, b) })
		err = t.to.Write(t.write)
	}
	t.to.Close()
	t.closed = true
	if err != nil {
		err = fmt.Errorf("write the trace: %w", err)
	}
	return t.dropped + t.lost, err
}

// write writes the file. If it is too large, write drops the oldest blocks and
// writes it again.
func (t *File) write(f *os.File) error {
	for {
		if err := f.Truncate(0); err != nil {
			return err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		bytes, err := t.writeAll(f)
		if err != nil || bytes <= t.limit || len(t.blocks) == 0 {
			return err
		}
		// Drop a little more than necessary, so that the next attempt fits.
		n, enough := 0, t.size-int64(float64(t.size)*0.95*float64(t.limit)/float64(bytes))
		for gone := int64(0); gone < enough && n < len(t.blocks); n++ {
			gone += int64(len(t.blocks[n].bytes))
			t.drop(t.blocks[n])
		}
		t.blocks = slices.Delete(t.blocks, 0, n)
	}
}

// writeAll writes the remaining blocks, and returns the size of the file.
func (t *File) writeAll(f *os.File) (int64, error) {
	w := &writer{w: bufio.NewWriterSize(f, 1<<16), zero: t.began,
		quoted: make(map[string][]byte), numbers: make(map[job.Process]int32)}
	processes := append(job.Processes(t.degrees), head)
	for i, p := range processes {
		w.numbers[p] = int32(i)
	}
	a, hosts := newArrows(), make(map[string]bool)
	of := make(map[job.Process][]*block)
	t.lost = 0
	unreadable, ranks := 0, len(t.degrees)
	for _, b := range t.blocks {
		d, err := decode(b.bytes)
		if err != nil {
			unreadable++
			continue
		}
		if _, ok := w.numbers[b.of]; !ok { // the process is not in degrees
			w.numbers[b.of] = int32(len(processes))
			processes = append(processes, b.of)
		}
		t.lost += d.lost
		if b.of != head {
			hosts[d.host] = true
		}
		ranks = max(ranks, b.of.Rank+1)
		of[b.of] = append(of[b.of], d)
		for i := range d.events {
			if e := &d.events[i]; e.Kind.passes() {
				a.add(w.numbers[b.of], w.peer(e, b.of), d.clock, e)
			}
		}
	}
	offset := align(t.clock, t.received, a.fastest())
	a.join(offset)
	if err := t.about(w, len(offset), unreadable); err != nil {
		return 0, err
	}
	names(w, ranks)
	deaths := make(map[job.Process][]dated)        // Death events, by the process that died: they are drawn in its rows.
	for _, p := range slices.Backward(processes) { // the events of the head come first
		l := &layout{w: w, a: a, p: p, name: p.String(), number: w.numbers[p], pid: p.Rank + 1, lanes: make(map[row]*lane)}
		if p == head {
			l.pid, l.name = ranks+1, "intrarun"
		}
		events := deaths[p]
		for _, b := range of[p] {
			if len(hosts) > 1 && p != head {
				l.name = p.String() + " on " + b.host
			}
			for i := range b.events {
				e := dated{&b.events[i], b.events[i].At + offset[b.clock]}
				if of := e.peer(); e.Kind == Death && p == head && of != p {
					deaths[of] = append(deaths[of], e)
				} else {
					events = append(events, e)
				}
			}
		}
		l.all(events)
	}
	w.write([]byte("\n]}\n"))
	if w.err == nil {
		w.err = w.w.Flush()
	}
	return w.bytes, w.err
}

// about writes the part of the file that precedes the events.
func (t *File) about(w *writer, clocks, unreadable int) error {
	other := map[string]any{"program": "intrarun", "droppedEvents": t.dropped + t.lost, "clocks": clocks}
	if unreadable > 0 {
		other["unreadableBlocks"] = unreadable
	}
	text, err := json.Marshal(other)
	if err == nil {
		w.write([]byte(`{"displayTimeUnit":"ms","otherData":`))
		w.write(text)
		w.write([]byte(`,"traceEvents":[` + "\n"))
	}
	return err
}

// names writes the names of the groups of rows: the job, and its ranks.
func names(w *writer, ranks int) {
	for rank := range ranks + 1 {
		name, order := fmt.Sprintf("rank %d", rank), rank+1
		if rank == ranks {
			name, order = "job", 0
		}
		w.metadata(rank+1, 0, "process_name", name)
		w.metadataInt(rank+1, 0, "process_sort_index", order)
	}
}
