package kept

import "fmt"

const both set = 3

// Machine is the protocol of one of the two replicas of a rank. Its methods are the
// events; they are not safe for concurrent use. The program of the rank is in at most one
// operation at a time: a section, from Enter to Leave, or one call of Touch, SafePoint,
// Cut or Finish. The caller calls Next until the operation is done.
type Machine struct {
	me  int
	cfg Config

	begun   bool // this replica has passed its first safe point, so there is an image to roll back to
	plan    Plan
	holders holders
	// areas are the spans that kept sections have written and that are not current
	// everywhere, in the order of the program. Both replicas have the same list, by
	// variable.
	areas []Span
	known map[Span]bool // the set of spans in areas

	exchanges uint64    // number of the next exchange of pieces
	open      *exchange // pieces that this replica needs before it continues; nil: none
	inbox     map[uint64]arrival
	under     uint64   // bytes of pieces that the sibling has not applied yet
	heldBack  []uint64 // sizes of the frames that wait for room at the sibling

	round  round
	point  point
	passed uint64  // the last safe point that the program has entered, unless it is in a cut there
	cut    cut     // the last cut
	whole  arrival // what the sibling has sent for a cut that this replica has not begun; zero: nothing

	// images are the images to which this replica may have to roll back. The oldest is whole, and
	// at most one younger image is not whole yet. Each has the log since it was begun. There is no
	// image if this replica lacks nothing and has no sibling.
	images []*image
	half   halves

	behind bool // this replica lacks memory that it needs, so it has to run again from its image
	back   stage
	second *second // the operations of the first run after the image; nil: this is not a second run
	err    error
	acts   []Action
}

// Config describes a replica.
type Config struct {
	Replica int    // 0 or 1
	Room    uint64 // limit of the bytes of pieces in flight to the sibling
	Strays  uint64 // limit of the bytes outside registered variables that may stay where they were computed
	// First is the plan of the first interval. Its Next is the length of the interval.
	First Plan
}

// exchange is a place of the program at which a replica needs pieces from its sibling.
type exchange struct {
	number    uint64
	signature uint64
	into      []Span
}

type arrival struct {
	frame Frame
	token any
}

// New returns the machine of a replica whose sibling is live. Results are not kept before
// the first safe point.
func New(c Config) *Machine {
	return &Machine{me: c.Replica, cfg: c, holders: holders{live: both}, known: make(map[Span]bool), inbox: make(map[uint64]arrival), half: newHalves()}
}

func (m *Machine) paired() bool { return m.holders.live == both }

// Keeps reports whether the results of a section of this type stay where they were
// computed.
func (m *Machine) Keeps(kind uint64) bool { return m.begun && m.paired() && m.plan.keeps(kind) }

// Plan returns the plan of the present interval.
func (m *Machine) Plan() Plan { return m.plan }

// StepKind is the kind of a Step.
type StepKind uint8

// The steps of an operation.
const (
	Done   StepKind = iota // the operation may continue; for a section: call Leave
	Run                    // run Task, then call Ran
	Share                  // complete the section without keeping its results, then call Leave
	Wait                   // wait for a frame, or for the death of the sibling
	Missed                 // the sibling has passed this safe point without the cut: wait until the cut is cancelled, or for its death
	Back                   // end the run of the program; NextReturn returns the steps that follow
)

// Step is the next action of the program.
type Step struct {
	Kind StepKind
	Task int
}

// Next returns the next step of the open operation.
func (m *Machine) Next() (Step, error) {
	for {
		switch {
		case m.err != nil:
			return Step{}, m.err
		case m.behind:
			return Step{Kind: Back}, nil
		case !m.arrived():
			if m.err != nil {
				return Step{}, m.err
			}
			if t, ok := m.early(); ok {
				return Step{Kind: Run, Task: t}, nil
			}
			return Step{Kind: Wait}, nil
		}
		var s Step
		var settled bool
		switch {
		case m.round.Section != nil:
			s, settled = m.inSection()
		case m.cut.open:
			s, settled = m.inCut(), true
		case m.point.open:
			s, settled = m.atPoint()
		default:
			return Step{Kind: Done}, nil
		}
		if settled {
			return s, m.err
		}
	}
}

// need is memory that some replicas need at a place of the program.
type need struct {
	Span
	by set
}

// exchange makes memory current where it is needed. Both replicas compute the same list of
// pieces from the same map, so they need no requests. This replica sends the pieces that
// it has at once. It applies the pieces that it lacks before it continues, whenever they
// arrive.
func (m *Machine) exchange(needs []need) {
	if out, in, sig := m.divide(needs); !m.behind {
		m.pass(out, in, sig)
	}
}

// divide records that all needs are met, and returns the pieces that this replica has to send
// and those that it lacks. sig is the same on both replicas.
func (m *Machine) divide(needs []need) (out, in []Span, sig uint64) {
	sig = uint64(len(needs))
	for i, n := range needs {
		for _, r := range m.holders.within(n.Span) {
			lacks := n.by & m.holders.live &^ r.by
			switch {
			case lacks == 0:
				continue
			case r.by == 0:
				m.behind = true
				return nil, nil, 0
			}
			m.holders.put(r.Span, r.by|lacks)
			sig = mix(mix(mix(mix(sig, uint64(i)), r.Lo-n.Lo), r.Hi-n.Lo), uint64(r.by))
			if r.by.has(m.me) {
				out = append(out, r.Span)
			} else {
				in = append(in, r.Span)
			}
		}
	}
	return out, in, sig
}

