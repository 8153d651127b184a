package sdr

import "bytes"

// A program may have many clock domains, one for each communicator that it has made by Dup
// and not freed. A message carries the clocks of all of them. Most domains are idle: one
// message after another repeats the same bytes about them. So a process caches the last
// encoding that it has written, and the last one from each process, together with their
// effect on its own clocks. It decodes the same bytes only once.

// longRest is the minimum size of a list that is cached.
const longRest = 128

// rest is the part of the causal histories from one process that concerns domains other
// than that of the message.
type rest struct {
	list []byte // never modified: several pasts share it
	// begunIn and absorbedIn are ages, counted from 1: those in which this process had
	// begun all operations in list, and in which it absorbed list. absorbedAt is the value
	// of history.changes after that.
	begunIn, absorbedIn, absorbedAt uint64
}

func (r *rest) begun(age uint64) bool    { return r != nil && r.begunIn == age+1 }
func (r *rest) absorbed(age uint64) bool { return r != nil && r.absorbedIn == age+1 }

func (r *rest) setBegun(age uint64) {
	if r != nil {
		r.begunIn = age + 1
	}
}

func (r *rest) setAbsorbed(age, changes uint64) {
	if r != nil && !r.absorbed(age) {
		r.absorbedIn, r.absorbedAt = age+1, changes
	}
}

// scanFrom is scan for a past from process p. It uses the cached rest.
func (h *history) scanFrom(p int, of *past) bool {
	of.rest, of.made = nil, 0
	if len(of.list) < longRest {
		return h.scan(of)
	}
	r := pastReader{b: of.list, base: of.base, rank: -1}
	for _, more := r.next(); more; _, more = r.next() {
	}
	if len(r.b) < longRest {
		return h.scan(of)
	}
	whole := of.list
	if last := h.rests[p]; last != nil && bytes.Equal(last.list, r.b) {
		of.list = whole[:len(whole)-len(r.b)]
		fine := h.scan(of)
		of.list, of.more, of.rest = whole, true, last
		return fine
	}
	if !h.scan(of) {
		return false
	}
	of.rest = &rest{list: bytes.Clone(r.b)}
	h.rests[p] = of.rest
	return true
}

// others is the last encoding of all clock domains except one.
type others struct {
	than *domain // the domain that is left out
	at   uint64  // number of changes in the other domains
	list []byte
}

// changed records that the known clocks of a domain have changed.
func (h *history) changed(l *domain) {
	l.changes++
	h.changes++
}

// restOf encodes the known clocks of all domains except of. The result is valid until the
// next call.
func (h *history) restOf(of *domain) []byte {
	o := &h.others
	if at := h.changes - of.changes; o.than != of || o.at != at || at == 0 {
		o.than, o.at, o.list = of, at, o.list[:0]
		for _, l := range h.domains {
			if l != of && (l.own != clock{} || l.known.base > 0 || len(l.known.above) > 0) {
				o.list = appendDomain(o.list, l.id, l.known.base)
				o.list = appendKnown(o.list, l, l.known.base, h.mine(l, l.known.base))
			}
		}
	}
	return o.list
}

// implied reports whether by, which this process sends, contains all of p.
func (h *history) implied(by, p *past) bool {
	if p.domain != by.domain || p.base > by.base || p.hasOwn() {
		return false
	}
	if len(p.list) == 0 {
		return true
	}
	// by was made after p.rest had been absorbed, so it contains p.rest.
	return p.list[0] == 0 && p.rest.absorbed(h.age) && by.made >= p.rest.absorbedAt && by.made > 0
}
