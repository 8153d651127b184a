package runreport

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Timeline writes a timeline in the trace event format of Chrome, which Perfetto
// opens: a group for each rank, in it a row for each worker of each replica,
// arrows for the updates between them. The file takes its name when it is whole.
type Timeline struct {
	name  string
	began time.Time           // the moment 0, before any process has started
	rows  map[job.Process]int // where the first worker of each process is drawn; 0 means the idle thread to viewers

	mu    sync.Mutex
	f     *os.File // nil once closed
	w     *bufio.Writer
	wrote bool  // an event, so that a comma is due
	err   error // the first one
}

// chromeEvent is one event of the file. Times are in microseconds, as the
// format wants them.
type chromeEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	TS    float64        `json:"ts"`
	Dur   *float64       `json:"dur,omitempty"`
	PID   int            `json:"pid"` // rank, from 1
	TID   int            `json:"tid"` // row of the worker, from 1
	ID    string         `json:"id,omitempty"`
	Bind  string         `json:"bp,omitempty"`
	Scope string         `json:"s,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// The phases of the format.
const (
	phaseSlice    = "X"
	phaseInstant  = "i"
	phaseArrow    = "s"
	phaseArrowEnd = "f"
	phaseMetadata = "M"
)

// CreateTimeline begins the file. A nil Timeline, for no name, takes everything and
// writes nothing.
func CreateTimeline(name string, degrees []int, threads int) (*Timeline, error) {
	if name == "" {
		return nil, nil
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return nil, fmt.Errorf("write the trace: %w", err)
	}
	t := &Timeline{name: name, f: f, w: bufio.NewWriterSize(f, 1<<16), began: time.Now(), rows: make(map[job.Process]int)}
	_, t.err = t.w.WriteString(`{"displayTimeUnit":"ms","traceEvents":[` + "\n")
	threads = max(threads, 1)
	for i, p := range job.Processes(degrees) {
		t.rows[p] = i*threads + 1
		for worker := range threads {
			t.row(p, worker, threads)
		}
	}
	return t, nil
}

// row names the row of a worker and puts it behind those before it.
func (t *Timeline) row(p job.Process, worker, threads int) {
	meta := t.at(p, 0)
	meta.Phase = phaseMetadata
	meta.TID += worker
	name := "replica " + p.String()
	if worker > 0 {
		name += fmt.Sprintf(" worker %d", worker)
	}
	for _, m := range []struct {
		name, key string
		value     any
	}{
		{"process_name", "name", fmt.Sprintf("rank %d", p.Rank)},
		{"process_sort_index", "sort_index", p.Rank},
		{"thread_name", "name", name},
		{"thread_sort_index", "sort_index", p.Replica*threads + worker},
	} {
		meta.Name, meta.Args = m.name, map[string]any{m.key: m.value}
		t.write(meta)
	}
}

// at returns an event of a process, so many nanoseconds after the moment 0.
func (t *Timeline) at(p job.Process, ns int64) chromeEvent {
	return chromeEvent{PID: p.Rank + 1, TID: t.rows[p], TS: micro(ns)}
}

// Add takes in events of one process.
func (t *Timeline) Add(p job.Process, events []job.TraceEvent) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range events {
		t.event(p, &events[i])
	}
}

func (t *Timeline) event(p job.Process, e *job.TraceEvent) {
	c := t.at(p, e.At-t.began.UnixNano())
	c.Name, c.Cat, c.Phase = e.Name[strings.LastIndexByte(e.Name, '/')+1:], string(e.Kind), phaseSlice
	c.Args = map[string]any{"section": e.Section, "task": e.Task}
	lasted := micro(e.Lasted)
	switch e.Kind {
	case job.TraceSection:
		c.Name, c.Dur, c.Args = "section", &lasted, map[string]any{"section": e.Section}
	case job.TraceTask:
		c.Dur = &lasted
		c.TID += e.Worker
	case job.TraceWait:
		c.Name, c.Dur = "wait", &lasted
		c.Args["for"] = e.Name
	case job.TraceSend, job.TraceReceive:
		c.Phase, c.Scope = phaseInstant, "t"
		arrow := chromeEvent{Name: "update", Cat: "update", TS: c.TS, PID: c.PID, TID: c.TID, Phase: phaseArrow}
		from, to := p.Replica, e.Peer
		if e.Kind == job.TraceSend {
			c.Name = "send " + c.Name
			c.Args["to"] = job.Process{Rank: p.Rank, Replica: e.Peer}
		} else {
			c.Name = "receive " + c.Name
			c.Args["from"] = job.Process{Rank: p.Rank, Replica: e.Peer}
			from, to = to, from
			arrow.Phase, arrow.Bind = phaseArrowEnd, "e"
		}
		c.Args["bytes"] = e.Bytes
		arrow.ID = fmt.Sprintf("%d.%d.%d.%d.%d", p.Rank, e.Section, e.Task, from, to)
		t.write(arrow)
	case job.TraceOverflow:
		c.Name, c.Phase, c.Scope, c.Args = "events lost", phaseInstant, "t", map[string]any{"events": e.Bytes}
	default: // of a newer runtime
		return
	}
	t.write(c)
}

// Dead marks the death of a process.
func (t *Timeline) Dead(p job.Process, cause job.Cause, detail string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.at(p, int64(time.Since(t.began)))
	c.Name, c.Cat, c.Phase, c.Scope = "dead: "+string(cause), "failure", phaseInstant, "p"
	c.Args = map[string]any{"process": p, "detail": detail}
	t.write(c)
}

func micro(ns int64) float64 { return float64(ns) / 1e3 }

// write is called with mu held, or before anybody else knows t.
func (t *Timeline) write(c chromeEvent) {
	if t.err != nil || t.f == nil {
		return
	}
	b, err := json.Marshal(c)
	if err == nil && t.wrote {
		_, err = t.w.WriteString(",\n")
	}
	if err == nil {
		_, err = t.w.Write(b)
	}
	t.wrote, t.err = true, err
}

// Close completes the file and gives it its name, if keep, or removes it.
func (t *Timeline) Close(keep bool) error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.err
	if err == nil {
		_, err = t.w.WriteString("\n]}\n")
	}
	if err == nil {
		err = t.w.Flush()
	}
	if err == nil {
		err = t.f.Chmod(0o644)
	}
	if e := t.f.Close(); err == nil {
		err = e
	}
	if err == nil && keep {
		err = os.Rename(t.f.Name(), t.name)
	}
	if err != nil || !keep {
		os.Remove(t.f.Name())
	}
	t.f = nil
	if err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
