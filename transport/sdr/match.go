package sdr

// matching holds the receives of this process and the messages that no receive has matched,
// and matches them.
type matching struct {
	job      *job
	journal  *journal
	out      *outbox
	history  *history
	contexts *contexts
	requests *requests
	outgoing *outgoing
	buffers  *buffers
	agreed   *agreement // nil: the replicas of this rank make no decisions
	observer Observer   // nil: none
	clock    uint64     // counter that orders receives and arrivals
	aside    []*Context // contexts with messages that are held back from a receive from any source
	hidden   bool       // a probe or a test has skipped a message that is held back
	arrivals []*arrival // for reuse
}

// Recv posts a receive of a message from rank src of the job, or Any, with
// tag, or Any [SDR, Algorithm 1, line 10]. Messages of one source match in the
// order in which they were sent. buf belongs to the core until req is
// complete.
func (x *matching) Recv(ctx *Context, req *Request, buf []byte, src, tag int) {
	x.clock++
	x.contexts.used = x.contexts.used || src == Any
	x.forget(req)
	req.ctx, req.buf, req.source, req.tag, req.order, req.back = ctx, buf, src, tag, x.clock, false
	req.chosen, req.held, req.ended, req.local = false, false, false, nil
	if src == Any {
		x.numberReceive(req)
	} else {
		ctx.endRun()
	}
	x.postRecv(req)
}

// RecvExact posts a receive of the message with this number, in an exact
// context. A message that was sent for another purpose completes it with a
// *Mismatch.
func (x *matching) RecvExact(ctx *Context, req *Request, buf []byte, src int, number uint64, purpose int) {
	x.clock++
	req.ctx, req.buf, req.source, req.number, req.order, req.tag = ctx, buf, src, number, x.clock, purpose
	x.postRecv(req)
}

// postRecv matches req with a message that has arrived, or inserts it into the posted
// receives.
func (x *matching) postRecv(req *Request) {
	req.place.key = req.key()
	if m := x.unexpected(req); m != nil {
		x.match(m, req)
		return
	}
	req.place.receive = req
	l := &req.ctx.any
	if req.source != Any {
		l = &req.ctx.inStream(req.source).posted
	}
	behind := l.last
	for behind != nil && behind.receive.order > req.order {
		behind = behind.prev // a receive that lost its message returns to its old place
	}
	l.insert(behind, &req.place)
	if req.source == Any && !x.waitsToChoose(req.ctx) {
		x.setAsideFor(req)
	}
}

// match binds a message that no receive had matched to req.
func (x *matching) match(m *arrival, req *Request) {
	ctx, ahead := req.ctx, m.heldBack && req.source != Any
	m.place.leave()
	x.choose(req, m.stream, m.number)
	x.bind(m, req)
	if ahead { // a receive from any source may have waited for this message to be matched
		x.matchDeliverable(ctx)
	}
}

// unexpected returns the unmatched message that req gets, or nil. From a single source, req
// gets the first message that it accepts. From several sources, it gets the one of these
// first messages that arrived first.
func (x *matching) unexpected(req *Request) *arrival {
	if req.source != Any {
		return x.first(req.ctx.in[req.source], req)
	}
	if !req.probe && x.waitsToChoose(req.ctx) {
		return nil
	}
	var best *arrival
	for _, s := range req.ctx.in {
		if m := x.first(s, req); m != nil && (best == nil || m.order < best.order) {
			best = m
		}
	}
	return best
}

// takePosted removes and returns the receive that a message matches, which is the first
// posted one that accepts it. It ignores receives from any source if the message depends on
// operations that this replica has yet to begin.
func (x *matching) takePosted(s *inStream, number uint64, tag int, of *past) *Request {
	key := s.ctx.key(number, tag)
	at := s.posted.find(key)
	for at != nil && !at.receive.accepts(number, tag) { // a decision gives the receive another message
		at = at.after(key)
	}
	for p := s.ctx.any.find(key); p != nil; p = p.after(key) {
		if at != nil && p.receive.order > at.receive.order {
			break
		}
		if x.waitsToChoose(s.ctx) { // the leader may give this message to the receive
			s.ctx.claimed = true
			return nil
		}
		if s.passed(p.receive) {
			continue
		}
		if x.history.deliverable(of.in(s.ctx.domain)) {
			at = p
		}
		break
	}
	if at == nil {
		return nil
	}
	at.leave()
	x.choose(at.receive, s, number)
	return at.receive
}

