package main

import (
	"github.com/mmcloughlin/avo/operand"
)

// csr generates the product of compressed sparse rows. A row adds its entries one by one,
// as the definition of the result requires.
func (g *gen) csr(name string, colSize int, accumulate bool) {
	col := map[int]string{4: "int32", 8: "int64"}[colSize]
	g.begin(name, "(ptr []int64, col []"+col+", val, x, y []E)")
	ptr, cols, val, xb, yb := g.base("ptr"), g.base("col"), g.base("val"), g.base("x"), g.base("y")
	n := g.length("y")
	ahead := g.variable("matrixAhead")
	g.setNaN()
	acc := g.XMM()
	k, end := g.GP64(), g.GP64()

	row, single, rowDone, eight, done := g.label("row"), g.label("single"), g.label("rowDone"), g.label("eight"), g.label("done")
	entry := func(shift int) {
		c, v := g.GP64(), g.XMM()
		m := mem{Base: cols, Index: k, Scale: uint8(colSize), Disp: shift * colSize}
		if colSize == 4 {
			g.MOVLQSX(m, c)
		} else {
			g.MOVQ(m, c)
		}
		g.moveS(g.elemAt(val, k, shift), v)
		g.mulS(g.elemAt(xb, c, 0), v, v)
		g.addS(v, acc, acc)
	}
	prefetch := func() {
		g.prefetch(ahead, k, 0, val)
		at := g.GP64()
		g.LEAQ(mem{Base: ahead, Index: k, Scale: uint8(colSize)}, at)
		g.PREFETCHT0(mem{Base: cols, Index: at, Scale: 1})
	}
	g.TESTQ(n, n)
	g.JZ(to(done))
	g.MOVQ(mem{Base: ptr}, k)
	g.Label(row)
	g.MOVQ(mem{Base: ptr, Disp: 8}, end)
	if accumulate {
		g.moveS(mem{Base: yb}, acc)
	} else {
		g.zero(acc)
	}
	// end-8 is the last possible start of eight entries.
	g.SUBQ(operand.U32(8), end)
	g.CMPQ(k, end)
	g.JG(to(single))
	g.Label(eight)
	prefetch()
	for e := range 8 {
		entry(e)
	}
	g.ADDQ(operand.U32(8), k)
	g.CMPQ(k, end)
	g.JLE(to(eight))
	g.Label(single)
	g.ADDQ(operand.U32(8), end)
	g.CMPQ(k, end)
	g.JGE(to(rowDone))
	prefetch()
	one := g.label("one")
	g.Label(one)
	entry(0)
	g.INCQ(k)
	g.CMPQ(k, end)
	g.JL(to(one))
	g.Label(rowDone)
	g.canonical(acc)
	g.moveS(acc, mem{Base: yb})
	g.ADDQ(operand.U32(8), ptr)
	g.ADDQ(operand.U32(g.elem.size), yb)
	g.DECQ(n)
	g.JNZ(to(row))
	g.Label(done)
	g.end()
}

// halves returns the vectors that hold the 8 lanes of a slice.
func (g *gen) halves() []vec {
	if g.elem.size == 4 {
		return []vec{g.YMM()}
	}
	return []vec{g.YMM(), g.YMM()}
}

// sell generates the product of slices stored by columns. It loads the 8 elements of x one
// by one, since hardware gathers are slower.
func (g *gen) sell() {
	g.begin("sell", "(width, col []int32, val, x, y []E)")
	width, cols, val, xb, yb := g.base("width"), g.base("col"), g.base("val"), g.base("x"), g.base("y")
	n, ahead := g.length("width"), g.variable("matrixAhead")
	g.setNaN()
	acc := g.halves()
	left := g.GP64()
	slice, loop, sliceDone, done := g.label("slice"), g.label("loop"), g.label("sliceDone"), g.label("done")
	g.TESTQ(n, n)
	g.JZ(to(done))
	g.Label(slice)
	for _, a := range acc {
		g.zero(a)
	}
	g.MOVLQSX(mem{Base: width}, left)
	g.TESTQ(left, left)
	g.JZ(to(sliceDone))
	g.Label(loop)
	g.PREFETCHT0(mem{Base: val, Index: ahead, Scale: 1})
	g.PREFETCHT0(mem{Base: cols, Index: ahead, Scale: 1})
	lanes := 8 / len(acc)
	for h, a := range acc {
		v := g.gather(cols, xb, h*lanes, lanes)
		g.mul(mem{Base: val, Disp: h * 32}, v, v)
		g.add(v, a, a)
	}
	g.ADDQ(operand.U32(8*g.elem.size), val)
	g.ADDQ(operand.U32(32), cols)
	g.DECQ(left)
	g.JNZ(to(loop))
	g.Label(sliceDone)
	for h, a := range acc {
		g.canonical(a)
		g.move(a, mem{Base: yb, Disp: h * 32})
	}
	g.ADDQ(operand.U32(4), width)
	g.ADDQ(operand.U32(8*g.elem.size), yb)
	g.DECQ(n)
	g.JNZ(to(slice))
	g.Label(done)
	g.end()
}

