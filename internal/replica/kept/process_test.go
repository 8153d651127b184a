package kept

import (
	"fmt"
	"maps"
	"slices"
)

// place is the state that a second run needs besides the registered variables.
type place struct {
	pc       int
	sections uint64
	onces    uint64
	lines    uint64
	points   uint64
	sent     map[stream]uint64
	any      map[uint64]uint64 // number of receives from any source since the last cut
}

func (p place) clone() place {
	p.sent, p.any = maps.Clone(p.sent), maps.Clone(p.any)
	return p
}

// letter is a frame in flight to the sibling.
type letter struct {
	frame   Frame
	payload []uint64
}

// wholeWords is the payload of a Whole, for which the sibling needs no room.
type wholeWords []uint64

// process is a simulated process: the driver of a machine.
type process struct {
	j        *job
	rank, k  int
	m        *Machine
	dead     bool
	reported bool // the sibling knows that this process is dead
	mem      [][]uint64
	base     []uint64
	at       place
	stage    int
	running  []int
	core
	images  map[uint64][][]uint64
	link    []letter // frames in flight to the sibling
	slow    []letter // Halves in flight: other frames may overtake them
	held    []letter
	freed   []uint64
	passed  uint64 // number of safe points
	lines   uint64 // number of lines that this process has written
	drained bool   // it is in the cut
	// cancelled means that the process knows that there are no more cuts.
	cancelled bool
	finished  bool
	took      uint64 // bytes of pieces that have arrived and were not applied yet
}

func (p *process) String() string { return fmt.Sprintf("%d.%d", p.rank, p.k) }

func (p *process) program() *rankProgram { return &p.j.prog.ranks[p.rank] }

// allocate gives the arrays new memory with arbitrary contents, in any order, with or
// without gaps.
func (p *process) allocate() {
	r, rng := p.program(), p.j.rng
	p.mem, p.base = make([][]uint64, len(r.sizes)), make([]uint64, len(r.sizes))
	next := uint64(rng.IntN(1000))
	for _, i := range rng.Perm(len(r.sizes)) {
		p.base[i] = next
		p.mem[i] = make([]uint64, r.sizes[i])
		for k := range p.mem[i] {
			p.mem[i][k] = rng.Uint64()
		}
		next += r.sizes[i]
		if rng.IntN(2) == 0 {
			next += uint64(rng.IntN(4))
		}
	}
}

func (p *process) span(x part) Span { return Span{p.base[x.array] + x.lo, p.base[x.array] + x.hi} }

// at returns the memory of a span.
func (p *process) memory(s Span) []uint64 {
	for i, b := range p.base {
		if b <= s.Lo && s.Hi <= b+uint64(len(p.mem[i])) {
			return p.mem[i][s.Lo-b : s.Hi-b]
		}
	}
	panic(fmt.Sprintf("%v: no array has %v", p, s))
}

func (p *process) gather(mem []Span) (data []uint64) {
	for _, s := range mem {
		data = append(data, p.memory(s)...)
	}
	return data
}

// registered returns the indices of the registered arrays.
func (r *rankProgram) registeredArrays() (list []int) {
	for i, is := range r.registered {
		if is {
			list = append(list, i)
		}
	}
	return list
}