// bind assigns a message to a receive, and requests the payload if it has not arrived.
func (x *matching) bind(m *arrival, req *Request) {
	switch {
	case m.local != nil:
		out := m.local
		x.fill(req, m.stream, x.job.replica, m.number, m.tag, out.data, nil)
		x.endLocal(out, req)
		x.release(m)
	case m.whole:
		x.fill(req, m.stream, m.from, m.number, m.tag, m.data, m.past)
		x.release(m)
	default:
		m.req, req.bound = req, m
		if req.source == Any && !req.back {
			req.ctx.bound++
		}
		if m.offers != 0 && x.requests.wants(m) {
			x.requests.ask(m)
		}
	}
}

// fill completes a receive with a whole message from the given replica.
func (x *matching) fill(req *Request, s *inStream, replica int, number uint64, tag int, payload []byte, of *past) {
	x.keepPast(req, of.in(s.ctx.domain))
	if x.journal.on {
		x.journal.receives(s, number, tag, payload)
	}
	n := len(payload)
	var err error
	if n > len(req.buf) {
		n, err = len(req.buf), ErrTruncate
	}
	if s.ctx.exact && tag != req.tag {
		err = &Mismatch{Source: s.rank, Theirs: tag, Mine: req.tag}
	}
	if n > 0 && &req.buf[0] != &payload[0] {
		copy(req.buf[:n], payload)
	}
	if x.observer != nil && s.rank != x.job.rank && replica >= 0 { // a local message has crossed no link, nor has one that is received again
		x.observer.Matched(Passage{Rank: s.rank, Replica: replica, Context: s.ctx.id, Number: number, Exact: s.ctx.exact, Tag: tag, Bytes: len(payload)})
	}
	s.taken = max(s.taken, number+1)
	s.ctx.unbind(req)
	if s.ctx.bound > 0 {
		if s.newest == nil {
			s.newest = make(map[int]uint64)
		}
		s.newest[tag] = max(s.newest[tag], req.order)
	}
	req.bound, req.buf = nil, nil
	x.out.complete(req, Status{Source: s.rank, Tag: tag, Size: n}, err)
	x.contexts.ended(s.ctx)
}

// unbind records that a receive ends, whether it was bound to an offer or not.
func (ctx *Context) unbind(req *Request) {
	if req.source == Any && (req.bound != nil || req.back) {
		ctx.bound--
		req.back = false
	}
}

// Probe looks for a message that a receive with this source and tag would match, and leaves
// it in place. The next such receive gets the message that a probe has shown, whichever
// replicas die. The message enters the causal history, because the program has seen it.
func (x *matching) Probe(ctx *Context, src, tag int) (Status, bool) {
	x.contexts.used = x.contexts.used || src == Any
	req := Request{ctx: ctx, source: src, tag: tag, probe: true}
	req.place.key = req.key()
	m := x.unexpected(&req)
	if m == nil {
		return Status{}, false
	}
	s := m.stream
	s.shown = max(s.shown, m.number+1)
	x.history.absorb(m.past.in(ctx.domain))
	return Status{Source: s.rank, Tag: m.tag, Size: m.size}, true
}

// Cancel withdraws a receive that no message has matched, and reports whether it could. It
// does not withdraw a receive for which a message was chosen: that message may still be on
// its way here, but another replica may have received it.
func (x *matching) Cancel(req *Request) bool {
	if req.place.line == nil || req.chosen {
		return false
	}
	req.place.leave()
	req.ctx.unbind(req)
	x.rematch(req.ctx)
	x.out.complete(req, Status{Source: Any, Tag: Any, Cancelled: true}, nil)
	x.contexts.ended(req.ctx)
	return true
}

