package sdr

import "iter"

// line holds either posted receives or messages that no receive has matched. The receives
// are those for one source, or those for any source; the messages are those of one source.
// They are in the order in which they match: receives as they were posted, messages as they
// were sent.
//
// A search begins at the front, where most programs find a match. In a program that
// receives in another order than it sends, each search would pass all earlier entries. So a
// long search builds an index of the line, which the line keeps until it is empty. With the
// index, the time of search and removal does not depend on the length of the line.
type line struct {
	first, last *place
	index       map[uint64]lane // by key; nil: there is none
}

// lane is the part of a line whose entries have the same key.
type lane struct{ first, last *place }

// place is the position of a receive or a message in a line, with the key that it matches by.
type place struct {
	key          uint64 // number in exact contexts, tag in others, or anyKey
	line         *line  // nil: the place is in no line
	next, prev   *place
	later, early *place   // neighbours in the lane, if the line has an index
	receive      *Request // nil: the place is that of a message
	message      *arrival // nil: the place is that of a receive
}

const (
	// anyKey is the key of a receive that accepts any tag.
	anyKey = ^uint64(0)
	// longSearch is the number of places that a search inspects before it builds an index.
	longSearch = 16
)

// push puts p at the end.
func (l *line) push(p *place) { l.insert(l.last, p) }

// insert puts p after the place behind, or at the front if behind is nil.
func (l *line) insert(behind, p *place) {
	p.line, p.prev = l, behind
	if behind == nil {
		p.next, l.first = l.first, p
	} else {
		p.next, behind.next = behind.next, p
	}
	switch {
	case p.next != nil:
		p.next.prev = p
		l.dropIndex() // a later search builds the index again
	case l.index != nil:
		l.last = p
		l.enter(p)
	default:
		l.last = p
	}
}

// leave removes p from its line.
func (p *place) leave() {
	l := p.line
	if p.prev == nil {
		l.first = p.next
	} else {
		p.prev.next = p.next
	}
	if p.next == nil {
		l.last = p.prev
	} else {
		p.next.prev = p.prev
	}
	if l.index != nil {
		l.forget(p)
	}
	p.line, p.next, p.prev = nil, nil, nil
}

// find returns the first place that has this key, or anyKey. It returns nil if there is
// none. If key is anyKey, find returns the first place of the line.
func (l *line) find(key uint64) *place {
	if key == anyKey {
		return l.first
	}
	if l.index == nil {
		p := l.first
		for looked := 0; p != nil; looked++ {
			if looked == longSearch {
				l.makeIndex()
				return l.look(key)
			}
			if p.matches(key) {
				return p
			}
			p = p.next
		}
		return nil
	}
	return l.look(key)
}

// look implements find with the index. Only receives have anyKey, and the order of the
// places decides between a receive with the key and one with anyKey.
func (l *line) look(key uint64) *place {
	one, other := l.index[key].first, l.index[anyKey].first
	if one == nil || other != nil && other.receive.order < one.receive.order {
		return other
	}
	return one
}

// after returns the first place after p that matches a key.
func (p *place) after(key uint64) *place {
	for p = p.next; p != nil && !p.matches(key); p = p.next {
	}
	return p
}

func (p *place) matches(key uint64) bool { return p.key == key || p.key == anyKey }

func (l *line) makeIndex() {
	l.index = make(map[uint64]lane)
	for p := l.first; p != nil; p = p.next {
		l.enter(p)
	}
}

// dropIndex removes the index of a line that is not empty.
func (l *line) dropIndex() {
	if l.index == nil {
		return
	}
	l.index = nil
	for p := l.first; p != nil; p = p.next {
		p.early, p.later = nil, nil
	}
}

// enter adds p, the last place of the line, to the index.
func (l *line) enter(p *place) {
	at := l.index[p.key]
	if p.early, p.later = at.last, nil; at.last == nil {
		at.first = p
	} else {
		at.last.later = p
	}
	at.last = p
	l.index[p.key] = at
}

// forget removes p from the index, and the index with the last place.
func (l *line) forget(p *place) {
	if l.first == nil {
		l.index = nil
		return
	}
	at := l.index[p.key]
	if p.early == nil {
		at.first = p.later
	} else {
		p.early.later = p.later
	}
	if p.later == nil {
		at.last = p.early
	} else {
		p.later.early = p.early
	}
	p.early, p.later = nil, nil
	if at.first == nil {
		delete(l.index, p.key)
	} else {
		l.index[p.key] = at
	}
}

// all yields the places in order. The loop body may remove the yielded place.
func (l *line) all() iter.Seq[*place] {
	return func(yield func(*place) bool) {
		for p := l.first; p != nil; {
			next := p.next
			if !yield(p) {
				return
			}
			p = next
		}
	}
}

// receives yields the receives of the line in order.
func (l *line) receives() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for p := range l.all() {
			if !yield(p.receive) {
				return
			}
		}
	}
}

// messages yields the messages of the line in order.
func (l *line) messages() iter.Seq[*arrival] {
	return func(yield func(*arrival) bool) {
		for p := range l.all() {
			if !yield(p.message) {
				return
			}
		}
	}
}
