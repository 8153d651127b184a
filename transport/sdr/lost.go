package sdr

import (
	"cmp"
	"slices"
)

// lose handles the messages of one stream whose payload process p offered, or had sent in
// part [lines 34 and 35]. If another replica offers such a message, lose requests it there.
//
// Otherwise a receive from any source must not wait for the message, because the substitute
// may send it only after it has received one of ours. So the receive returns to its old
// place in posting order. The message and its successors are matched when the message
// arrives again.
//
// The receive stays bound in two cases: if the program has seen the message through a
// probe, or if a later message of the same source has been matched, which this message
// would then overtake.
func (in *incoming) lose(s *inStream, p int) {
	if s.asked == p+1 {
		s.asked = 0 // another process is asked
	}
	replica := in.job.processes[p].replica
	var lost []*arrival
	for _, m := range s.live {
		if m.whole || m.offers>>replica&1 == 0 {
			continue
		}
		lost = append(lost, m)
	}
	slices.SortFunc(lost, func(a, b *arrival) int { return cmp.Compare(b.number, a.number) })
	rewind := s.due
	var repost []*Request
	for _, m := range lost {
		m.offers &^= 1 << replica
		if m.awaited == p+1 {
			in.requests.unawait(m)
		}
		if m.granted == replica {
			in.torn(m)
			if m.whole || m.stream == nil || s.received.has(m.number) {
				continue
			}
			m.granted = -1
		}
		switch {
		case m.offers != 0:
			if in.requests.wants(m) {
				in.requests.ask(m)
			}
		case s.ctx.exact || m.number < s.shown || m.number >= s.due:
			// The message keeps its state: it is matched by its number, was seen by a
			// probe, or is not matched yet.
		case m.req != nil:
			if m.req.source != Any || s.later(m.number) {
				continue
			}
			repost = append(repost, m.req)
			m.req.bound, m.req.back = nil, true
			m.req = nil
			rewind = m.number
			delete(s.live, m.number)
			in.matching.release(m)
		default:
			rewind = m.number
			delete(s.live, m.number)
			m.place.leave()
			in.matching.release(m)
		}
	}
	in.rewind(s, rewind)
	slices.SortFunc(repost, func(a, b *Request) int { return cmp.Compare(a.order, b.order) })
	for _, req := range repost {
		in.matching.postRecv(req)
	}
}

// passed reports whether a receive that has returned to its old place must not match a
// message of this stream. This is so if a receive that was posted after r has meanwhile matched an
// earlier message that r would have accepted.
func (s *inStream) passed(r *Request) bool {
	if !r.back {
		return false
	}
	for tag, order := range s.newest {
		if order > r.order && (r.tag == Any || r.tag == tag) {
			return true
		}
	}
	for _, m := range s.live {
		if m.req != nil && m.req.order > r.order && r.accepts(m.number, m.tag) {
			return true
		}
	}
	return false
}

// later reports whether a message after number has been matched.
func (s *inStream) later(number uint64) bool {
	if s.taken > number+1 {
		return true
	}
	for n, m := range s.live {
		if n > number && m.req != nil {
			return true
		}
	}
	return false
}

// rewind makes number the next message to be matched. It holds back the unmatched messages
// after it.
func (in *incoming) rewind(s *inStream, number uint64) {
	if number == s.due {
		return
	}
	s.due = number
	for m := range s.unexpected.messages() {
		if m.number > number {
			m.place.leave()
			s.live[m.number] = m
		}
	}
}
