package sdr

// Observer is notified of the events of messages, for a timeline. It does not influence
// them. The engine calls its methods from any goroutine, with or without holding its lock.
// The methods must not call the engine.
type Observer interface {
	// Called reports that the program has called the layer above to send or receive a
	// message. The arguments are the rank in the job, the tag, and the number of bytes; Any
	// means that a rank or a tag does not apply. The caller calls end when the call ends.
	Called(rank, tag, bytes int) (end func())
	// Waited reports that a call begins to wait. The caller calls end when the call
	// continues.
	Waited() (end func())
	// Sent reports that a message leaves for a process: its payload is handed to the link.
	Sent(Passage)
	// Matched reports that a receive has a whole message, and from which replica of its
	// source.
	Matched(Passage)
}

// Passage is a message on its way between two processes. Context and Number identify it
// among all messages that the two exchange.
type Passage struct {
	Rank, Replica   int // the other process
	Context, Number uint64
	Exact           bool // the message belongs to a collective, and Tag is its purpose
	Tag, Bytes      int
}

// Observer returns the observer, or nil.
func (e *Engine) Observer() Observer { return e.cfg.Observer }

// observeSent reports a message that is handed to a link. It skips the bookmarks of cuts,
// which the program did not send. If a.Message is nil, the message is an eager one.
func (e *Engine) observeSent(a *Action) {
	tag := int(a.Header.Args[2])
	if m := a.Message; m != nil {
		if tag = m.tag; m.bookmark {
			return
		}
	}
	p := &e.core.job.processes[a.To] // rank and replica never change, nor do the fields of m that are read here
	e.cfg.Observer.Sent(Passage{Rank: p.rank, Replica: p.replica, Context: a.Header.Args[0], Number: a.Header.Args[1],
		Exact: a.Header.Flags&flagExact != 0, Tag: tag, Bytes: len(a.Payload)})
}
