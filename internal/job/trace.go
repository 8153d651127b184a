package job

// TraceKind tells the events of a trace apart.
type TraceKind string

// The events of a process, for intrarun's -trace.
const (
	TraceSection  TraceKind = "section"  // from its entry to its end, together with other replicas
	TraceTask     TraceKind = "task"     // one body
	TraceWait     TraceKind = "wait"     // for updates of others, or until own ones are handed over
	TraceSend     TraceKind = "send"     // an update begins to leave for Peer
	TraceReceive  TraceKind = "receive"  // an update of Peer has been taken in
	TraceOverflow TraceKind = "overflow" // events were lost, as many as Bytes says
)

// TraceEvent is something that happened in a process, at a moment or over a
// while.
type TraceEvent struct {
	Kind    TraceKind `json:"k"`
	At      int64     `json:"t"`           // nanoseconds since 1970
	Lasted  int64     `json:"d,omitempty"` // nanoseconds
	Section uint64    `json:"s"`
	Task    int       `json:"i"`
	Name    string    `json:"n,omitempty"` // of the type of task
	Peer    int       `json:"p,omitempty"` // replica
	Worker  int       `json:"w,omitempty"` // that ran the body; 0 is the program's goroutine
	Bytes   int64     `json:"b,omitempty"`
}

// traceBatch events fit one message: each may take 32 KiB, and takes about 100
// bytes and its name.
const traceBatch = 512

// Trace hands events to the head. It blocks until they are in the kernel's
// hands, so they survive this process.
func (s *Session) Trace(events []TraceEvent) {
	for len(events) > 0 {
		n := min(len(events), traceBatch)
		if s.say(&Message{Kind: KindTrace, Trace: events[:n]}) != nil {
			return
		}
		events = events[n:]
	}
}
