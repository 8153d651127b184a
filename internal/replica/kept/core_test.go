package kept

import (
	"maps"
	"slices"
)

// This core of messages of a simulated process does the same as transport/sdr, in a
// simpler way: numbered streams, a substitute for a dead sender, receives that are bound
// before the message is whole, and decisions of the lowest live replica.

// stream identifies the messages between this rank and another one in a context, in one direction.
type stream struct {
	ctx  uint64
	rank int // the other rank
}

// outMessage is a message that some replica of its destination may lack.
type outMessage struct {
	tag  int
	data []uint64 // a copy; nil: the memory of the program is read
	from part
	done bool // all live replicas of the destination have it
}

// incoming is a message that no receive has got completely.
type incoming struct {
	number uint64
	tag    int
	whole  bool
	data   []uint64
	bound  *receive
}

// receive is a posted receive.
type receive struct {
	id     int
	ctx    uint64
	source int // -1: any
	tag    int
	into   part
	any    uint64 // number among the receives from any source in the context
	chosen bool
	number uint64 // number of the message, once one is chosen
	done   bool
}

// decisionKey identifies a decision in the program of a rank since the last cut.
type decisionKey struct{ ctx, number uint64 }

type choice struct {
	source int
	number uint64
}

// core is the state of the messages of a process.
type core struct {
	out      map[stream][]*outMessage
	in       map[stream][]*incoming // by ascending number
	received map[stream]uint64      // number of messages that are known
	posted   []*receive
	due      map[decisionKey]choice // decisions that were not carried out yet
	results  map[uint64]uint64      // results of Once that the program has not got yet
	opened   map[uint64]bool        // communicators that were made
	closed   map[uint64]bool
	pending  []*outMessage // sends that the program has not waited for
}

func newCore() core {
	return core{out: make(map[stream][]*outMessage), in: make(map[stream][]*incoming), received: make(map[stream]uint64),
		due: make(map[decisionKey]choice), results: make(map[uint64]uint64), opened: map[uint64]bool{0: true}, closed: make(map[uint64]bool)}
}

// clone copies the state at a cut, where no receive and no decision is open.
func (c *core) clone() core {
	d := newCore()
	d.received, d.opened, d.closed, d.results = maps.Clone(c.received), maps.Clone(c.opened), maps.Clone(c.closed), maps.Clone(c.results)
	for s, list := range c.out {
		for _, m := range list {
			copied := *m
			d.out[s] = append(d.out[s], &copied)
		}
	}
	for s, list := range c.in {
		for _, m := range list {
			copied := *m
			d.in[s] = append(d.in[s], &copied)
		}
	}
	return d
}

// put adds a message to those that no receive has got, in the order of their numbers.
func (c *core) put(s stream, m *incoming) {
	list := c.in[s]
	at, found := slices.BinarySearchFunc(list, m.number, func(m *incoming, n uint64) int { return int(m.number) - int(n) })
	if found {
		panic("a message is listed twice among those that no receive has got")
	}
	c.in[s] = slices.Insert(list, at, m)
}

// match binds messages to receives. Receives match in the order in which they were posted.
func (p *process) match() {
	for _, r := range p.posted {
		if r.done || r.source < 0 {
			if k := (decisionKey{r.ctx, r.any}); r.done || !p.obey(r, k) {
				continue
			}
		}
		s := stream{r.ctx, r.source}
		for _, m := range p.in[s] {
			if m.bound == r {
				break
			}
			if m.bound == nil && (r.chosen && m.number == r.number || !r.chosen && m.tag == r.tag) {
				m.bound = r
				break
			}
		}
	}
	for _, s := range p.j.streams(p.in) {
		for _, m := range slices.Clone(p.in[s]) {
			if m.bound != nil && m.whole {
				p.take(s, m)
			}
		}
	}
}