// pass sends pieces to the sibling, and sets the exchange to wait for those of the
// sibling.
func (m *Machine) pass(out, in []Span, sig uint64) {
	if len(out) == 0 && len(in) == 0 {
		return
	}
	n := m.exchanges
	m.exchanges++
	if len(in) > 0 {
		m.open = &exchange{n, sig, in}
	}
	if len(out) == 0 {
		return
	}
	f := Frame{Kind: Pieces, Number: n, Signature: sig, Bytes: size(out)}
	// A piece is never dropped, because the sibling may be unable to compute it. Nor does
	// this replica wait here, because the sibling may be waiting for its next operation.
	// Frames are sent in order: the sibling makes room by applying the first one.
	if len(m.heldBack) > 0 || !m.fits(f.Bytes) {
		m.heldBack = append(m.heldBack, f.Bytes)
		m.act(Action{Kind: Hold, Frame: f, Mem: out})
		return
	}
	m.under += f.Bytes
	m.act(Action{Kind: Send, Frame: f, Mem: out})
}

// fits reports whether the sibling has room for n bytes. A frame that is larger than the
// whole room is sent alone.
func (m *Machine) fits(n uint64) bool { return m.under == 0 || m.under+n <= m.cfg.Room }

// arrived reports whether the pieces of the open exchange have arrived, and applies them.
func (m *Machine) arrived() bool {
	if m.open == nil {
		return true
	}
	a, ok := m.inbox[m.open.number]
	if !ok {
		return false
	}
	if a.frame.Signature != m.open.signature {
		m.err = &Divergence{fmt.Sprintf("pieces of exchange %d", a.frame.Number),
			fmt.Sprintf("list %016x of the other replica", a.frame.Signature), fmt.Sprintf("list %016x here", m.open.signature)}
		return false
	}
	delete(m.inbox, m.open.number)
	m.act(Action{Kind: Apply, Mem: m.open.into, Token: a.token})
	if m.paired() {
		m.act(Action{Kind: Send, Frame: Frame{Kind: Applied, Bytes: a.frame.Bytes}})
	}
	m.open = nil
	return true
}

// Arrive handles a frame from the sibling. token identifies its payload.
func (m *Machine) Arrive(f Frame, token any) {
	if !m.paired() {
		return
	}
	switch f.Kind {
	case Pieces:
		m.inbox[f.Number] = arrival{f, token} // the sibling may be ahead: its pieces are applied when this replica reaches the same exchange
	case Half:
		m.half.theirs[f.Number] = arrival{f, token}
		m.fill()
	case Whole:
		m.arriveWhole(f, token)
	case Passed:
		m.cut.miss(f.Number, &m.holders)
	case Applied:
		m.under -= f.Bytes
		for len(m.heldBack) > 0 && m.fits(m.heldBack[0]) {
			m.under += m.heldBack[0]
			m.heldBack = m.heldBack[1:]
			m.act(Action{Kind: SendHeld})
		}
	}
}

// Dead removes the sibling, once all its frames have arrived. This replica continues until
// it needs bytes that only the sibling had.
func (m *Machine) Dead() {
	if !m.paired() {
		return
	}
	m.siblingDiesInCut()
	m.holders.dies(1 - m.me)
	if len(m.heldBack) > 0 {
		m.act(Action{Kind: DropHeld})
	}
	m.half, m.under, m.heldBack = newHalves(), 0, nil
	m.abandon()
	if m.open != nil && !m.round.exits {
		if _, ok := m.inbox[m.open.number]; !ok {
			m.behind = true
		}
	}
	if m.cut.open && len(m.holders.runs) > 0 {
		m.behind = true
	}
	m.adopt()
	m.rest()
}

// rest discards images that no rollback can need any more.
func (m *Machine) rest() {
	if m.paired() || m.behind || len(m.holders.runs) > 0 {
		return
	}
	m.dropImages(len(m.images))
}

// Touch begins an operation on memory outside sections. That memory has to be current on
// both replicas: control code reads or writes it, or a send or receive is posted on it.
// After a receive no piece may overwrite the received data.
func (m *Machine) Touch(mem ...Span) {
	needs := make([]need, len(mem))
	for i, s := range mem {
		needs[i] = need{s, both}
	}
	m.exchange(needs)
}

// Current reports whether Touch would have nothing to exchange.
func (m *Machine) Current(s Span) bool {
	return len(m.holders.runs) == 0 || len(m.holders.within(s)) == 0
}

// Lacks reports whether some live replica lacks some memory.
func (m *Machine) Lacks() bool { return len(m.holders.runs) > 0 }

// Finish begins the end of the program: all memory becomes current on both replicas.
func (m *Machine) Finish() {
	m.tidy()
	m.exchange(m.all(nil))
}

// Drained reports whether all pieces were sent. Until then a replica whose program has
// returned serves its sibling.
func (m *Machine) Drained() bool { return len(m.heldBack) == 0 }

// all returns the needs that make all memory current on both replicas, except the spans of
// except.
func (m *Machine) all(except []Span) (needs []need) {
	for _, s := range m.areas {
		inside := false
		for _, e := range except {
			inside = inside || s.in(e)
		}
		if !inside {
			needs = append(needs, need{s, both})
		}
	}
	return needs
}

// tidy removes areas that are current everywhere. Both replicas call it at the same places of the
// program, since they need the same list.
func (m *Machine) tidy() {
	kept := m.areas[:0]
	for _, s := range m.areas {
		if len(m.holders.within(s)) > 0 {
			kept = append(kept, s)
		} else {
			delete(m.known, s)
		}
	}
	m.areas = kept
}
