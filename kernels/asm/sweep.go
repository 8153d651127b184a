package main

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sweepPrefetch is the distance in bytes at which a sweep prefetches its values, on every
// CPU. Without it no values are loaded while a row waits for the previous one.
const sweepPrefetch = 8192

// sweep generates one pass of Gauss-Seidel: from the first row to the last if up is true,
// otherwise from the last to the first. The rows of a slice depend on each other only
// through the entries next to the diagonal, the chain. All other entries are processed for
// all 8 rows at once.
//
// There are more arguments than registers. So arguments that a slice needs only once are
// loaded again for every slice.
func (g *gen) sweep(up bool) {
	if up {
		g.begin("lower", "(pat, ptr, off []int32, mask, chained []uint8, val, chain, d, x []E, row int)")
	} else {
		g.begin("upper", "(pat, ptr, off []int32, mask, chained []uint8, val, chain, x []E, row int)")
	}
	slice := 8 * g.elem.size // bytes of a vector of a slice
	off, masks, val, xb := g.base("off"), g.base("mask"), g.base("val"), g.base("x")
	s := g.GP64() // number of the slice
	loop, partial, chain, slow, next, done := g.label("slice"), g.label("partial"), g.label("chain"), g.label("slow"), g.label("next"), g.label("done")

	row := g.Load(g.Param("row"), g.GP64())
	g.LEAQ(g.elemAt(xb, row, 0), xb)
	g.setNaN()
	if up {
		g.XORQ(s, s)
	} else {
		// The loop begins at the end.
		g.Load(g.Param("pat").Len(), s)
		at := g.GP64()
		g.MOVQ(s, at)
		g.IMUL3Q(operand.U32(slice), at, at)
		g.ADDQ(at, xb)
	}

	g.Label(loop)
	p := g.GP64()
	if up {
		length := g.length("pat")
		g.CMPQ(s, length)
		g.JGE(to(done))
	} else {
		g.SUBQ(operand.U32(slice), xb)
		g.SUBQ(operand.U32(1), s)
		g.JLT(to(done))
	}
	g.MOVLQSX(mem{Base: g.base("pat"), Index: s, Scale: 4}, p)
	acc := g.halves()
	for h, a := range acc {
		g.move(mem{Base: xb, Disp: h * 32}, a)
	}
	vectorOf := func(param string) gp { // returns the vector of the current slice
		at, base := g.GP64(), g.base(param)
		g.MOVQ(s, at)
		g.IMUL3Q(operand.U32(slice), at, at)
		g.ADDQ(base, at)
		return at
	}
	if up {
		d := vectorOf("d")
		for h, a := range acc {
			g.pick(g.VDIVPD, g.VDIVPS, mem{Base: d, Disp: h * 32}, a, a)
		}
	}

	// far subtracts the products with the diagonals of the slice.
	d, end := g.GP64(), g.GP64()
	far := func(diagonal func(at gp)) {
		again, over := g.label("diagonal"), g.label("over")
		ptr := g.base("ptr")
		g.MOVLQSX(mem{Base: ptr, Index: p, Scale: 4}, d)
		g.MOVLQSX(mem{Base: ptr, Index: p, Scale: 4, Disp: 4}, end)
		g.CMPQ(d, end)
		g.JGE(to(over))
		g.Label(again)
		at := g.GP64()
		g.MOVLQSX(mem{Base: off, Index: d, Scale: 4}, at)
		g.PREFETCHT0(mem{Base: val, Disp: sweepPrefetch})
		diagonal(at)
		g.ADDQ(operand.U32(slice), val)
		g.INCQ(d)
		g.CMPQ(d, end)
		g.JL(to(again))
		g.Label(over)
	}
	product := func(h int, v vec) {
		g.mul(mem{Base: val, Disp: h * 32}, v, v)
		g.pick(g.VSUBPD, g.VSUBPS, v, acc[h], acc[h])
	}
	g.TESTQ(p, p)
	g.JGE(to(partial))
	g.NOTQ(p)
	far(func(at gp) {
		for h := range acc {
			v := g.YMM()
			g.move(g.elemAt(xb, at, h*8/len(acc)), v)
			product(h, v)
		}
	})
	g.JMP(to(chain))
	g.Label(partial)
	laneBits := g.laneBits(len(acc))
	far(func(at gp) {
		bits, all := g.GP64(), g.YMM()
		g.MOVBQZX(mem{Base: masks, Index: d, Scale: 1}, bits)
		g.VMOVQ(bits, x(all))
		g.pick(g.VPBROADCASTQ, g.VPBROADCASTD, x(all), all)
		for h := range acc {
			m, v := g.YMM(), g.YMM()
			g.VPAND(laneBits[h], all, m)
			g.pick(g.VPCMPEQQ, g.VPCMPEQD, laneBits[h], m, m)
			g.loadMasked(g.elemAt(xb, at, h*8/len(acc)), m, v)
			product(h, v)
		}
	})

	// Along the chain NaNs may have any bits. The stored ones are canonical.
	g.Label(chain)
	for h, a := range acc {
		g.move(a, mem{Base: xb, Disp: h * 32})
	}
	entries := vectorOf("chain")
	bits := g.GP64()
	g.MOVBQZX(mem{Base: g.base("chained"), Index: s, Scale: 1}, bits)
	before, first := -1, 0
	if !up {
		before, first = 1, 7
	}
	last := g.XMM()
	lanes := func(chained func(lane int, link func(v reg.VecVirtual), v reg.VecVirtual)) {
		for k := range 8 {
			lane := first - before*k
			v := g.XMM()
			g.moveS(mem{Base: xb, Disp: lane * g.elem.size}, v)
			chained(lane, func(v reg.VecVirtual) {
				if lane == first {
					g.moveS(mem{Base: xb, Disp: (lane + before) * g.elem.size}, last)
				}
				g.mulS(mem{Base: entries, Disp: lane * g.elem.size}, last, last)
				g.pick(g.VSUBSD, g.VSUBSS, last, v, v)
			}, v)
			g.VMOVAPD(v, last)
			g.canonical(v)
			g.moveS(v, mem{Base: xb, Disp: lane * g.elem.size})
		}
	}
	g.CMPQ(bits, operand.U32(0xff))
	g.JNE(to(slow))
	lanes(func(_ int, link func(reg.VecVirtual), v reg.VecVirtual) { link(v) })
	g.JMP(to(next))
	g.Label(slow)
	lanes(func(lane int, link func(reg.VecVirtual), v reg.VecVirtual) {
		without := g.label("without")
		g.BTL(operand.U8(lane), bits.As32())
		g.JCC(to(without))
		link(v)
		g.Label(without)
	})
	g.Label(next)
	if up {
		g.ADDQ(operand.U32(slice), xb)
		g.INCQ(s)
	}
	g.JMP(to(loop))
	g.Label(done)
	g.end()
}
