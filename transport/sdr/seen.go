package sdr

// A message enters the causal history of a process when the program sees it, not when the
// message fills a receive. Messages that the program sends before that do not depend on it.
// If their history contained the message, a replica that lags behind would wait forever.
//
// The program sees a message when a call returns that waited for it or received it, and
// when a probe shows it. It also sees a message when a test, or a wait for any of several
// requests, reports its receive. Messages inside a collective belong to the history of that
// collective. The program sees that history when it sees the end of the collective.
//
// A replica that lags behind may hold messages that, without replicas, would not exist
// before the rank has begun some later operation. Probes, tests and waits for any of
// several requests skip such messages, as receives from any source do. A call that waits
// for one of them alone gets it: without replicas, the program would wait there for a
// message, too. Then the message belongs only to the history of operations after that later
// operation.

// keepPast keeps the causal history of the message that has completed req until the program
// sees the message.
func (x *matching) keepPast(req *Request, of *past) {
	switch {
	case of == nil:
	case req.script != nil:
		req.script.past = x.history.joined(req.script.past, of)
	case req.awaited:
		x.history.learn(of)
	default:
		req.past, req.age = x.history.take(of), x.history.age
	}
}

// See records that the program sees the completion of req.
func (x *matching) See(req *Request) {
	if req.past != nil && req.age == x.history.age {
		x.history.learn(req.past)
	}
	x.forget(req)
}

// forget drops the history of the message that completed req.
func (x *matching) forget(req *Request) {
	if req.past != nil {
		x.history.drop(req.past)
		req.past = nil
	}
}

// Visible reports whether the program may see the completion of req, which is Done, even
// though it does not wait for req alone. If an operation of another goroutine changes the
// result to true, the engine wakes the waiters.
func (x *matching) Visible(req *Request) bool {
	if req.past == nil || req.age != x.history.age || x.history.deliverable(req.past) {
		return true
	}
	x.hidden = true
	return false
}
