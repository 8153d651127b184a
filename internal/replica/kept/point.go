package kept

import "fmt"

// Point is a safe point of the program. If it is a settled point, on which both replicas
// have agreed, each of them makes an image there.
type Point struct {
	Number     uint64
	Registered []Span // the registered variables, in the order of their registration
	// Place is the state that a second run needs besides the registered variables: the
	// numbers of sections, streams of messages, collectives, communicators, calls of Once,
	// safe points and lines of output.
	Place any
	// Proposal returns the proposal of this replica. It is called at a settled point.
	Proposal func() Proposal
}

// point is the state of the present safe point.
type point struct {
	Point
	open  bool
	stray bool // memory outside registered variables was checked against Strays
}

// halves are what the two replicas exchange at a settled point: the bytes that the image
// of the other one lacks, and proposals.
type halves struct {
	at     uint64             // the last settled point at which this replica has exchanged halves; 0: none
	mine   Proposal           // proposal of this replica at that point
	theirs map[uint64]arrival // what the sibling has sent for that point, and for the next one if it is ahead
}

func newHalves() halves { return halves{theirs: make(map[uint64]arrival)} }

func (h *halves) complete() bool {
	_, ok := h.theirs[h.at]
	return ok || h.at == 0
}

// image is the registered state at a settled point.
type image struct {
	point     uint64
	place     any
	lacks     []Part // parts that the sibling's half will fill
	signature uint64
	since     log
}

func (im *image) whole() bool { return len(im.lacks) == 0 }

// SafePoint begins a safe point. Its number is an operation for Did. If there is a cut at it, the
// cut is over.
func (m *Machine) SafePoint(p Point) {
	m.point, m.passed, m.cut.open = point{Point: p, open: true}, p.Number, false
	m.refuseWhole()
}

// Due reports whether the safe point with this number becomes a settled point, at which the replica
// makes an image. Only for such a point the caller has to set Registered, Place and Proposal in the
// Point that it passes to SafePoint.
func (m *Machine) Due(number uint64) bool {
	if !m.begun || m.cut.at(number) {
		return m.paired()
	}
	return number == m.plan.Next && len(m.images) > 0
}

// atPoint returns the next step at a safe point. ok is false if an exchange comes first.
func (m *Machine) atPoint() (s Step, ok bool) {
	p := &m.point
	switch {
	case m.second != nil:
	case !m.begun:
		if m.paired() {
			m.begin(p.Point)
		}
	case m.cut.at(p.Number): // all memory is current, so the image is whole at once
		if m.paired() {
			m.newImage()
			m.plan.Next = max(m.plan.Next, p.Number+1)
		}
	case len(m.heldBack) > 0: // at a safe point the sibling does not wait for the next operation of this replica
		return Step{Kind: Wait}, true
	case p.Number != m.plan.Next || len(m.images) == 0:
		m.rest()
	case !m.paired():
		if len(m.registered()) > 0 {
			m.behind = true
			return Step{}, false
		}
		m.plan.Next += m.cfg.First.Next
		m.newImage()
		m.dropImages(len(m.images) - 1)
	case !m.half.complete():
		return Step{Kind: Wait}, true // at most one image may be incomplete
	case !p.stray:
		p.stray = true
		m.tidy()
		if m.holders.bytes(p.Registered) > m.cfg.Strays {
			m.exchange(m.all(p.Registered))
			return Step{}, false
		}
		fallthrough
	default:
		m.settle()
	}
	m.point = point{}
	return Step{Kind: Done}, true
}

// registered returns the parts of the registered variables that some live replica lacks.
func (m *Machine) registered() (parts []heldPart) {
	for i, v := range m.point.Registered {
		for _, r := range m.holders.within(v) {
			parts = append(parts, heldPart{Part{i, r.Lo - v.Lo, r.Hi - v.Lo}, r.by})
		}
	}
	return parts
}

type heldPart struct {
	Part
	by set
}

// begin begins to keep results. All memory is current on both replicas.
func (m *Machine) begin(p Point) {
	m.begun = true
	m.plan = m.cfg.First
	m.plan.Next += p.Number
	m.newImage()
}

// newImage begins an image at the present safe point. This replica lacks some parts.
func (m *Machine) newImage(lacks ...Part) *image {
	im := &image{point: m.point.Number, place: m.point.Place, lacks: lacks}
	m.images = append(m.images, im)
	m.act(Action{Kind: Copy, Point: im.point, Parts: lacks})
	return im
}

// settle makes an image: each replica copies the memory that is current on it. Each sends
// the other the missing parts from its image, while the programs continue.
func (m *Machine) settle() {
	if m.half.at > 0 {
		by := [2]Proposal{m.half.mine, m.half.mine}
		by[1-m.me] = m.half.theirs[m.half.at].frame.Proposal
		m.plan = combine(m.point.Number, by)
		delete(m.half.theirs, m.half.at)
	} else {
		m.plan.Next += m.cfg.First.Next
	}
	var out, lacks []Part
	signature := uint64(0)
	for _, p := range m.registered() {
		signature = mix(mix(mix(mix(signature, uint64(p.Variable)), p.Lo), p.Hi), uint64(p.by))
		if p.by.has(m.me) {
			out = append(out, p.Part)
		} else {
			lacks = append(lacks, p.Part)
		}
	}
	im := m.newImage(lacks...)
	im.signature = signature
	m.half.at, m.half.mine = im.point, m.point.Proposal()
	m.act(Action{Kind: Send, Point: im.point, Parts: out,
		Frame: Frame{Kind: Half, Number: im.point, Signature: im.signature, Proposal: m.half.mine}})
	if im.whole() {
		m.dropImages(len(m.images) - 1)
	}
	m.fill()
}

// fill completes the last image with the sibling's half, if the half has arrived.
func (m *Machine) fill() {
	last := len(m.images) - 1
	if last < 0 || !m.half.complete() || m.half.at == 0 || m.images[last].point != m.half.at || m.images[last].whole() {
		return
	}
	im, half := m.images[last], m.half.theirs[m.half.at]
	if half.frame.Signature != im.signature {
		m.err = &Divergence{fmt.Sprintf("image of safe point %d", im.point),
			fmt.Sprintf("list %016x of the other replica", half.frame.Signature), fmt.Sprintf("list %016x here", im.signature)}
		return
	}
	m.act(Action{Kind: Fill, Point: im.point, Parts: im.lacks, Token: half.token})
	im.lacks = nil
	m.dropImages(last)
}

// dropImages discards the first n images, and the log that follows each of them.
// Communicators that were freed in that log are closed, because no second run needs them.
func (m *Machine) dropImages(n int) {
	for _, im := range m.images[:n] {
		for _, ctx := range im.since.freed() {
			m.act(Action{Kind: Close, Context: ctx})
		}
		m.act(Action{Kind: Discard, Point: im.point})
	}
	m.images = m.images[n:]
}

// abandon discards an image that will never be whole. Its log is appended to the log of the
// previous image.
func (m *Machine) abandon() {
	last := len(m.images) - 1
	if last < 0 || m.images[last].whole() {
		return
	}
	m.images[last-1].since.append(&m.images[last].since)
	m.act(Action{Kind: Discard, Point: m.images[last].point})
	m.images = m.images[:last]
}
