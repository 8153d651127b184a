package sdr

import (
	"encoding/binary"
	"slices"
)

// A process may send to replicas that lag behind the replicas from which it receives. This
// happens if ranks differ in degree or replicas have died, because one process then serves
// several replicas. A receive from any source of a lagging replica could match a message
// that exists only because another replica of the same rank has already completed that
// receive. In a run without replicas this is impossible.
//
// Where the replicas of a rank agree on such receives (agree.go), it is impossible as well.
// Otherwise every message of a replicated job carries its causal history. This is a vector
// clock that counts the operations (sends posted, collectives begun) of each rank on which
// the message depends. A receive from any source matches a message only if its own replica
// has begun all operations on which the message depends. Receives from one source need no
// such check: they match in the order of the stream.
//
// The end of an allreduce of all ranks depends on everything that any rank did before. So
// the clock of a rank counts the operations since the last such collective, which begins an
// epoch. A vector clock then consists of one epoch that all ranks have begun, and a list of
// the ranks that are known to have done more since. It orders events as a vector with one
// counter for each rank would, but its size depends only on the messages since the epoch
// began.

// domain is a clock domain, in which operations are counted. Communicators that are used by
// the same goroutine share a domain. Dup begins a new one, because the operations of
// different goroutines interleave differently at every replica.
type domain struct {
	id      uint64
	own     clock     // clock of this rank
	known   knowledge // clocks of the other ranks, in the causal history of this process
	users   int       // contexts of this process that belong to it
	closed  bool      // it was already closed when a context joined it
	changes uint64    // number of changes of own and known
}

// history is the causal history of this process: its vector clocks, and memory for the
// causal histories of messages.
type history struct {
	rank       int
	replicated []bool             // per rank: it began with several replicas
	on         bool               // messages carry their causal history
	domains    []*domain          // clock domains, in order of creation
	domainOf   map[uint64]*domain // nil value: closed
	ahead      []*past            // histories of messages that the program saw before they were deliverable
	age        uint64             // number of times that the count of operations has restarted
	changes    uint64             // number of changes in all clock domains
	others     others             // the last encoding of the other clock domains
	rests      []*rest            // per process: its last long causal history
	incoming   *past              // history of the message in the current frame, for reuse
	pasts      []*past            // for reuse
	reference  Reference          // nil: none
}

func newHistory(j *job) history {
	h := history{rank: j.rank, on: j.replicated, domainOf: make(map[uint64]*domain), rests: make([]*rest, len(j.processes))}
	for i := range j.ranks {
		h.replicated = append(h.replicated, j.ranks[i].degree > 1)
	}
	return h
}

// enter returns the clock domain with this id for one more context.
func (h *history) enter(id uint64) *domain {
	l := h.findDomain(id)
	if l == nil { // the domain was closed: this happens only in a program that uses a freed communicator
		l = &domain{id: id, closed: true}
	}
	l.users++
	return l
}

// leave removes a context from its clock domain, and closes the domain after its last
// context.
func (h *history) leave(l *domain) {
	if l == nil {
		return
	}
	if l.users--; l.users > 0 {
		return
	}
	if h.reference != nil {
		h.reference.Close(l.id)
	}
	h.domainOf[l.id] = nil
	h.changes++
	for i, o := range h.domains {
		if o == l {
			h.domains = append(h.domains[:i], h.domains[i+1:]...)
			return
		}
	}
}

// findDomain returns the clock domain with this id, and creates it if it is new. It returns
// nil if the domain was closed.
func (h *history) findDomain(id uint64) *domain {
	l, known := h.lookUp(id)
	if !known {
		l = &domain{id: id}
		h.domainOf[id] = l
		h.domains = append(h.domains, l)
	}
	return l
}

// lookUp returns the clock domain with this id, nil if it was closed, and whether it has
// ever existed. Most programs have only one.
func (h *history) lookUp(id uint64) (l *domain, known bool) {
	if len(h.domains) > 0 && h.domains[0].id == id {
		return h.domains[0], true
	}
	l, known = h.domainOf[id]
	return l, known
}

