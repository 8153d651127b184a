package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// passage identifies a message, or an update, from one process to another. After a
// rollback another message may have the same identity.
type passage struct {
	kind            Kind // Message or Sent
	from, to        int32
	context, number uint64
	task            int64
}

// end is the beginning or the end of an arrow.
type end struct {
	at    int64 // time by that clock
	clock string
	id    int // number of the arrow, from 1; 0: it has none
}

// arrows joins send events to receive events.
type arrows struct {
	begin, end map[passage][]end
}

func newArrows() *arrows { return &arrows{make(map[passage][]end), make(map[passage][]end)} }

// add adds an event that process number of has recorded about process number peer.
func (a *arrows) add(of int32, peer int32, clock string, e *Event) {
	p, begins := passageOf(of, peer, e)
	into := a.end
	if begins {
		into = a.begin
	}
	into[p] = append(into[p], end{at: e.At, clock: clock})
}

// passageOf returns the passage of an event of a process, and whether the event is its
// beginning.
func passageOf(of, peer int32, e *Event) (p passage, begins bool) {
	p = passage{kind: e.Kind, from: of, to: peer, context: e.Context, number: e.Number}
	switch e.Kind {
	case Received:
		p.kind, p.from, p.to = Sent, peer, of
	case Match:
		p.kind, p.from, p.to = Message, peer, of
	}
	if p.kind == Sent {
		p.task = e.Tag
	}
	return p, e.Kind == Sent || e.Kind == Message
}

// join numbers the ends of each arrow. It joins each receive event to the last send event
// before it on the common axis.
func (a *arrows) join(offset map[string]int64) {
	id := 0
	for p, ends := range a.end {
		begins := a.begin[p]
		for i := range ends {
			at := ends[i].at + offset[ends[i].clock]
			var best *end
			for k := range begins {
				b := &begins[k]
				if b.id == 0 && (best == nil || near(b.at+offset[b.clock], best.at+offset[best.clock], at)) {
					best = b
				}
			}
			if best != nil {
				id++
				best.id, ends[i].id = id, id
			}
		}
	}
}

// near reports whether a beginning at b fits an end better than a beginning at other. The
// latest beginning before the end fits best. A beginning after the end is the last choice.
func near(b, other, end int64) bool {
	if (b > end) != (other > end) {
		return b <= end
	}
	if b > end {
		return b < other
	}
	return b > other
}

// of returns the number of the arrow that begins or ends at an event, 0 if there is none.
func (a *arrows) of(p passage, begins bool, at int64) int {
	from := a.end
	if begins {
		from = a.begin
	}
	for _, e := range from[p] {
		if e.at == at {
			return e.id
		}
	}
	return 0
}

// clockPair is a pair of clocks with a message or update from a process of one to a
// process of the other.
type clockPair struct{ from, to string }

// fastest returns, for each pair of clocks, the shortest time from sending on the
// first to receiving on the second, computed from the times of both clocks.
func (a *arrows) fastest() map[clockPair]int64 {
	took := make(map[clockPair]int64)
	for p, ends := range a.end {
		begins := a.begin[p]
		if len(begins) != 1 || len(ends) != 1 || begins[0].clock == ends[0].clock {
			continue // ambiguous: several passages have this identity
		}
		pair := clockPair{begins[0].clock, ends[0].clock}
		d := ends[0].at - begins[0].at
		if before, ok := took[pair]; !ok || d < before {
			took[pair] = d
		}
	}
	return took
}

// align returns an offset for each clock. A time of the clock plus its offset is a time on
// the axis of the clock of head. The head reads its own clock when a block arrives; received
// is, by clock, the least difference between that time and the stamp of the block. Between
// two clocks the fastest passages in both directions are assumed to take the same time, so
// that no passage goes back in time. A clock without passages to and from other clocks is
// placed by received.
func align(head string, received map[string]int64, took map[clockPair]int64) map[string]int64 {
	offset := make(map[string]int64)
	clocks := slices.Sorted(maps.Keys(received))
	if _, ok := received[head]; !ok {
		clocks = append(clocks, head)
	}
	type step struct {
		from, to string
		d, both  int64 // how far the clock of to is behind the clock of from, and the round-trip time
	}
	for len(offset) < len(clocks) {
		var steps []step
		for p, there := range took {
			back, ok := took[clockPair{p.to, p.from}]
			_, known := offset[p.from]
			if _, also := offset[p.to]; ok && known && !also {
				steps = append(steps, step{p.from, p.to, (back - there) / 2, there + back})
			}
		}
		if len(steps) > 0 {
			s := slices.MinFunc(steps, func(a, b step) int {
				return cmp.Or(cmp.Compare(a.both, b.both), cmp.Compare(a.to, b.to), cmp.Compare(a.from, b.from))
			})
			offset[s.to] = offset[s.from] + s.d
			continue
		}
		if _, ok := offset[head]; !ok {
			offset[head] = 0
			continue
		}
		for _, c := range clocks { // the first clock without an offset is the next root
			if _, ok := offset[c]; !ok {
				offset[c] = received[c]
				break
			}
		}
	}
	return offset
}
