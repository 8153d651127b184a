package kept

import (
	"math/rand/v2"

	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// generator generates a program.
type generator struct {
	*rand.Rand
	p     *program
	valid [][]bool // by rank and array: the contents are defined
	recvs []map[int]part
	sends []map[int]bool // by rank: arrays with sends that the program has not waited for
	late  []op           // receives of messages in flight; point of each is that of its rank
	ids   int
	tags  int
	made  uint64
	open  []uint64
}

func newProgram(rng *rand.Rand) *program {
	g := &generator{Rand: rng, p: &program{}, open: []uint64{0}, tags: 100}
	for range 1 + g.IntN(3) {
		r := rankProgram{sizes: []uint64{2}, registered: []bool{true}}
		valid := []bool{true}
		for i := range 2 + g.IntN(4) {
			r.sizes = append(r.sizes, uint64(3+g.IntN(10)))
			r.registered = append(r.registered, i < 2 || g.IntN(2) == 0)
			valid = append(valid, true)
		}
		r.sizes, r.registered = append(r.sizes, 8), append(r.registered, false)
		g.p.ranks = append(g.p.ranks, r)
		g.valid = append(g.valid, append(valid, false))
		g.recvs = append(g.recvs, make(map[int]part))
		g.sends = append(g.sends, make(map[int]bool))
	}
	for range 1 + g.IntN(6) {
		for range g.IntN(7 * len(g.p.ranks)) {
			g.step()
		}
		g.safePoint()
	}
	for range g.IntN(5 * len(g.p.ranks)) {
		g.step()
	}
	for r := range g.p.ranks {
		g.quiet(r)
	}
	for len(g.late) > 0 {
		g.receiveLate()
	}
	for r := range g.p.ranks {
		g.quiet(r)
		g.add(r, op{kind: finish})
	}
	g.p.contexts = g.made + 1
	return g.p
}

func (g *generator) add(rank int, o op) {
	g.p.ranks[rank].ops = append(g.p.ranks[rank].ops, o)
	g.p.order = append(g.p.order, rank)
}

// quiet makes a rank wait for all its receives.
func (g *generator) quiet(rank int) {
	for id := range g.ids {
		if _, ok := g.recvs[rank][id]; ok {
			g.add(rank, op{kind: waitReceive, id: id})
			delete(g.recvs[rank], id)
		}
	}
}

func (g *generator) safePoint() {
	g.p.points++
	for r := range g.p.ranks {
		g.quiet(r)
		g.add(r, op{kind: safePoint, point: g.p.points})
		copy(g.valid[r], g.p.ranks[r].registered)
	}
}

func (g *generator) step() {
	r := g.IntN(len(g.p.ranks))
	switch g.IntN(16) {
	case 0, 1, 2, 3, 4:
		g.section(r)
	case 5, 6, 7:
		g.message(r)
	case 8:
		g.anySource(r)
	case 9:
		if len(g.late) > 0 {
			g.receiveLate()
		}
	case 10:
		g.quiet(r)
	case 11:
		g.add(r, op{kind: waitSends})
		clear(g.sends[r])
	case 12, 13:
		if p, ok := g.readable(r); ok && g.IntN(2) == 0 {
			g.add(r, op{kind: fetch, part: p})
		} else if g.IntN(2) == 0 {
			g.add(r, op{kind: once})
		}
	case 14:
		g.add(r, op{kind: line})
	case 15:
		g.communicator()
	}
}

func (g *generator) communicator() {
	if len(g.open) == 1 || g.IntN(2) == 0 {
		g.made++
		g.open = append(g.open, g.made)
		for r := range g.p.ranks {
			g.add(r, op{kind: makeContext, ctx: g.made})
		}
		return
	}
	for len(g.late) > 0 {
		g.receiveLate()
	}
	for r := range g.p.ranks {
		g.quiet(r)
		g.add(r, op{kind: freeContext, ctx: g.open[1]})
	}
	g.open = append(g.open[:1], g.open[2:]...)
}

// busy reports whether a receive may write into a part.
func (g *generator) busy(rank int, p part) bool {
	for _, b := range g.recvs[rank] {
		if b.array == p.array && b.lo < p.hi && p.lo < b.hi {
			return true
		}
	}
	return false
}

// some returns a part of an array of a rank whose contents are defined.
func (g *generator) some(rank int) (part, bool) {
	r := &g.p.ranks[rank]
	i := 1 + g.IntN(r.cells()-1)
	lo := uint64(g.IntN(int(r.sizes[i])))
	hi := lo + 1 + uint64(g.IntN(int(r.sizes[i]-lo)))
	return part{i, lo, hi}, g.valid[rank][i]
}

func (g *generator) readable(rank int) (part, bool) {
	p, ok := g.some(rank)
	return p, ok && !g.busy(rank, p)
}

func (g *generator) writable(rank int) (part, bool) {
	p, ok := g.readable(rank)
	return p, ok && !g.sends[rank][p.array]
}

// message generates a message and its receive. The receive may be posted before the
// message is sent and waited for later, or posted much later.
func (g *generator) message(src int) {
	dst := g.IntN(len(g.p.ranks))
	from, ok := g.readable(src)
	if dst == src || !ok {
		return
	}
	ctx, tag := g.open[g.IntN(len(g.open))], g.IntN(3)
	m := op{kind: send, part: from, ctx: ctx, peer: dst, tag: tag, large: g.IntN(2) == 0}
	emit := func() {
		g.add(src, m)
		if m.large {
			g.sends[src][from.array] = true
		}
	}
	into, ok := g.writable(dst)
	if !ok || g.IntN(4) == 0 {
		emit()
		g.late = append(g.late, op{kind: post, ctx: ctx, peer: src, tag: tag, point: uint64(dst)})
		return
	}
	before := g.IntN(2) == 0
	if !before {
		emit()
	}
	g.receive(op{kind: post, part: into, ctx: ctx, peer: src, tag: tag, point: uint64(dst)})
	if before {
		emit()
	}
	if g.IntN(2) == 0 {
		g.quiet(dst)
	}
}

// receive adds a receive to its rank, which is in o.point.
func (g *generator) receive(o op) {
	rank := int(o.point)
	o.id, o.point = g.ids, 0
	g.ids++
	g.recvs[rank][o.id] = o.part
	g.add(rank, o)
}

func (g *generator) receiveLate() {
	o := g.late[0]
	for range 50 {
		if into, ok := g.writable(int(o.point)); ok {
			o.part = into
			g.late = g.late[1:]
			g.receive(o)
			return
		}
		g.quiet(int(o.point))
		g.add(int(o.point), op{kind: waitSends})
		clear(g.sends[int(o.point)])
	}
	panic("no array is left to receive into")
}

// anySource generates messages to a rank that it receives from any source.
func (g *generator) anySource(dst int) {
	ctx, n := g.open[g.IntN(len(g.open))], 0
	g.tags++
	for src := range g.p.ranks {
		if from, ok := g.readable(src); ok && src != dst {
			g.add(src, op{kind: send, part: from, ctx: ctx, peer: dst, tag: g.tags})
			n++
		}
	}
	for range n {
		g.late = append(g.late, op{kind: post, ctx: ctx, peer: -1, tag: g.tags, point: uint64(dst)})
	}
	for range n {
		if g.IntN(2) == 0 {
			g.receiveLate()
		}
	}
}

// section generates a section. Its tasks write blocks of one or two arrays and read others.
func (g *generator) section(rank int) {
	r := &g.p.ranks[rank]
	o := op{kind: section, typ: uint64(g.IntN(4)), other: g.IntN(6) == 0}
	o.tasks = make([]task, 1+g.IntN(6))
	for t := range o.tasks {
		o.tasks[t].salt = g.Uint64()
	}
	written := make(map[int]bool)
	for range 1 + g.IntN(2) {
		i := 1 + g.IntN(r.cells()-1)
		whole := part{i, 0, r.sizes[i]}
		if written[i] || g.sends[rank][i] || g.busy(rank, whole) {
			continue
		}
		g.writes(rank, &o, whole)
		written[i] = true
	}
	for range g.IntN(3) {
		i := 1 + g.IntN(r.cells()-1)
		if written[i] || !g.valid[rank][i] && g.IntN(4) > 0 {
			continue
		}
		written[i] = true // mark the array only once
		g.reads(rank, &o, part{i, 0, r.sizes[i]})
	}
	if len(written) == 0 {
		return
	}
	if g.IntN(3) == 0 {
		for t := range o.tasks {
			cell := part{r.cells(), uint64(t), uint64(t) + 1}
			o.tasks[t].regions = append(o.tasks[t].regions, region{mode: update.Reduce, named: cell})
		}
	}
	g.add(rank, o)
}

// writes makes the tasks write blocks of an array, or all but a border of it.
func (g *generator) writes(rank int, o *op, whole part) {
	mode, full := update.Mode(update.Out), true
	if g.valid[rank][whole.array] {
		switch g.IntN(4) {
		case 0:
			mode, full = update.InOut, false
		case 1:
			full = false
		case 2:
			if whole.hi > 4 {
				whole.lo, whole.hi = whole.lo+1, whole.hi-1
			}
		}
	}
	g.valid[rank][whole.array] = true
	t := 0
	for lo, hi := range sched.Blocks(int(whole.hi-whole.lo), len(o.tasks)) {
		p := part{whole.array, whole.lo + uint64(lo), whole.lo + uint64(hi)}
		x := region{mode: mode, named: p, full: full}
		if mode == update.InOut {
			x.reads = p
		}
		o.tasks[t].regions = append(o.tasks[t].regions, x)
		t++
	}
}

// reads makes the tasks read an array: all of it, or their block and its neighbours
// through a window. Without a window a task may name more than it reads.
func (g *generator) reads(rank int, o *op, whole part) {
	wide, windows := g.IntN(3) == 0, g.IntN(2) == 0
	n := uint64(len(o.tasks))
	for t := range o.tasks {
		lo, hi := whole.hi*uint64(t)/n, whole.hi*uint64(t+1)/n
		p := part{whole.array, max(lo, 1) - 1, min(hi+1, whole.hi)}
		if !windows {
			p = whole
		}
		x := region{mode: update.In, named: p, reads: p}
		if wide || g.busy(rank, p) || !g.valid[rank][whole.array] {
			x.named = whole
		}
		if g.busy(rank, p) || !g.valid[rank][whole.array] {
			x.reads = part{array: whole.array}
		}
		o.tasks[t].regions = append(o.tasks[t].regions, x)
	}
}