// operate counts an operation that the program begins in a clock domain. The operation may
// begin an epoch.
func (h *history) operate(l *domain, epoch bool) {
	if len(h.ahead) > 0 {
		h.absorbDeliverable()
	}
	if epoch {
		l.own = clock{epoch: l.own.epoch + 1}
	} else {
		l.own.count++
	}
	h.changed(l)
	if h.reference != nil {
		h.reference.Operate(l.id)
	}
}

// causalPast returns the causal history of the last operation that was begun in a clock
// domain. A message in history.ahead belongs to this history only if, of this rank's operations in
// the domain, it depends only on earlier ones. The result leaves out the clocks that the start of
// the epoch base implies.
func (h *history) causalPast(of *domain, base uint64) *past {
	if !h.on {
		return nil
	}
	p := h.newPast(of.id, max(base, of.known.base))
	list := p.list
	if of.closed {
		p.base = 0
	} else {
		own := h.mine(of, p.base)
		if own.near(p.base) {
			p.own.rank, p.own.clock, own.clock = own.rank, own.clock, clock{}
		}
		if len(of.known.above) > 0 || own.clock != (clock{}) {
			list = appendKnown(list, of, p.base, own)
		}
	}
	p.list = append(list, h.restOf(of)...)
	p.made = h.changes
	if h.reference != nil {
		p.reference = h.reference.Past()
	}
	for _, seen := range h.ahead {
		needs := seen.of(h.rank, of.id)
		earlier := needs.less(of.own)
		if h.reference != nil {
			h.reference.Earlier(seen.reference, of.id, earlier)
		}
		if earlier {
			h.merge(p, seen)
		}
	}
	if p.empty() {
		h.drop(p)
		return nil
	}
	return p
}

// mine returns the entry of this rank in a clock domain. Its clock is 0 if base implies it.
// It is also 0 if the rank has a single replica, because then no other replica can lag
// behind.
func (h *history) mine(l *domain, base uint64) entry {
	e := entry{rank: h.rank}
	if k := (knowledge{base: base}); h.replicated[h.rank] && k.exceeded(l.own) {
		e.clock = l.own
	}
	return e
}

// appendKnown encodes the entries of a clock domain. It adds own unless its clock is 0.
func appendKnown(b []byte, l *domain, base uint64, own entry) []byte {
	k := knowledge{base: base}
	add := own.clock != clock{}
	before := -1
	for _, e := range l.known.above {
		if add && own.rank < e.rank {
			b, before, add = appendEntry(b, base, before, own), own.rank, false
		}
		if k.exceeded(e.clock) {
			b, before = appendEntry(b, base, before, e), e.rank
		}
	}
	if add {
		b = appendEntry(b, base, before, own)
	}
	return b
}

// merge adds p to the causal history of a message that this rank is going to send.
func (h *history) merge(into, p *past) {
	if !h.implied(into, p) {
		d := make(decoded, 0, 4)
		d.add(into)
		d.add(p)
		d.encode(into, h.rank)
	}
	if h.reference != nil {
		into.reference = h.reference.Merge(into.reference, p.reference)
	}
}

// deliverable reports whether a message with this causal history is deliverable: it depends on no
// operation that this replica has yet to begin.
func (h *history) deliverable(p *past) bool {
	if p == nil {
		return true
	}
	deliverable := h.begun(p)
	if h.reference != nil {
		h.reference.Deliverable(p.reference, deliverable)
	}
	return deliverable
}

// begun reports whether this replica has begun all of its rank's operations that a causal
// history contains.
func (h *history) begun(p *past) bool {
	if !p.scanned {
		h.scan(p)
	}
	if !h.hasBegun(p.domain, p.needs) {
		return false
	}
	if !p.more || p.rest.begun(h.age) {
		return true
	}
	for id, r := range p.domains() {
		needs := clock{epoch: r.base}
		for e, ok := r.next(); ok; e, ok = r.next() {
			if e.rank == h.rank {
				needs = e.clock
			}
		}
		if !h.hasBegun(id, needs) {
			return false
		}
	}
	p.rest.setBegun(h.age)
	return true
}