// perform carries out the actions of the machine.
func (p *process) perform() (did bool) {
	for _, a := range p.m.Actions() {
		did = true
		switch a.Kind {
		case Send:
			l := letter{frame: a.Frame, payload: p.gather(a.Mem)}
			if a.Frame.Kind == Half {
				for _, x := range a.Parts {
					l.payload = append(l.payload, p.images[a.Point][x.Variable][x.Lo:x.Hi]...)
				}
			}
			p.post(l)
		case Hold:
			p.held = append(p.held, letter{a.Frame, p.gather(a.Mem)})
		case SendHeld:
			p.post(p.held[0])
			p.held = p.held[1:]
		case DropHeld:
			p.held = nil
		case Apply:
			data, piece := a.Token.([]uint64)
			if p.took -= uint64(len(data)); !piece {
				data = a.Token.(wholeWords)
			}
			for _, s := range a.Mem {
				n := copy(p.memory(s), data)
				data = data[n:]
			}
			if len(data) > 0 {
				p.j.fail("%v: %d words of a piece are left", p, len(data))
			}
		case Copy:
			var im [][]uint64
			for _, i := range p.program().registeredArrays() {
				im = append(im, slices.Clone(p.mem[i]))
			}
			for _, x := range a.Parts {
				clear(im[x.Variable][x.Lo:x.Hi])
			}
			p.images[a.Point] = im
		case Fill:
			data := a.Token.([]uint64)
			for _, x := range a.Parts {
				n := copy(p.images[a.Point][x.Variable][x.Lo:x.Hi], data)
				data = data[n:]
			}
		case Discard:
			if p.images[a.Point] == nil {
				p.j.fail("%v discards image %d, which it does not have", p, a.Point)
			}
			delete(p.images, a.Point)
		case Close:
			p.closed[a.Context] = true
			for s := range p.in {
				if s.ctx == a.Context {
					delete(p.in, s)
				}
			}
		}
	}
	return did
}

func (p *process) post(l letter) {
	if l.frame.Kind == Pieces {
		if q := p.j.procs[p.rank][1-p.k]; !q.dead {
			under := q.took + uint64(len(l.payload))
			for _, o := range p.link {
				if o.frame.Kind == Pieces {
					under += uint64(len(o.payload))
				}
			}
			if under > max(p.m.cfg.Room, uint64(len(l.payload))) {
				p.j.fail("%v has %d words of pieces under way", p, under)
			}
		}
	}
	if l.frame.Kind == Half {
		p.slow = append(p.slow, l)
		return
	}
	p.link = append(p.link, l)
}

// deliver delivers the next frame of p to its sibling.
func (p *process) deliver() bool {
	q := p.j.procs[p.rank][1-p.k]
	if len(p.link)+len(p.slow) == 0 || q.dead {
		p.link, p.slow = nil, nil
		return false
	}
	from := &p.link
	if len(p.link) == 0 || len(p.slow) > 0 && p.j.rng.IntN(4) == 0 {
		from = &p.slow
	}
	l := (*from)[0]
	*from = (*from)[1:]
	switch l.frame.Kind {
	case Pieces:
		q.took += uint64(len(l.payload))
		q.m.Arrive(l.frame, l.payload)
	case Whole:
		q.m.Arrive(l.frame, wholeWords(l.payload))
	default:
		q.m.Arrive(l.frame, l.payload)
	}
	q.perform()
	return true
}

// goBack performs the next step of a rollback of p to its image.
func (p *process) goBack() {
	s, err := p.m.NextReturn()
	if err != nil {
		p.j.fail("%v: %w", p, err)
		return
	}
	switch s.Kind {
	case CopySends:
		for _, list := range p.out {
			for _, m := range list {
				if m.data == nil && !m.done {
					m.data = slices.Clone(p.payload(m))
				}
			}
		}
	case Undo:
		for _, list := range p.in {
			for _, m := range list {
				m.bound = nil
			}
		}
		p.posted, p.pending = nil, nil
	case GiveBack:
		for _, m := range s.Messages {
			p.put(stream{m.Context, m.Source}, &incoming{number: m.Number, tag: m.Tag, whole: true, data: unwords(m.Data)})
		}
		for _, d := range s.Decisions {
			p.due[decisionKey{d.Context, d.Number}] = choice{int(d.Value[0]), uint64(d.Value[1]) | uint64(d.Value[2])<<8}
		}
		for _, r := range s.Results {
			p.results[r.Number] = unwords(r.Value)[0]
		}
	case Load:
		p.load(p.images[s.Point], s.Place.(place))
	case Again:
		p.stage = 0
		p.took = 0
		p.j.seen.seconds++
	}
	p.perform()
}

// load begins a run of the program with a state.
func (p *process) load(im [][]uint64, at place) {
	if im == nil {
		p.j.fail("%v has no image", p)
		return
	}
	p.allocate()
	for n, i := range p.program().registeredArrays() {
		copy(p.mem[i], im[n])
	}
	p.at = at.clone()
}
