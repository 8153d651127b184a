package sdr

import (
	"encoding/binary"
	"iter"
	"slices"
)

// past is the encoded causal history of a message. base is the base of the clock domain to
// which the message's context belongs. The header has room for base, and for the entry of
// the rank that sends the message. Most messages of small jobs depend on nothing else.
//
// The list has the other entries of that domain. Then, each after a zero byte, it has the other
// domains in which any clock is known, with id, base and entries. An entry consists of the
// distance from the rank before it, and of the count. The two lowest bits of the count hold the
// epoch minus the base, at most 3. If they hold 3, the rest of that difference follows.
// Most entries take three bytes.
//
// A nil past belongs to a message that depends on nothing.
type past struct {
	domain    uint64 // id of the domain; not sent, since the receiver knows the domain of the context
	base      uint64
	own       entry // clock in domain of the rank that sends the past, if it fits the header; otherwise its clock is 0
	list      []byte
	reference uint64 // see Reference

	scanned bool  // the fields below are valid
	more    bool  // the list has other domains
	needs   clock // last operation of this rank in domain that the past contains
	rest    *rest // the other domains; nil: they are few
	// made is the value of history.changes when this process made the past of its whole causal
	// history. 0: it did not.
	made uint64
}

// in returns p as the causal history of a message in a context of domain l.
func (p *past) in(l *domain) *past {
	if p != nil && l != nil {
		p.domain = l.id
	}
	return p
}

// newPast returns an empty past with this domain and base.
func (h *history) newPast(domain, base uint64) *past {
	p := h.roomForPast()
	p.domain, p.base, p.own, p.reference, p.scanned = domain, base, entry{}, 0, false
	p.rest, p.made = nil, 0
	return p
}

// roomForPast returns a past with an empty list. The caller has to set the other fields.
func (h *history) roomForPast() *past {
	n := len(h.pasts)
	if n == 0 {
		return new(past)
	}
	p := h.pasts[n-1]
	h.pasts = h.pasts[:n-1]
	p.list = p.list[:0]
	return p
}

// drop makes a past that was cloned or made available for reuse.
func (h *history) drop(p *past) {
	if p != nil && len(h.pasts) < 256 && cap(p.list) < 1<<16 {
		h.pasts = append(h.pasts, p)
	}
}

// clone returns p with a list of its own.
func (p *past) clone(h *history) *past {
	if p == nil {
		return nil
	}
	q := h.roomForPast()
	q.list = append(q.list, p.list...)
	// It is faster here to copy the fields one by one than to copy the struct.
	q.domain, q.base, q.reference = p.domain, p.base, p.reference
	q.own.rank, q.own.epoch, q.own.count = p.own.rank, p.own.epoch, p.own.count
	q.scanned, q.more = p.scanned, p.more
	q.needs.epoch, q.needs.count = p.needs.epoch, p.needs.count
	q.rest, q.made = p.rest, p.made
	return q
}

// empty reports whether p depends on nothing.
func (p *past) empty() bool {
	return p.base == 0 && !p.hasOwn() && len(p.list) == 0 && p.reference == 0
}

// hasOwn reports whether p has a separate entry of the rank that sends it.
func (p *past) hasOwn() bool { return p.own.epoch|p.own.count != 0 }

// take returns a past with the contents of p that stays valid. If p is the past of the
// current frame, take hands it over; otherwise it clones p.
func (h *history) take(p *past) *past {
	if p == nil || p != h.incoming {
		return p.clone(h)
	}
	h.incoming = nil
	return p
}

const (
	domainBytes = 1 + 8     // zero byte and id
	maxClock    = 1 << 60   // no clock in a real job gets there
	farEpoch    = uint64(3) // smallest distance from the base that does not fit into the count

	// The lower listBits bits of Args[4] are the length of the list; the upper ones hold
	// the own entry.
	listBits = 32
	maxList  = 1<<listBits - 1
	farCount = 1 << (64 - listBits - 2) // smallest count that does not fit into a header
)

// near reports whether the header has room for a clock that is not below the base.
func (a clock) near(base uint64) bool { return a.epoch-base <= 3 && a.count < farCount }

// word returns Args[4] of a header for p, with a list of this length.
func (p *past) word(list int) uint64 {
	w := uint64(list)
	if p.hasOwn() {
		w |= (p.own.count<<2 | (p.own.epoch - p.base)) << listBits
	}
	return w
}

// setOwn decodes the own entry of a rank from Args[4]. p.base must be set.
func (p *past) setOwn(rank int, word uint64) {
	if p.own = (entry{}); word > maxList {
		word >>= listBits
		p.own = entry{rank, clock{p.base + word&3, word >> 2}}
	}
}

func appendEntry(b []byte, base uint64, before int, e entry) []byte {
	b = binary.AppendUvarint(b, uint64(e.rank-before))
	far := e.epoch - base
	b = binary.AppendUvarint(b, e.count<<2|min(far, farEpoch))
	if far >= farEpoch {
		b = binary.AppendUvarint(b, far-farEpoch)
	}
	return b
}

// appendDomain begins another clock domain in a list.
func appendDomain(b []byte, id, base uint64) []byte {
	return binary.AppendUvarint(binary.LittleEndian.AppendUint64(append(b, 0), id), base)
}

