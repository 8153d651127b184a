package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A process may run past the place of a cut and die before it reports that. The messages
// that it sent after that place carry a causal history that counts operations since an
// earlier cut. Such a history has no meaning for processes that pass this cut. So at the
// cut the receivers discard those messages, as if they had never arrived. The live replicas
// of the sender discard the acknowledgements for them, and send them again.

// held returns the message with this number if it has not completed a receive yet, or nil.
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

// takeBack discards the messages beyond the cut whose senders had not passed it. It matches
// the other messages beyond the cut again.
func (in *incoming) takeBack(s *inStream, cut uint64) {
	for m := range s.unexpected.messages() {
		if m.number >= s.before && (!s.ctx.exact || m.cut < cut) {
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
		if m.cut < cut {
			delete(s.live, n)
			in.matching.release(m)
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
	in.matching.advance(s)
}

// forget discards the acknowledgements for messages beyond the cut that is being passed. It
// keeps those of replicas that have passed the cut.
func (s *outStream) forget() {
	for d := range s.acked {
		s.acked[d], s.later[d] = s.later[d], numbers{}
		s.acked[d].merge(s.next, 0, nil)
	}
}

// confirm records that a process that has passed a later cut has sent a message again. From
// then on the message counts as sent after that cut, with the causal history of the new
// copy.
func (in *incoming) confirm(s *inStream, h *transport.Header, of *past) {
	if h.Args[5] <= in.out.passed {
		return // the sender and this process have passed the same cut
	}
	m := s.held(h.Args[1])
	if m == nil || m.cut >= h.Args[5] {
		return
	}
	m.cut = h.Args[5]
	in.history.drop(m.past)
	m.past = in.history.take(of)
}

// settle ends the cut for the messages from one rank. Faster processes may have sent
// messages from beyond the cut already. A replica of their rank that has just joined may
// wait for the acknowledgements of these messages.
func (in *incoming) settle(s *inStream) {
	s.unacked, s.unackedB = 0, 0
	if s.received.low > s.before || len(s.received.words) > 0 {
		s.unacked = 1
	}
	for m := range s.unexpected.messages() {
		if m.number >= s.before {
			continue
		}
		in.history.drop(m.past)
		m.past = nil
		in.matching.readmit(m)
	}
}
