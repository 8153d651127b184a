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
	e.mu.Lock()
	e.core.BeginCollective(ctx, s)
	s.pending = 1
	e.flushAndUnlock()
	e.run(s)
}

// Post is a message of a round: sent to a rank of the job, or received from it.
type Post struct {
	Request *Request
	Data    []byte
	Peer    int
	Number  uint64
	Receive bool
}

// run posts rounds of s until one is not complete at once.
func (e *Engine) run(s *Script) {
	for {
		round := s.Step()
		e.mu.Lock()
		if len(round) == 0 {
			e.core.EndCollective(s)
			e.flushAndUnlock()
			return
		}
		for i := range round {
			e.post(s, &round[i])
		}
		news := e.settle()
		s.pending--
		more := s.pending == 0
		if more {
			s.pending = 1
		}
		e.flush(news)
		if !more {
			return
		}
	}
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
		m.Request.finish()
		return
	}
	s.pending++
	m.Request.script = s
	e.core.SendExact(s.ctx, m.Request, m.Data, m.Peer, m.Number, s.Purpose)
}

// Advance posts the rounds that have become due.
func (e *Engine) Advance() {
	for e.ready.Load() > 0 {
		e.mu.Lock()
		if len(e.due) == 0 {
			e.mu.Unlock()
			return
		}
		s := e.due[0]
		e.due = append(e.due[:0], e.due[1:]...)
		e.ready.Add(-1)
		s.pending = 1
		e.mu.Unlock()
		e.run(s)
	}
}

// stepDone counts the completion of a request of a script. The lock is held.
func (e *Engine) stepDone(s *Script) {
	if s.pending--; s.pending == 0 {
		e.due = append(e.due, s)
		e.ready.Add(1)
	}
}
