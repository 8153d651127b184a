package sdr

import (
	"maps"
	"slices"

	"github.com/intrahpc/intra/transport"
)

// A process may run past the place of a cut and die before it reports that. The messages
// that it sent beyond that place carry a causal history that counts operations since an
// earlier cut. This means nothing to processes that pass this cut. So at the cut the
// receivers discard those messages, as if they had never arrived, and the live replicas of
// the sender discard the acknowledgements for them, and send them again.

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

// takeBack discards the messages beyond the cut whose senders had not passed it, and
// matches the others beyond it again.
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

// forget discards the acknowledgements for messages beyond the cut that is being passed,
// except those of replicas that have passed it.
func (s *outStream) forget() {
	for d := range s.acked {
		s.acked[d], s.later[d] = s.later[d], numbers{}
		s.acked[d].merge(s.next, 0, nil)
	}
}

// confirm records that a process which has passed a later cut has sent a message again.
// From then on the message counts as sent after that cut, and has the causal history of the
// new copy.
func (in *incoming) confirm(s *inStream, h *transport.Header, of *past) {
	if h.Args[5] <= in.out.passed {
		return // the sender has passed no later cut than this process
	}
	m := s.held(h.Args[1])
	if m == nil || m.cut >= h.Args[5] {
		return
	}
	m.cut = h.Args[5]
	in.history.drop(m.past)
	m.past = in.history.take(of)
}

// settle ends the cut for the messages from one rank. Messages that were sent after the cut
// may have arrived already, from faster processes. A replica of their rank that has just
// joined may wait for their acknowledgement.
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