// obey binds to a receive from any source the message that was decided for it.
func (p *process) obey(r *receive, k decisionKey) bool {
	d, ok := p.due[k]
	if !ok {
		return false
	}
	delete(p.due, k)
	r.source, r.number, r.chosen = d.source, d.number, true
	p.m.Decided(Decision{Context: k.ctx, Number: k.number, Value: []byte{byte(d.source), byte(d.number), byte(d.number >> 8)}})
	return true
}

// take gives a whole message to its receive.
func (p *process) take(s stream, m *incoming) {
	copy(p.mem[m.bound.into.array][m.bound.into.lo:m.bound.into.hi], m.data) // the message may be shorter or longer than the buffer
	m.bound.done = true
	p.in[s] = slices.DeleteFunc(p.in[s], func(x *incoming) bool { return x == m })
	p.m.Received(Message{Context: s.ctx, Source: s.rank, Number: m.number, Tag: m.tag, Data: words(m.data)})
}

// words encodes a payload, and unwords decodes it.
func words(data []uint64) (b []byte) {
	for _, w := range data {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return b
}

func unwords(b []byte) []uint64 {
	data := make([]uint64, len(b)/8)
	for i := range b {
		data[i/8] |= uint64(b[i]) << (i % 8 * 8)
	}
	return data
}

// offer makes the next message of a stream known to p. whole delivers the payload of a
// known message. Both report whether there was a message.
func (p *process) offer(s stream) bool {
	from := p.j.server(s.rank, p.k)
	list := from.out[stream{s.ctx, p.rank}]
	n := p.received[s]
	if n >= uint64(len(list)) {
		return false
	}
	p.received[s]++
	if p.closed[s.ctx] {
		return true
	}
	p.put(s, &incoming{number: n, tag: list[n].tag})
	p.match()
	return true
}

func (p *process) whole(s stream) bool {
	from := p.j.server(s.rank, p.k)
	list := from.out[stream{s.ctx, p.rank}]
	for _, m := range p.in[s] {
		if m.whole || m.number >= uint64(len(list)) {
			continue
		}
		m.whole, m.data = true, from.payload(list[m.number])
		p.match()
		p.j.settleSends(s.rank, stream{s.ctx, p.rank}, m.number)
		return true
	}
	return false
}

func (p *process) payload(m *outMessage) []uint64 {
	if m.data != nil {
		return m.data
	}
	return slices.Clone(p.mem[m.from.array][m.from.lo:m.from.hi])
}

// has reports whether p has received a message completely.
func (p *process) has(s stream, number uint64) bool {
	if number >= p.received[s] {
		return false
	}
	for _, m := range p.in[s] {
		if m.number == number {
			return m.whole
		}
	}
	return true
}

// decide makes the lowest live replica of a rank decide on a receive from any source. All
// live replicas get the decision at once.
func (p *process) decide() bool {
	if p.j.leader(p.rank) != p {
		return false
	}
	for _, r := range p.posted {
		if r.done || r.source >= 0 {
			continue
		}
		var from []choice
		for src := range p.j.prog.ranks {
			for _, m := range p.in[stream{r.ctx, src}] {
				if m.bound == nil && m.tag == r.tag && !p.chosen(r.ctx, choice{src, m.number}) {
					from = append(from, choice{src, m.number})
					break
				}
			}
		}
		if len(from) == 0 {
			continue
		}
		c := from[p.j.rng.IntN(len(from))]
		k := decisionKey{r.ctx, r.any}
		if _, ok := p.due[k]; ok {
			return false
		}
		if old, ok := p.j.truth[p.rank].decisions[r.id]; ok && old != c {
			p.j.fail("%v decides twice on receive %d", p, r.id)
		}
		p.j.truth[p.rank].decisions[r.id] = c
		for q := range p.j.replicas(p.rank) {
			q.due[k] = c
			q.match()
		}
		return true
	}
	return false
}

// chosen reports whether a decision has given a message to another receive.
func (p *process) chosen(ctx uint64, c choice) bool {
	for k, d := range p.due {
		if k.ctx == ctx && d == c {
			return true
		}
	}
	return false
}