// pastReader reads the clock domains of a past one after another.
type pastReader struct {
	b    []byte
	base uint64
	rank int
	bad  bool // the list is malformed
}

func (r *pastReader) uint() uint64 {
	if len(r.b) > 0 && r.b[0] < 0x80 {
		v := r.b[0]
		r.b = r.b[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.b)
	if n <= 0 || v >= maxClock<<2 {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[n:]
	return v
}

// next returns the next entry of the domain, or false if there is none.
func (r *pastReader) next() (entry, bool) {
	if len(r.b) == 0 || r.b[0] == 0 {
		return entry{}, false
	}
	r.rank += int(r.uint())
	v := r.uint()
	far := v & farEpoch
	if far == farEpoch {
		far += r.uint()
	}
	return entry{r.rank, clock{r.base + far, v >> 2}}, !r.bad
}

// begin moves to the next domain and returns its id, or false if there is none.
func (r *pastReader) begin() (uint64, bool) {
	for more := true; more; {
		_, more = r.next()
	}
	if len(r.b) == 0 {
		return 0, false
	}
	if len(r.b) < domainBytes {
		r.b, r.bad = nil, true
		return 0, false
	}
	id := binary.LittleEndian.Uint64(r.b[1:])
	r.b = r.b[domainBytes:]
	r.base, r.rank = r.uint(), -1
	return id, !r.bad
}

// domains yields the clock domains in p, beginning with that of the context.
func (p *past) domains() iter.Seq2[uint64, *pastReader] {
	return func(yield func(uint64, *pastReader) bool) {
		r := pastReader{b: p.list, base: p.base, rank: -1}
		for id, more := p.domain, true; more && yield(id, &r); {
			id, more = r.begin()
		}
	}
}

// scan finds the entries of p about this rank, and reports whether p is well-formed for a
// job with these ranks.
func (h *history) scan(p *past) bool {
	p.scanned, p.more, p.needs = true, false, clock{epoch: p.base}
	if p.base >= maxClock {
		return false
	}
	if p.hasOwn() {
		if !h.mayBe(p.own, p.base) {
			return false
		}
		if p.own.rank == h.rank {
			p.needs = p.own.clock
		}
	}
	if len(p.list) == 0 {
		return true
	}
	r := pastReader{b: p.list, base: p.base, rank: -1}
	for more := true; more; _, more = r.begin() {
		for e, ok := r.next(); ok; e, ok = r.next() {
			if !h.mayBe(e, r.base) {
				return false
			}
			switch {
			case p.more:
			case p.hasOwn() && e.rank == p.own.rank:
				return false
			case e.rank == h.rank:
				p.needs = e.clock
			}
		}
		if r.base >= maxClock {
			return false
		}
		p.more = p.more || len(r.b) > 0
	}
	return !r.bad
}

// mayBe reports whether an entry of a domain with this base can occur in this job.
func (h *history) mayBe(e entry, base uint64) bool {
	return e.rank >= 0 && e.rank < len(h.replicated) && h.replicated[e.rank] && e.epoch < maxClock && (e.count > 0 || e.epoch > base)
}

// of returns the clock of a rank in a domain, as contained in p.
func (p *past) of(rank int, domain uint64) clock {
	var at clock
	if p.own.rank == rank && p.domain == domain {
		at = p.own.clock
	}
	for id, r := range p.domains() {
		if id != domain {
			continue
		}
		if base := (clock{epoch: r.base}); at.less(base) {
			at = base
		}
		for e, ok := r.next(); ok; e, ok = r.next() {
			if e.rank == rank && at.less(e.clock) {
				at = e.clock
			}
		}
	}
	return at
}

// decoded is a past in a form to which other pasts can be added.
type decoded []decodedDomain

type decodedDomain struct {
	id uint64
	knowledge
}

// add adds a past.
func (d *decoded) add(p *past) {
	for id, r := range p.domains() {
		at := slices.IndexFunc(*d, func(t decodedDomain) bool { return t.id == id })
		if at < 0 {
			at = len(*d)
			*d = append(*d, decodedDomain{id: id})
		}
		(*d)[at].read(r)
	}
	if p.hasOwn() {
		at := slices.IndexFunc(*d, func(t decodedDomain) bool { return t.id == p.domain })
		(*d)[at].learn(p.own)
	}
}

// read adds the entries of one domain of a past.
func (k *knowledge) read(r *pastReader) {
	k.raise(r.base)
	i := 0
	for e, ok := r.next(); ok; e, ok = r.next() {
		k.join(&i, e)
	}
}

// encode writes d into p, which this rank sends. The first domain is that of the context.
func (d decoded) encode(p *past, rank int) {
	p.domain, p.base, p.own, p.scanned, p.rest, p.made = d[0].id, d[0].base, entry{}, false, nil, 0
	list := p.list[:0]
	for i, t := range d {
		if i > 0 && t.base == 0 && len(t.above) == 0 {
			continue
		}
		if i > 0 {
			list = appendDomain(list, t.id, t.base)
		}
		before := -1
		for _, e := range t.above {
			if i == 0 && e.rank == rank && e.near(t.base) {
				p.own = e
				continue
			}
			list, before = appendEntry(list, t.base, before, e), e.rank
		}
	}
	p.list = list
}
