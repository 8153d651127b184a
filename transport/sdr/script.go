package sdr

// Script is a collective operation: a series of rounds of messages, each posted when the
// one before it is complete. A goroutine that waits or tests on the engine posts the
// rounds. A link never does.
type Script struct {
	// Step does the local work after a round, and returns the messages of the next one.
	// They belong to the engine until they are complete. If Step returns none, the script
	// ends. Step is called without any lock, by one goroutine at a time.
	Step func() []Post
	// Purpose is the purpose of all messages of the script, see Core.SendExact. It is set before
	// the script is started.
	Purpose int
	// Sync states what the end of the script implies at this rank. It is set before the
	// script is started.
	Sync Sync
	// Failed means that the script was not carried out completely. Step sets it.
	Failed bool

	done    *Call
	ctx     *Context
	past    *past  // causal history of its messages
	epoch   uint64 // the epoch that this script began
	pending int    // number of incomplete requests of the current round, plus one while Step's messages are posted
}

// Call returns the call that completes when the script has ended.
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
	if !e.retired {
		e.core.BeginCollective(ctx, s)
	}
	s.run(e, round)
}

// Post is a message of a round, which is sent to a rank of the job or received from it.
// Only the script is notified when its request completes: the request is never Done.
type Post struct {
	Request *Request
	Data    []byte
	Peer    int
	Number  uint64
	Receive bool
}

// run posts this round of s and the following ones, until one is not complete at once. It
// is called with the lock held, and releases it.
func (s *Script) run(e *Engine, round []Post) {
	for len(round) > 0 && !e.retired {
		if e.core.job.spent {
			for _, m := range round {
				if !m.Receive {
					e.pace(m.Peer, len(m.Data), true)
				}
			}
		}
		s.pending = 1
		for i := range round {
			s.post(e, &round[i])
		}
		wake := e.settle()
		s.pending--
		more := s.pending == 0
		e.flush(wake)
		if !more {
			return
		}
		round = s.Step()
		e.mu.Lock()
	}
	if !e.retired {
		e.core.EndCollective(s)
	}
	e.flushAndUnlock()
}

// post posts a message of s. The lock is held.
func (s *Script) post(e *Engine, m *Post) {
	if m.Receive {
		s.pending++
		m.Request.script = s
		e.core.matching.RecvExact(s.ctx, m.Request, m.Data, m.Peer, m.Number, s.Purpose)
		return
	}
	if e.cfg.Mid == nil && e.cfg.Flip == nil && e.core.outgoing.SendNow(s.ctx, m.Data, m.Peer, m.Number, s.Purpose) {
		m.Request.status, m.Request.err = Status{}, nil
		return
	}
	s.pending++
	m.Request.script = s
	e.core.SendExact(s.ctx, m.Request, m.Data, m.Peer, m.Number, s.Purpose)
}

// Advance posts the rounds that can be posted.
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
			return // another goroutine has taken the script
		}
		round := s.Step()
		e.mu.Lock()
		s.run(e, round)
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