// gather loads the elements of x at lanes columns, beginning with column number first.
func (g *gen) gather(cols, xb gp, first, lanes int) vec {
	element := func(lane int) mem {
		c := g.GP64()
		g.MOVLQSX(mem{Base: cols, Disp: 4 * (first + lane)}, c)
		return g.elemAt(xb, c, 0)
	}
	v, upper := g.YMM(), g.XMM()
	for h, part := range []vec{x(v), upper} {
		if lane := h * lanes / 2; lanes == 4 {
			g.VMOVSD(element(lane), part)
			g.VMOVHPD(element(lane+1), part, part)
		} else {
			g.VMOVSS(element(lane), part)
			for k := 1; k < 4; k++ {
				g.VINSERTPS(operand.U8(k<<4), element(lane+k), part, part)
			}
		}
	}
	g.VINSERTF128(operand.U8(1), upper, v, v)
	return v
}

// diag generates the product of slices stored by diagonals. The elements of x for a
// diagonal are contiguous. Lanes without the diagonal are not read and count as 0. Their
// product is +0 and changes no sum, because no sum is -0.
//
// Slices with only complete diagonals, as inside a stencil, have a separate loop without
// masks. The other loop has no branch that depends on a mask: if masks vary, a
// misprediction costs more than masking.
func (g *gen) diag() {
	g.begin("diag", "(pat, ptr, off []int32, mask []uint8, val, x []E, row int, y []E)")
	pat, ptr, off, masks := g.base("pat"), g.base("ptr"), g.base("off"), g.base("mask")
	val, xb, yb := g.base("val"), g.base("x"), g.base("y")
	n, ahead := g.length("pat"), g.variable("matrixAhead")
	row := g.Load(g.Param("row"), g.GP64())
	g.LEAQ(g.elemAt(xb, row, 0), xb)
	g.setNaN()
	d, end, p := g.GP64(), g.GP64(), g.GP64()
	slice, partial, next, done := g.label("slice"), g.label("partial"), g.label("next"), g.label("done")

	// loop multiplies the slice. diagonal emits the code for one of its diagonals.
	loop := func(acc []vec, diagonal func(at gp)) {
		again, store := g.label("diagonal"), g.label("store")
		g.MOVLQSX(mem{Base: ptr, Index: p, Scale: 4}, d)
		g.MOVLQSX(mem{Base: ptr, Index: p, Scale: 4, Disp: 4}, end)
		for _, a := range acc {
			g.zero(a)
		}
		g.CMPQ(d, end)
		g.JGE(to(store))
		g.Label(again)
		at := g.GP64()
		g.MOVLQSX(mem{Base: off, Index: d, Scale: 4}, at)
		g.PREFETCHT0(mem{Base: val, Index: ahead, Scale: 1})
		diagonal(at)
		g.ADDQ(operand.U32(8*g.elem.size), val)
		g.INCQ(d)
		g.CMPQ(d, end)
		g.JL(to(again))
		g.Label(store)
		for h, a := range acc {
			g.canonical(a)
			g.move(a, mem{Base: yb, Disp: h * 32})
		}
	}

	g.TESTQ(n, n)
	g.JZ(to(done))
	g.Label(slice)
	g.MOVLQSX(mem{Base: pat}, p)
	g.TESTQ(p, p)
	g.JGE(to(partial))
	g.NOTQ(p)
	halves := g.halves()
	loop(halves, func(at gp) {
		for h, a := range halves {
			v := g.YMM()
			g.move(g.elemAt(xb, at, h*8/len(halves)), v)
			g.mul(mem{Base: val, Disp: h * 32}, v, v)
			g.add(v, a, a)
		}
	})
	g.JMP(to(next))
	g.Label(partial)
	laneBits := g.laneBits(len(halves))
	loop(halves, func(at gp) {
		bits, all := g.GP64(), g.YMM()
		g.MOVBQZX(mem{Base: masks, Index: d, Scale: 1}, bits)
		g.VMOVQ(bits, x(all))
		g.pick(g.VPBROADCASTQ, g.VPBROADCASTD, x(all), all)
		for h, a := range halves {
			m, v := g.YMM(), g.YMM()
			g.VPAND(laneBits[h], all, m)
			g.pick(g.VPCMPEQQ, g.VPCMPEQD, laneBits[h], m, m)
			g.loadMasked(g.elemAt(xb, at, h*8/len(halves)), m, v)
			g.mul(mem{Base: val, Disp: h * 32}, v, v)
			g.add(v, a, a)
		}
	})
	g.Label(next)
	g.ADDQ(operand.U32(4), pat)
	g.ADDQ(operand.U32(8*g.elem.size), xb)
	g.ADDQ(operand.U32(8*g.elem.size), yb)
	g.DECQ(n)
	g.JNZ(to(slice))
	g.Label(done)
	g.end()
}

// laneBits loads one bit for every lane: 1, 2, 4 and so on.
func (g *gen) laneBits(vectors int) []vec {
	if vectors == 1 {
		v := g.YMM()
		g.VMOVUPD(g.constant("laneBits32", 2<<32|1, 8<<32|4, 32<<32|16, 128<<32|64), v)
		return []vec{v}
	}
	lo, hi := g.YMM(), g.YMM()
	g.VMOVUPD(g.constant("laneBitsLow", 1, 2, 4, 8), lo)
	g.VMOVUPD(g.constant("laneBitsHigh", 16, 32, 64, 128), hi)
	return []vec{lo, hi}
}
