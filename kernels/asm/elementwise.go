package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// operation is the operation of an elementwise kernel on one element.
type operation struct {
	name, params string
}

var (
	waxpby  = operation{"waxpby", "alpha E, x []E, beta E, y []E"}
	xpby    = operation{"xpby", "x []E, beta E, y []E"}
	scale   = operation{"scale", "alpha E, x []E"}
	copying = operation{"copy", "x []E"}
)

// stores describes how an elementwise kernel stores.
type stores struct {
	nt   bool // w by non-temporal stores
	part bool // more parts follow: other threads need not see these stores yet
}

// terms holds the arguments of an operation in registers.
type terms struct {
	g           *gen
	o           operation
	alpha, beta vec
	x, y        gp
}

// prefetch prefetches the vectors at a distance of ahead bytes after element i+shift. It
// does so only if a cache line starts there, counted from the start of a loop.
func (g *gen) prefetch(ahead, i gp, shift int, vectors ...gp) {
	if shift*g.elem.size%64 != 0 {
		return
	}
	at := g.GP64()
	g.LEAQ(g.elemAt(ahead, i, shift), at)
	for _, b := range vectors {
		if b != nil {
			g.PREFETCHT0(mem{Base: b, Index: at, Scale: 1})
		}
	}
}

func (g *gen) loadTerms(o operation) *terms {
	t := &terms{g: g, o: o}
	if o == waxpby || o == scale {
		t.alpha = g.broadcast("alpha")
	}
	if o == waxpby || o == xpby {
		t.beta, t.y = g.broadcast("beta"), g.base("y")
	}
	t.x = g.base("x")
	if o != copying {
		g.setNaN()
	}
	return t
}

// load sets v to the source at element i+shift. mask may be nil.
func (t *terms) load(base, i gp, shift int, mask op, v vec) {
	m := t.g.elemAt(base, i, shift)
	switch {
	case mask != nil:
		t.g.loadMasked(m, mask, v)
	case v.Size() == 16:
		t.g.moveS(m, v)
	default:
		t.g.move(m, v)
	}
}

// compute sets v to the result at element i+shift: a vector, or an element if v is an X
// register.
func (t *terms) compute(i gp, shift int, mask op, v vec) {
	g := t.g
	mul, add := g.mul, g.add
	if v.Size() == 16 {
		mul, add = g.mulS, g.addS
	}
	switch t.o {
	case copying:
		t.load(t.x, i, shift, mask, v)
		return
	case scale:
		t.load(t.x, i, shift, mask, v)
		mul(like(v, t.alpha), v, v)
	default:
		second := like(v, g.vec())
		t.load(t.y, i, shift, mask, second)
		mul(like(v, t.beta), second, second)
		t.load(t.x, i, shift, mask, v)
		if t.o == waxpby {
			mul(like(v, t.alpha), v, v)
		}
		add(second, v, v)
	}
	g.canonical(v)
}

// elementwise generates a kernel of the form w[i] = f(x[i], y[i]).
func (g *gen) elementwise(o operation, s stores) {
	name, params := o.name, o.params+", w"
	if s.nt {
		name += "NT"
	}
	if s.part {
		name += "Part"
	}
	g.begin(name, "("+params+" []E)")
	t := g.loadTerms(o)
	w, n, i := g.base("w"), g.length("w"), g.GP64()
	store := func(v vec, shift int) {
		m := g.elemAt(w, i, shift)
		switch {
		case v.Size() == 16:
			g.moveS(v, m)
		case s.nt:
			g.moveNT(v, m)
		default:
			g.move(v, m)
		}
	}
	ahead := g.variable("vectorAhead")
	g.XORQ(i, i)
	if s.nt {
		g.untilAligned(t, w, n, i, store)
	}

	// n counts the remaining elements.
	const unroll = 4
	vectors := func(count int) {
		loop, done := g.label("loop"), g.label("done")
		g.CMPQ(n, operand.U32(count*g.width()))
		g.JB(to(done))
		g.Label(loop)
		var v [unroll]vec
		for k := range count {
			if count == unroll {
				g.prefetch(ahead, i, k*g.width(), t.x, t.y)
			}
			v[k] = g.vec()
			t.compute(i, k*g.width(), nil, v[k])
		}
		for k := range count {
			store(v[k], k*g.width())
		}
		g.ADDQ(operand.U32(count*g.width()), i)
		g.SUBQ(operand.U32(count*g.width()), n)
		g.CMPQ(n, operand.U32(count*g.width()))
		g.JAE(to(loop))
		g.Label(done)
	}
	vectors(unroll)
	vectors(1)

	end := g.label("end")
	g.TESTQ(n, n)
	g.JZ(to(end))
	mask, v := g.tailMask(n), g.vec()
	t.compute(i, 0, mask, v)
	g.storeMasked(v, mask, g.elemAt(w, i, 0))
	g.Label(end)
	if s.nt && !s.part {
		g.SFENCE() // other threads must see these stores before later ones
	}
	g.end()
}

// untilAligned handles the elements up to the first one at which w is aligned to a vector.
// Non-temporal stores need the alignment.
func (g *gen) untilAligned(t *terms, w, n, i gp, store func(vec, int)) {
	head := g.GP64()
	g.MOVQ(w, head)
	g.NEGQ(head)
	g.ANDQ(operand.U32(uint32(g.isa.bytes-1)), head)
	g.SHRQ(operand.U8(map[int]uint8{8: 3, 4: 2}[g.elem.size]), head)
	g.CMPQ(head, n)
	g.CMOVQHI(n, head)
	g.SUBQ(head, n)
	loop, done := g.label("head"), g.label("aligned")
	g.Label(loop)
	g.CMPQ(i, head)
	g.JAE(to(done))
	v := g.XMM()
	t.compute(i, 0, nil, v)
	store(v, 0)
	g.INCQ(i)
	g.JMP(to(loop))
	g.Label(done)
}
