package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// Slices of a row must be nested or disjoint: viewers drop a slice that partly overlaps
// another one. Overlaps occur when several goroutines of the program communicate, or
// several states are sent at a time. Such slices go to another lane of the row.

// part is the part of a process that a row shows.
type part int

const (
	program  part = iota // the goroutine of the program
	workers              // worker goroutines, numbered from 1
	messages             // sends and receives outside any slice
	recovery             // states being sent
)

// row is a row of a process.
type row struct {
	part         part
	worker, lane int
}

// lane is one line of a row. Slices are added to it in the order of their beginnings.
type lane struct {
	tid  int
	ends []int64 // when the open slices end, outermost first
}

// until closes the slices that have ended by a moment.
func (l *lane) until(at int64) {
	for len(l.ends) > 0 && l.ends[len(l.ends)-1] <= at {
		l.ends = l.ends[:len(l.ends)-1]
	}
}

// fits reports whether a slice nests in the open slices.
func (l *lane) fits(at, end int64) bool {
	l.until(at)
	return len(l.ends) == 0 || l.ends[len(l.ends)-1] >= end
}

// layout arranges the events of one process in rows.
type layout struct {
	w      *writer
	a      *arrows
	p      job.Process
	number int32
	pid    int
	name   string // name of the process, for its rows
	lanes  map[row]*lane
}

// dated is an event with its time on the common axis.
type dated struct {
	*Event
	at int64
}

// lasts reports whether k is drawn from its beginning to its end.
func (k Kind) lasts() bool {
	switch k {
	case Section, Task, Wait, Call, Point, Cut, State, Join, Rollback, Again:
		return true
	}
	return false
}

// passes reports whether an event of kind k is an end of an arrow.
func (k Kind) passes() bool { return k == Sent || k == Received || k == Message || k == Match }

// peer returns the process that an event is about.
func (e *Event) peer() job.Process { return job.Process{Rank: int(e.Rank), Replica: int(e.Replica)} }

// all lays out events.
func (l *layout) all(events []dated) {
	slices.SortStableFunc(events, func(a, b dated) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(b.Lasted, a.Lasted), cmp.Compare(b2i(b.Kind.lasts()), b2i(a.Kind.lasts())))
	})
	l.lane(row{part: program}, l.name) // every process has this row, even without events
	alone := make([]dated, 0)
	for _, e := range events {
		switch {
		case e.Kind == Memory:
			l.w.memory(l, e)
		case e.Kind.lasts():
			l.slice(e)
		case e.Kind.passes():
			if !l.passage(e) {
				alone = append(alone, e)
			}
		default:
			l.instant(e)
		}
	}
	l.short(alone)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// lane returns a row, and names it at its first use.
func (l *layout) lane(r row, name string) *lane {
	at := l.lanes[r]
	if at != nil {
		return at
	}
	if r.lane > 0 {
		name += fmt.Sprintf(" (%d)", r.lane+1)
	}
	l.w.rows++
	at = &lane{tid: l.w.rows}
	l.lanes[r] = at
	const most = 1000 // workers of a process
	order := ((l.p.Replica*4+int(r.part))*most+min(r.worker, most-1))*8 + min(r.lane, 7)
	l.w.metadata(l.pid, at.tid, "thread_name", name)
	l.w.metadataInt(l.pid, at.tid, "thread_sort_index", order)
	return at
}

func (l *layout) slice(e dated) {
	r := row{part: program}
	name := l.name
	switch {
	case e.Kind == Task && e.Worker > 0:
		r = row{part: workers, worker: int(e.Worker)}
		name = fmt.Sprintf("%s worker %d", l.name, e.Worker)
	case e.Kind == State:
		r.part, name = recovery, l.name+" recovery"
	}
	end := e.at + e.Lasted
	at := l.lane(r, name)
	for !at.fits(e.at, end) {
		r.lane++
		at = l.lane(r, name)
	}
	at.ends = append(at.ends, end)
	l.w.event(l, at.tid, "X", e, e.Lasted)
}

// open returns a row of the program in which a slice is open at a moment.
func (l *layout) open(at int64) *lane {
	for r := (row{part: program}); ; r.lane++ {
		x := l.lanes[r]
		if x == nil {
			return nil
		}
		if x.until(at); len(x.ends) > 0 {
			return x
		}
	}
}

func (l *layout) instant(e dated) { l.w.event(l, l.lanes[row{part: program}].tid, "i", e, 0) }

// passage draws the beginning or end of a message or an update in the open slice. It
// returns false if no slice is open.
func (l *layout) passage(e dated) bool {
	at := l.open(e.at)
	if at == nil {
		return false
	}
	l.arrow(at.tid, e)
	l.w.event(l, at.tid, "i", e, 0)
	return true
}

// shortSlice is the length of a slice that represents a moment, in nanoseconds.
const shortSlice = 1000

// short draws events outside of any slice as short slices, since arrows can join
// only slices.
func (l *layout) short(events []dated) {
	if len(events) == 0 {
		return
	}
	at := l.lane(row{part: messages}, l.name+" messages")
	for i, e := range events {
		lasts := int64(shortSlice)
		if i+1 < len(events) {
			lasts = min(lasts, events[i+1].at-e.at)
		}
		l.w.event(l, at.tid, "X", e, lasts)
		l.arrow(at.tid, e)
	}
}

// arrow draws the beginning or end of an arrow if e has one.
func (l *layout) arrow(tid int, e dated) {
	p, begins := passageOf(l.number, l.w.peer(e.Event, l.p), e.Event)
	if id := l.a.of(p, begins, e.At); id > 0 {
		l.w.arrow(l, tid, e, begins, id)
	}
}
