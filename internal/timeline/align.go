package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// passage names a message, or an update, on its way from one process to another.
// After a rollback there may be a second one with the same name.
type passage struct {
	kind            Kind // Message or Sent
	from, to        int32
	context, number uint64
	task            int64
}

// end is where an arrow begins or ends.
type end struct {
	at    int64 // of that clock
	clock string
	id    int // of the arrow, from 1; 0: it has none
}

// arrows joins what was sent to what was received.
type arrows struct {
	begin, end map[passage][]end
}

func newArrows() *arrows { return &arrows{make(map[passage][]end), make(map[passage][]end)} }

// add takes in an event of a process. processes numbers them.
func (a *arrows) add(of int32, peer int32, clock string, e *Event) {
	p, begins := passageOf(of, peer, e)
	into := a.end
	if begins {
		into = a.begin
	}
	into[p] = append(into[p], end{at: e.At, clock: clock})
}

// passageOf is the passage that an event of a process belongs to, and whether it
// is its beginning.
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

// join gives the ends of each arrow a number: what was received is what was sent
// last before it, on one axis.
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

// near reports whether a beginning at b comes before an end more closely than one
// at other: one that comes after it is the last choice.
func near(b, other, end int64) bool {
	if (b > end) != (other > end) {
		return b <= end
	}
	if b > end {
		return b < other
	}
	return b > other
}

// of is the number of the arrow that an event is an end of, 0 if of none.
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

// clockPair is two clocks between which something was sent.
type clockPair struct{ from, to string }

// fastest returns, by pairs of clocks, the shortest time from sending on the one to
// receiving on the other, as their times say.
func (a *arrows) fastest() map[clockPair]int64 {
	took := make(map[clockPair]int64)
	for p, ends := range a.end {
		begins := a.begin[p]
		if len(begins) != 1 || len(ends) != 1 || begins[0].clock == ends[0].clock {
			continue // which belongs to which is known by time only
		}
		pair := clockPair{begins[0].clock, ends[0].clock}
		d := ends[0].at - begins[0].at
		if before, ok := took[pair]; !ok || d < before {
			took[pair] = d
		}
	}
	return took
}

// align returns what is added to the times of each clock to put them on the axis of
// head. heard is, by clock, the least that it took until something said on that
// clock was heard at the head, by the two clocks. Between two clocks the fastest
// passages each way are taken to have taken the same time, so that none of them
// goes back in time; who has exchanged nothing with the others is placed by heard.
func align(head string, heard map[string]int64, took map[clockPair]int64) map[string]int64 {
	offset := make(map[string]int64)
	clocks := slices.Sorted(maps.Keys(heard))
	if _, ok := heard[head]; !ok {
		clocks = append(clocks, head)
	}
	type step struct {
		from, to string
		d, both  int64 // what the clock of to is behind that of from, and the time there and back
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
		for _, c := range clocks { // the one that was heard first is the next root
			if _, ok := offset[c]; !ok {
				offset[c] = heard[c]
				break
			}
		}
	}
	return offset
}
