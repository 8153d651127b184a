package timeline

import (
	"bufio"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/intrahpc/intra/internal/job"
)

// writer writes events in the trace event format. Times are in microseconds, as
// the format wants them.
type writer struct {
	w       *bufio.Writer
	bytes   int64
	zero    int64 // time 0 of the file on the common axis
	rows    int   // number of named rows; viewers use row 0 for the idle thread
	some    bool  // a comma precedes the next event
	line    []byte
	quoted  map[string][]byte
	numbers map[job.Process]int32
	err     error // the first error of a write
}

// peer returns the number of the process that an event of p is about.
func (w *writer) peer(e *Event, p job.Process) int32 {
	of := e.peer()
	if e.Kind == Sent || e.Kind == Received { // the peer is another replica of this rank
		of.Rank = p.Rank
	}
	n, ok := w.numbers[of]
	if !ok {
		return None
	}
	return n
}

func (w *writer) text(s string) {
	q, ok := w.quoted[s]
	if !ok {
		q, _ = json.Marshal(s) // a string can always be encoded
		w.quoted[s] = q
	}
	w.line = append(w.line, q...)
}

// micro appends a number of nanoseconds as microseconds.
func micro(b []byte, ns int64) []byte {
	if ns < 0 {
		b, ns = append(b, '-'), -ns
	}
	b = append(strconv.AppendInt(b, ns/1000, 10), '.')
	f := ns % 1000
	return append(b, byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
}

// begin starts an event with the fields that all events have.
func (w *writer) begin(name, cat, phase string, at int64, pid, tid int) {
	w.line = w.line[:0]
	if w.some {
		w.line = append(w.line, ",\n"...)
	}
	w.some = true
	w.line = append(w.line, `{"name":`...)
	w.text(name)
	if cat != "" {
		w.line = append(w.line, `,"cat":`...)
		w.text(cat)
	}
	w.line = append(append(append(w.line, `,"ph":"`...), phase...), `","ts":`...)
	w.line = micro(w.line, at)
	w.line = strconv.AppendInt(append(w.line, `,"pid":`...), int64(pid), 10)
	w.line = strconv.AppendInt(append(w.line, `,"tid":`...), int64(tid), 10)
}

// args begins the arguments. argument and textArgument add to them, and end closes them.
func (w *writer) args() { w.line = append(w.line, `,"args":{`...) }

func (w *writer) key(key string) {
	if w.line[len(w.line)-1] != '{' {
		w.line = append(w.line, ',')
	}
	w.text(key)
	w.line = append(w.line, ':')
}

func (w *writer) argument(key string, value int64) {
	w.key(key)
	w.line = strconv.AppendInt(w.line, value, 10)
}

func (w *writer) textArgument(key, value string) {
	if value != "" {
		w.key(key)
		w.text(value)
	}
}

// end closes the arguments if there are any, and writes the event.
func (w *writer) end(args bool) {
	if args {
		w.line = append(w.line, '}')
	}
	w.line = append(w.line, '}')
	w.write(w.line)
}

func (w *writer) write(b []byte) {
	w.bytes += int64(len(b))
	if w.err == nil {
		_, w.err = w.w.Write(b)
	}
}

func (w *writer) metadata(pid, tid int, name, value string) {
	w.begin(name, "", "M", 0, pid, tid)
	w.args()
	w.textArgument("name", value)
	w.end(true)
}

func (w *writer) metadataInt(pid, tid int, name string, value int) {
	w.begin(name, "", "M", 0, pid, tid)
	w.args()
	w.argument("sort_index", int64(value))
	w.end(true)
}

// memory writes the counters of a process.
func (w *writer) memory(l *layout, e dated) {
	w.begin("memory of "+l.name, "", "C", e.at-w.zero, l.pid, l.lanes[row{part: program}].tid)
	w.args()
	w.argument("resident", e.Bytes)
	w.argument("heap", int64(e.Number))
	w.argument("messages kept", int64(e.Context))
	w.end(true)
}

// arrow writes the beginning or the end of an arrow.
func (w *writer) arrow(l *layout, tid int, e dated, begins bool, id int) {
	name, phase := e.Kind.String(), "f"
	if begins {
		phase = "s"
	}
	w.begin(name, name, phase, e.at-w.zero, l.pid, tid)
	w.line = strconv.AppendInt(append(w.line, `,"id":`...), int64(id), 10)
	if !begins {
		w.line = append(w.line, `,"bp":"e"`...) // bind the arrow to the enclosing slice
	}
	w.end(false)
}

// short returns the name of a kernel without the path of its package.
func short(kernel string) string { return kernel[strings.LastIndexByte(kernel, '/')+1:] }

// event writes a slice or an instant.
func (w *writer) event(l *layout, tid int, phase string, e dated, lasted int64) {
	to := e.peer()
	w.begin(w.name(e, to), e.Kind.String(), phase, e.at-w.zero, l.pid, tid)
	if phase == "X" {
		w.line = micro(append(w.line, `,"dur":`...), lasted)
	} else {
		scope := `,"s":"t"` // drawn over its row
		if e.Kind == Death {
			scope = `,"s":"p"` // drawn over all rows of its rank
		}
		w.line = append(w.line, scope...)
	}
	w.args()
	w.arguments(l, e, to)
	w.end(true)
}

// name returns the name of an event in the viewer.
func (w *writer) name(e dated, peer job.Process) string {
	switch e.Kind {
	case Section, Wait, Join:
		return e.Kind.String()
	case Task:
		return short(e.Name)
	case Sent:
		return "send " + short(e.Name)
	case Received:
		return "receive " + short(e.Name)
	case Message:
		return "send to " + peer.String()
	case Match:
		return "match from " + peer.String()
	case Point:
		return "safe point " + strconv.FormatUint(e.Number, 10)
	case Rollback:
		return "back to safe point " + strconv.FormatUint(e.Number, 10)
	case Again:
		return "again from safe point " + strconv.FormatUint(e.Number, 10)
	case Verdict:
		return "heard that " + peer.String() + " is dead"
	case Death:
		return "dead: " + e.Name
	}
	return e.Name
}

// arguments writes the details that a viewer shows of a selected event.
func (w *writer) arguments(l *layout, e dated, peer job.Process) {
	switch e.Kind {
	case Section:
		w.argument("section", int64(e.Number))
	case Task:
		w.argument("section", int64(e.Number))
		w.argument("task", e.Tag)
	case Wait:
		if e.Name != "" {
			w.textArgument("for", short(e.Name))
			w.argument("section", int64(e.Number))
		}
	case Sent, Received:
		w.argument("section", int64(e.Number))
		w.argument("task", e.Tag)
		peer.Rank = l.p.Rank
		w.textArgument(direction(e.Kind == Sent), peer.String())
		w.argument("bytes", e.Bytes)
	case Message, Match:
		w.textArgument(direction(e.Kind == Message), peer.String())
		if e.Tag != None {
			w.argument("tag", e.Tag)
		}
		w.argument("number", int64(e.Number))
		w.argument("bytes", e.Bytes)
	case Call:
		if e.Rank != None {
			w.argument("rank", int64(e.Rank))
		}
		if e.Tag != None {
			w.argument("tag", e.Tag)
		}
		w.argument("bytes", e.Bytes)
	case State:
		w.textArgument("to", peer.String())
		w.argument("safe point", int64(e.Number))
		w.argument("bytes", e.Bytes)
	case Point, Cut, Join, Rollback, Again:
		w.argument("safe point", int64(e.Number))
	case Verdict:
		w.textArgument("process", peer.String())
	case Death:
		w.textArgument("process", peer.String())
		w.textArgument("detail", e.Place)
		return
	}
	w.textArgument("at", e.Place)
}

func direction(sends bool) string {
	if sends {
		return "to"
	}
	return "from"
}
