package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A process may be ahead of the place of a cut, and die before it has said so.
// What it has sent behind that place counts operations from another cut than
// everybody does who passes this one, so its causal past says nothing. When
// the cut is passed, those messages are taken back, as if they had never come:
// the replicas that live will send them, and forget whatever they have heard of
// them.

// confirm notes that a message is sent once more, by a process that has passed
// a later cut than the one that it came from first.
func (c *Core) confirm(s *inStream, h *transport.Header, of *past) {
	if h.Args[5] <= c.passed {
		return // what is here was sent behind the cuts that this process has passed, or says nothing
	}
	m := s.held(h.Args[1])
	if m == nil || m.cut >= h.Args[5] {
		return
	}
	m.cut = h.Args[5]
	c.drop(m.past)
	m.past = c.take(of)
}

// held finds a message that no receive has taken.
func (s *inStream) held(number uint64) *arrival {
	if m := s.live[number]; m != nil {
		return m
	}
	for m := range s.unexpected.messages() {
		if m.number == number {
			return m
		}
	}
	return nil
}

// takeBack takes back what was sent behind the cut by processes that have not
// passed it, and matches the other messages behind it anew.
func (c *Core) takeBack(s *inStream) {
	for m := range s.unexpected.messages() {
		if m.number >= s.before && (!s.ctx.exact || m.cut < c.cut.number) {
			m.place.leave()
			s.live[m.number] = m
		}
	}
	behind := slices.Sorted(maps.Keys(s.live))
	s.received = numbers{low: s.before}
	for _, n := range behind {
		m := s.live[n]
		if n < s.before {
			continue
		}
		if m.cut < c.cut.number {
			delete(s.live, n)
			c.release(m)
		} else if m.whole {
			s.received.add(n)
		}
	}
	if s.ctx.exact {
		for m := range s.unexpected.messages() {
			if m.whole && m.number >= s.before {
				s.received.add(m.number)
			}
		}
		return
	}
	s.due, s.shown = s.before, min(s.shown, s.before)
	c.advance(s)
}

// forget forgets what replicas have said of messages behind the cut that is
// being passed, unless they have passed it.
func (s *outStream) forget() {
	for d := range s.acked {
		s.acked[d], s.later[d] = s.later[d], numbers{}
		s.acked[d].merge(s.next, 0, nil)
	}
}
