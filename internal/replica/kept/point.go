package kept

import "fmt"

// Point is a safe point of the program. At a settled point, which both replicas have agreed
// on, each of them makes an image.
type Point struct {
	Number     uint64
	Registered []Span // the registered variables, in the order of their registration
	// Place is what a second run needs beside the registered variables: the numbers of
	// sections, streams of messages, collectives, communicators, calls of Once, safe points
	// and lines of output.
	Place any
	// Proposal is called at a settled point.
	Proposal func() Proposal
}

// point is the state of the safe point that is being passed.
type point struct {
	Point
	open  bool
	cut   bool // the replica is in a cut: everything is current, and the image is whole at once
	stray bool // strays have been completed
}

// halves is what two replicas exchange at a settled point: the bytes that the image of the
// other one lacks, and proposals.
type halves struct {
	at     uint64             // the last settled point of this replica with an exchange of halves; 0: none
	mine   Proposal           // of that point
	theirs map[uint64]arrival // of that point, and of the next one if the sibling is ahead
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
	lacks     []Part // what the sibling's half fills
	signature uint64
	since     log
}

func (im *image) whole() bool { return len(im.lacks) == 0 }

// SafePoint begins a safe point. Its number is an operation for Did.
func (m *Machine) SafePoint(p Point) { m.point = point{Point: p, open: true} }

// Cut is SafePoint where a cut is due. Once it is Done the replica may report that it is in
// the cut: after that report it never rolls back by itself. Such a safe point is not a
// settled one before: a second run that begins there would miss the cut. No image from
// before the cut is left, and Place is the one after it: decisions on the order of messages
// are numbered from 0 there.
func (m *Machine) Cut(p Point) {
	m.point = point{Point: p, open: true, cut: true}
	if m.second != nil {
		m.err = fmt.Errorf("a cut at safe point %d is due before this replica has run again up to there", p.Number)
		return
	}
	m.exchange(m.all(nil))
}

// atPoint returns the next step at a safe point; ok is false if there is another one after
// an exchange.
func (m *Machine) atPoint() (s Step, ok bool) {
	p := &m.point
	switch {
	case p.cut && m.begun:
		if m.rest(); m.paired() {
			m.dropImages(len(m.images))
			m.newImage()
			m.plan.Next = max(m.plan.Next, p.Number+1)
		}
	case m.second != nil:
	case !m.begun:
		if m.paired() {
			m.begin(p.Point)
		}
	case len(m.heldBack) > 0: // here no replica waits for what this one does next
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
		return Step{Kind: Wait}, true // at most one image is not whole
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

// begin begins to keep results: everything is current on both replicas.
func (m *Machine) begin(p Point) {
	m.begun = true
	m.plan = m.cfg.First
	m.plan.Next += p.Number
	m.newImage()
}

// Begin begins to keep results at a cut, in which one of the two replicas has joined.
// Everything is current on both of them.
func (m *Machine) Begin(p Point) error {
	if m.second != nil || len(m.holders.runs) > 0 || m.open != nil {
		return fmt.Errorf("a replica joins at safe point %d before this one has run again up to there", p.Number)
	}
	m.dropImages(len(m.images))
	m.holders.live = both
	m.exchanges, m.under, m.heldBack, m.half = 0, 0, nil, newHalves()
	m.areas = nil // the new sibling has written nothing
	clear(m.known)
	clear(m.inbox)
	m.point.Point = p
	m.begin(p)
	m.point = point{}
	return nil
}

// newImage begins an image at the present safe point.
func (m *Machine) newImage() *image {
	im := &image{point: m.point.Number, place: m.point.Place}
	m.images = append(m.images, im)
	m.act(Action{Kind: Copy, Point: im.point})
	return im
}

// settle makes an image of which each replica copies what is current on it. The rest goes
// from image to image while the programs go on.
func (m *Machine) settle() {
	if m.half.at > 0 {
		by := [2]Proposal{m.half.mine, m.half.mine}
		by[1-m.me] = m.half.theirs[m.half.at].frame.Proposal
		m.plan = combine(m.point.Number, by)
		delete(m.half.theirs, m.half.at)
	} else {
		m.plan.Next += m.cfg.First.Next
	}
	im := m.newImage()
	var out []Part
	for _, p := range m.registered() {
		im.signature = mix(mix(mix(mix(im.signature, uint64(p.Variable)), p.Lo), p.Hi), uint64(p.by))
		if p.by.has(m.me) {
			out = append(out, p.Part)
		} else {
			im.lacks = append(im.lacks, p.Part)
		}
	}
	m.half.at, m.half.mine = im.point, m.point.Proposal()
	m.act(Action{Kind: Send, Point: im.point, Parts: out,
		Frame: Frame{Kind: Half, Number: im.point, Signature: im.signature, Proposal: m.half.mine}})
	if im.whole() {
		m.dropImages(len(m.images) - 1)
	}
	m.fill()
}

// fill completes the last image with the sibling's half, if that has arrived.
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

// dropImages discards the first n images and the log that follows each of them.
// What was freed meanwhile is needed by no second run.
func (m *Machine) dropImages(n int) {
	for _, im := range m.images[:n] {
		for _, ctx := range im.since.freed() {
			m.act(Action{Kind: Close, Context: ctx})
		}
		m.act(Action{Kind: Discard, Point: im.point})
	}
	m.images = m.images[n:]
}

// abandon discards an image that will never be whole. Its log belongs to the image before.
func (m *Machine) abandon() {
	last := len(m.images) - 1
	if last < 0 || m.images[last].whole() {
		return
	}
	m.images[last-1].since.append(&m.images[last].since)
	m.act(Action{Kind: Discard, Point: m.images[last].point})
	m.images = m.images[:last]
}
