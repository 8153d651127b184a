package sdr

// Script is a series of rounds of messages, each posted when the one before
// it is complete: a collective operation. Rounds are posted by goroutines that
// wait for something or test something on the engine, never by a link.
type Script struct {
	// Step does the local work that follows the round before, and returns the messages
	// of the next one, which are the engine's until they are complete: none ends
	// the script. It is called without any lock, by one goroutine at a time.
	Step func() []Post
	// Purpose of its messages, see Core.SendExact. It is set before the script is
	// started.
	Purpose int
	// Sync says what its end implies, at this rank. It is set before the script is
	// started.
	Sync Sync
	// Failed says that not all of it has been carried out. It is set by Step.
	Failed bool

	done    *Call
	ctx     *Context
	past    *past  // what its messages depend on
	epoch   uint64 // that began with it
	pending int    // requests of the round under way, and one while Step posts it
}

// Call completes when the script has ended.
func (s *Script) Call() *Call { return s.done }

// Start begins a script of messages in ctx, for the first time or after it has
// ended.
func (e *Engine) Start(ctx *Context, s *Script) {
	if s.done == nil {
		s.done = e.NewCall()
		s.done.endOf = s
	}
	s.done.Reset()
	round := s.Step()
	e.mu.Lock()
	e.core.BeginCollective(ctx, s)
	e.run(s, round)
}

// Post is a message of a round: sent to a rank of the job, or received from it. Its
// request tells the script alone when it is complete, nobody else: it is never Done.
type Post struct {
	Request *Request
	Data    []byte
	Peer    int
	Number  uint64
	Receive bool
}

// run posts rounds of s, and this one first, until one is not complete at once. The
// lock is held, and released.
func (e *Engine) run(s *Script, round []Post) {
	for len(round) > 0 {
		if e.core.spent {
			e.paceAll(round)
		}
		s.pending = 1
		for i := range round {
			e.post(s, &round[i])
		}
		news := e.settle()
		s.pending--
		more := s.pending == 0
		e.flush(news)
		if !more {
			return
		}
		round = s.Step()
		e.mu.Lock()
	}
	e.core.EndCollective(s)
	e.flushAndUnlock()
}

// post posts a message of a script. The lock is held.
func (e *Engine) post(s *Script, m *Post) {
	if m.Receive {
		s.pending++
		m.Request.script = s
		e.core.RecvExact(s.ctx, m.Request, m.Data, m.Peer, m.Number, s.Purpose)
		return
	}
	if e.cfg.Mid == nil && e.cfg.Flip == nil && e.core.SendExactNow(s.ctx, m.Data, m.Peer, m.Number, s.Purpose) {
		m.Request.status, m.Request.err = Status{}, nil
		return
	}
	s.pending++
	m.Request.script = s
	e.core.SendExact(s.ctx, m.Request, m.Data, m.Peer, m.Number, s.Purpose)
}

// Advance posts the rounds that have become due.
func (e *Engine) Advance() {
	for e.advances() {
		s := e.next.Swap(nil)
		if s == nil {
			e.mu.Lock()
			if len(e.due) > 0 {
				s = e.due[0]
				e.due = append(e.due[:0], e.due[1:]...)
				e.ready.Add(-1)
			}
			e.mu.Unlock()
		}
		if s == nil {
			return // others have got there first
		}
		round := s.Step()
		e.mu.Lock()
		e.run(s, round)
	}
}

// advances reports whether there may be a round to post.
func (e *Engine) advances() bool { return e.next.Load() != nil || e.ready.Load() > 0 }

// stepDone counts the completion of a request of a script. The lock is held.
func (e *Engine) stepDone(r *Request) {
	s := r.script
	r.script = nil
	if s.pending--; s.pending > 0 || e.next.CompareAndSwap(nil, s) {
		return
	}
	e.due = append(e.due, s)
	e.ready.Add(1)
}
