package sdr

// Observer is told what happens with messages, for a timeline. It changes nothing.
// Its methods are called with the engine's lock held or not, by any goroutine, and
// must not call the engine.
type Observer interface {
	// Called says that the program has called the layer above, about a message of
	// so many bytes to or from a rank of the job, with a tag; Any stands for what
	// there is none of. The result is called at the end of the call.
	Called(rank, tag, bytes int) (end func())
	// Waited says that a call begins to wait; the result is called when it goes on.
	Waited() (end func())
	// Sent says that a message leaves for a process: its payload is handed to the
	// link.
	Sent(Passage)
	// Matched says that a receive has a whole message, and which replica of its
	// source it came from.
	Matched(Passage)
}

// Passage is a message on its way between two processes. The context and the
// number name it among all that the two exchange.
type Passage struct {
	Rank, Replica   int // the other process
	Context, Number uint64
	Exact           bool // it belongs to a collective, and Tag is its purpose
	Tag, Bytes      int
}

// Observer returns who is told what happens, nil if nobody is.
func (e *Engine) Observer() Observer { return e.cfg.Observer }

// observeSent tells of a message that is handed to a link. Bookmarks of cuts are
// none of the program's. What has no Message is an eager one.
func (e *Engine) observeSent(a *Action) {
	tag := int(a.Header.Args[2])
	if m := a.Message; m != nil {
		if tag = m.tag; m.bookmark {
			return
		}
	}
	p := &e.core.processes[a.To] // rank and replica never change, nor does what is read of m
	e.cfg.Observer.Sent(Passage{Rank: p.rank, Replica: p.replica, Context: a.Header.Args[0], Number: a.Header.Args[1],
		Exact: a.Header.Flags&flagExact != 0, Tag: tag, Bytes: len(a.Payload)})
}

// observeMatch tells of a message that a receive has got.
func (c *Core) observeMatch(s *inStream, replica int, number uint64, tag, bytes int) {
	if s.rank != c.rank { // else it has crossed no link
		c.observer.Matched(Passage{Rank: s.rank, Replica: replica, Context: s.ctx.id, Number: number, Exact: s.ctx.exact, Tag: tag, Bytes: bytes})
	}
}