// hasBegun reports whether this replica has reached a clock in a domain. In a closed domain
// it has reached every clock.
func (h *history) hasBegun(domain uint64, needs clock) bool {
	if needs == (clock{}) {
		return true
	}
	l, known := h.lookUp(domain)
	return known && (l == nil || !l.own.less(needs))
}

// absorb adds the causal history of a message that the program has seen to that of this
// process.
func (h *history) absorb(p *past) {
	if p == nil {
		return
	}
	if h.reference != nil {
		h.reference.Absorb(p.reference)
	}
	if l := h.findDomain(p.domain); l != nil {
		changed := l.known.raise(p.base)
		if p.hasOwn() && p.own.rank != h.rank {
			changed = l.known.learn(p.own) || changed
		}
		if changed {
			h.changed(l)
		}
	}
	if len(p.list) == 0 {
		return
	}
	known, first := p.rest.absorbed(h.age), true
	for id, r := range p.domains() {
		if known && !first {
			return
		}
		first = false
		l := h.findDomain(id)
		if l == nil {
			continue
		}
		changed := l.known.raise(r.base)
		i := 0
		for e, ok := r.next(); ok; e, ok = r.next() {
			if e.rank != h.rank {
				changed = l.known.join(&i, e) || changed
			}
		}
		if changed {
			h.changed(l)
		}
	}
	p.rest.setAbsorbed(h.age, h.changes)
}

// read decodes the causal history of a message from a process of a rank. It gets the base,
// the word in the header and the list. The result belongs to h until the next message
// arrives; take makes it last longer. read returns nil if the history is malformed.
func (h *history) read(p, rank int, base, word uint64, list []byte) *past {
	of := h.incoming
	if of == nil {
		of = h.roomForPast()
		h.incoming = of
	}
	of.domain, of.reference = 0, 0
	if h.reference != nil && len(list) >= 8 {
		cut := len(list) - 8
		list, of.reference = list[:cut], binary.LittleEndian.Uint64(list[cut:])
	}
	of.base = base
	of.list = append(of.list[:0], list...)
	of.setOwn(rank, word)
	if !h.scanFrom(p, of) {
		return nil
	}
	return of
}

// learn adds the history of a message that the program sees to that of this process, or to
// ahead if the message is not deliverable yet.
func (h *history) learn(of *past) {
	if h.deliverable(of) {
		h.absorb(of)
		return
	}
	h.ahead = append(h.ahead, h.take(of))
}

// absorbDeliverable absorbs the histories in ahead that have become deliverable. It must be called
// before an operation is counted: a message may depend on that operation, but the operation
// does not depend on the message.
func (h *history) absorbDeliverable() {
	h.ahead = slices.DeleteFunc(h.ahead, func(of *past) bool {
		if !h.deliverable(of) {
			return false
		}
		h.absorb(of)
		h.drop(of)
		return true
	})
}

// joined merges of into the causal history of a message that this rank is going to send.
// into may be nil.
func (h *history) joined(into, of *past) *past {
	if into == nil {
		into = h.newPast(of.domain, of.base)
	}
	h.merge(into, of)
	return into
}

// reset restarts the count of operations, because every replica has begun all operations
// before the cut.
func (h *history) reset() {
	h.domains = slices.DeleteFunc(h.domains, func(l *domain) bool {
		l.own, l.known = clock{}, knowledge{}
		return l.users == 0
	})
	clear(h.domainOf)
	h.age++
	h.changes++
	h.ahead = nil
	if h.reference != nil {
		h.reference.Reset()
	}
	for _, l := range h.domains {
		h.domainOf[l.id] = l
	}
}
