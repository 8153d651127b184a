package kept

import "fmt"

// ReturnKind is the kind of a step of a rollback.
type ReturnKind uint8

// The steps of a rollback, in order. The run of the program has ended before.
const (
	// CopySends copies the memory of messages that some receivers lack, because the image
	// will overwrite it.
	CopySends ReturnKind = iota
	// Undo withdraws the receives of the first run that have no complete message. Their
	// messages return to their place in the order of arrival.
	Undo
	// GiveBack returns to the core of messages the messages, decisions and results of Once
	// that the first run had got after the image.
	GiveBack
	// Load copies the image into the registered variables, and takes its Place.
	Load
	// Again begins the second run of the program.
	Again
)

// Return is a step of a rollback.
type Return struct {
	Kind  ReturnKind
	Point uint64 // settled point of the image
	Place any    // the Place that a Load takes

	// These are of GiveBack. Messages are in the order in which they were received; Number
	// is their number in the stream.
	Messages  []Message
	Decisions []Decision
	Results   []Result
}

// stage is the next step of a rollback.
type stage = ReturnKind

// second is a second run: the operations of the first run after the image.
type second struct {
	from    uint64          // safe point of the image
	to      map[uint64][]Op // by domain: operations that the second run has to repeat
	left    int             // number of clock domains with operations that were not repeated yet
	samples map[sampled]uint64
}

// NextReturn returns the next step of the rollback of this replica. After Again the
// machine expects the program at the safe point of the image.
func (m *Machine) NextReturn() (Return, error) {
	if !m.behind {
		return Return{}, fmt.Errorf("replica %d lacks nothing and does not roll back", m.me)
	}
	im := m.images[0] // the oldest image is whole
	s := Return{Kind: m.back, Point: im.point}
	switch m.back {
	case GiveBack:
		s.Messages = im.since.messages
		s.Decisions = im.since.decisions
		s.Results = im.since.results
	case Load:
		s.Place = im.place
	case Again:
		m.second = &second{from: im.point, to: im.since.ops, left: len(im.since.ops), samples: im.since.samples}
		if m.second.left == 0 {
			m.second = nil
		}
		m.holders.runs, m.areas = nil, nil
		clear(m.known)
		clear(m.inbox)
		m.open, m.round, m.point, m.cut = nil, round{}, point{}, cut{}
		m.images = nil // a replica that runs alone lacks nothing
		m.act(Action{Kind: Discard, Point: im.point})
		m.behind = false
		m.back = CopySends
		return s, nil
	}
	m.back++
	return s, nil
}

// Behind reports whether this replica runs again, and from which safe point.
func (m *Machine) Behind() (from uint64, again bool) {
	switch {
	case m.behind:
		return m.images[0].point, true
	case m.second != nil:
		return m.second.from, true
	}
	return 0, false
}

// again compares an operation of the second run with that of the first.
func (m *Machine) again(domain uint64, o Op) (bool, error) {
	s := m.second
	ops := s.to[domain]
	if o.Kind == OpFree {
		m.act(Action{Kind: Close, Context: o.Context}) // its sibling is dead, so it needs no further image
	}
	if len(ops) == 0 {
		return false, nil
	}
	if ops[0] != o {
		m.differs(ops[0].String(), o.String())
		return false, m.err
	}
	if s.to[domain] = ops[1:]; len(ops) == 1 {
		if s.left--; s.left == 0 {
			m.second = nil
		}
	}
	return true, nil
}

// compareSample compares the result of a task in the second run with its result here in
// the first run.
func (m *Machine) compareSample(at sampled, hash uint64) {
	if first, ok := m.second.samples[at]; ok && first != hash {
		where := fmt.Sprintf("task %d of section %d with results of hash ", at.task, at.section)
		m.differs(fmt.Sprintf("%s%x", where, first), fmt.Sprintf("%s%x", where, hash))
	}
}

func (m *Machine) differs(first, again string) {
	m.err = &Divergence{fmt.Sprintf("the run again from safe point %d differs, so a variable is not registered with Protect", m.second.from), first, again}
}