// postLocal delivers a message of this rank to itself. It uses no link and no other
// replica.
func (x *matching) postLocal(m *Message) {
	ctx := m.stream.ctx
	s := ctx.inStream(x.job.rank)
	if req := x.takePosted(s, m.number, m.tag, nil); req != nil {
		x.fill(req, s, x.job.replica, m.number, m.tag, m.data, nil)
		x.endLocal(m, req)
		return
	}
	if !m.sync && len(m.data) <= x.job.limits.Eager && x.job.ranks[x.job.rank].retained+len(m.data)+frameCost <= x.job.limits.Retain {
		x.outgoing.copyOut(m)
	}
	a := x.newArrival(s, m.number, m.tag, len(m.data))
	a.local = m
	x.enqueue(a)
}

// endLocal ends a message of this rank to itself that req has received. While req is held,
// a synchronous send of the message must not complete: that would reveal the decision.
func (x *matching) endLocal(m *Message, req *Request) {
	if req.held {
		req.local = m
		return
	}
	if m.copied {
		x.job.ranks[x.job.rank].retained -= len(m.data) + frameCost
		x.buffers.put(m.data)
	}
	x.out.complete(m.req, Status{}, nil)
	x.outgoing.reuseMessage(m)
}

// first returns the first message of a stream that req accepts, if req may have it now.
func (x *matching) first(s *inStream, req *Request) *arrival {
	if s == nil || s.unexpected.first == nil || s.passed(req) {
		return nil
	}
	if req.chosen {
		return s.numbered(req.number)
	}
	p := s.unexpected.find(req.place.key)
	if p == nil {
		return nil
	}
	m := p.message
	if (req.source != Any || req.probe) && x.claimed(m, req) {
		return nil
	}
	if (req.source == Any || req.probe) && !x.history.deliverable(m.past.in(s.ctx.domain)) {
		x.hidden = x.hidden || req.probe
		return nil // req must not match a later message either
	}
	return m
}

// numbered finds the unmatched message with this number.
func (s *inStream) numbered(number uint64) *arrival {
	for m := range s.unexpected.messages() {
		if m.number >= number {
			if m.number > number {
				break
			}
			return m
		}
	}
	return nil
}

func (x *matching) newArrival(s *inStream, number uint64, tag, size int) *arrival {
	var m *arrival
	if n := len(x.arrivals); n > 0 {
		m = x.arrivals[n-1]
		x.arrivals = x.arrivals[:n-1]
	} else {
		m = new(arrival)
	}
	x.clock++
	*m = arrival{stream: s, number: number, tag: tag, size: size, granted: -1, eager: -1, order: x.clock}
	m.place.key, m.place.message = s.ctx.key(number, tag), m
	return m
}

// release ends the use of an arrival.
func (x *matching) release(m *arrival) {
	if m.hasData {
		x.buffers.put(m.data)
	}
	x.history.drop(m.past)
	x.readmit(m)
	x.requests.unawait(m)
	if m.eager >= 0 {
		x.job.processes[m.eager].held -= m.size + frameCost
		x.requests.consumed(m.eager, m.size+frameCost)
	}
	if len(x.arrivals) < 256 {
		*m = arrival{}
		x.arrivals = append(x.arrivals, m)
	}
}

// enqueue appends an unmatched message to those of its stream.
func (x *matching) enqueue(m *arrival) {
	m.stream.unexpected.push(&m.place)
	x.out.wake = true
	x.setAside(m)
}

// deliver matches the message that is the next one of its stream.
func (x *matching) deliver(m *arrival) {
	if req := x.takePosted(m.stream, m.number, m.tag, m.past); req != nil {
		x.bind(m, req)
	} else {
		x.enqueue(m)
	}
}

// advance matches messages that arrived early and whose predecessors have arrived now.
func (x *matching) advance(s *inStream) {
	if s.ctx.exact {
		return
	}
	for {
		m := s.known(s.due)
		switch {
		case m == nil && !s.received.has(s.due):
			return
		case m == nil || m.req != nil || m.queued(): // matched before, or already in the line
			s.due++
		default:
			s.due++
			if m.whole {
				delete(s.live, m.number)
			}
			x.deliver(m)
		}
	}
}

// keepCopy gives m a copy of its payload.
func (x *matching) keepCopy(m *arrival, payload []byte) {
	m.data, m.hasData = x.buffers.get(len(payload)), true
	copy(m.data, payload)
}
