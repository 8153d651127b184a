package main

import "github.com/mmcloughlin/avo/operand"

// reduction is a kernel with one result. Its lanes have 256 bytes, and are combined by
// halves.
type reduction struct {
	name, params string
	wide         operation // operation that is computed and stored first; the reduction sums the squares of its results
}

var (
	dot       = reduction{name: "dot", params: "x, y []E"}
	sum       = reduction{name: "sum", params: "x []E"}
	waxpbyDot = reduction{"waxpbyDot", "alpha E, x []E, beta E, y, w []E", waxpby}
	xpbyDot   = reduction{"xpbyDot", "x []E, beta E, y, w []E", xpby}
)

func (g *gen) reduce(r reduction) {
	g.begin(r.name, "("+r.params+") E")
	accs := make([]vec, 256/g.isa.bytes)
	var ts *terms
	var w, yb, xb gp
	switch {
	case r.wide != operation{}:
		ts, w = g.loadTerms(r.wide), g.base("w")
		xb, yb = ts.x, ts.y
	case r == dot:
		xb, yb = g.base("x"), g.base("y")
	default:
		xb = g.base("x")
	}
	n, i := g.length("x"), g.GP64()
	g.XORQ(i, i)
	for k := range accs {
		accs[k] = g.vec()
		g.zero(accs[k])
	}

	// term adds the vector at element i+shift to an accumulator.
	term := func(shift int, mask op, acc vec) {
		v := g.vec()
		load := func(b gp, v vec) {
			if m := g.elemAt(b, i, shift); mask != nil {
				g.loadMasked(m, mask, v)
			} else {
				g.move(m, v)
			}
		}
		switch {
		case r == sum && mask == nil:
			g.add(g.elemAt(xb, i, shift), acc, acc)
			return
		case r == sum:
			load(xb, v)
		case r == dot:
			load(xb, v)
			if mask == nil {
				g.mul(g.elemAt(yb, i, shift), v, v)
			} else {
				other := g.vec()
				load(yb, other)
				g.mul(other, v, v)
			}
		default:
			ts.compute(i, shift, mask, v)
			if m := g.elemAt(w, i, shift); mask != nil {
				g.clearUnmasked(v, mask) // clears Inf*0 in lanes beyond the end
				g.storeMasked(v, mask, m)
			} else {
				g.move(v, m)
			}
			g.mul(v, v, v)
		}
		g.add(v, acc, acc)
	}

	ahead := g.variable("vectorAhead")
	lanes := len(accs) * g.width()
	loop, tail := g.label("loop"), g.label("tail")
	g.CMPQ(n, operand.U32(lanes))
	g.JB(to(tail))
	g.Label(loop)
	for k, acc := range accs {
		g.prefetch(ahead, i, k*g.width(), xb, yb)
		term(k*g.width(), nil, acc)
	}
	g.ADDQ(operand.U32(lanes), i)
	g.SUBQ(operand.U32(lanes), n)
	g.CMPQ(n, operand.U32(lanes))
	g.JAE(to(loop))

	// Fewer elements than lanes are left: first whole vectors, then a part of one.
	g.Label(tail)
	done := g.label("done")
	for _, acc := range accs {
		part, next := g.label("part"), g.label("next")
		g.CMPQ(n, operand.U32(g.width()))
		g.JB(to(part))
		term(0, nil, acc)
		g.ADDQ(operand.U32(g.width()), i)
		g.SUBQ(operand.U32(g.width()), n)
		g.JMP(to(next))
		g.Label(part)
		g.TESTQ(n, n)
		g.JZ(to(done))
		term(0, g.tailMask(n), acc)
		g.JMP(to(done))
		g.Label(next)
	}
	g.Label(done)

	v := g.halve(accs)
	if ts == nil {
		g.setNaN()
	}
	g.canonical(v)
	g.Store(v, g.ReturnIndex(0))
	g.end()
}

// halve adds the upper half of the lanes to the lower half, until one lane is left.
func (g *gen) halve(accs []vec) vec {
	for h := len(accs) / 2; h > 0; h /= 2 {
		for k := range h {
			g.add(accs[k+h], accs[k], accs[k])
		}
	}
	v := accs[0]
	if g.isa.masks {
		upper := g.YMM()
		g.VEXTRACTF64X4(operand.U8(1), v, upper)
		g.add(upper, y(v), y(v))
	}
	upper := g.XMM()
	g.VEXTRACTF128(operand.U8(1), y(v), upper)
	g.add(upper, x(v), x(v))
	v = x(v)
	if g.elem.size == 4 {
		g.VPERMILPS(operand.U8(0b1110), v, upper)
		g.add(upper, v, v)
		g.VPERMILPS(operand.U8(1), v, upper)
	} else {
		g.VPERMILPD(operand.U8(1), v, upper)
	}
	g.add(upper, v, v)
	return v
}
