package main

import (
	"fmt"
	"strings"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// isa is an instruction set.
type isa struct {
	name  string
	bytes int  // bytes of a vector
	masks bool // it has mask registers
}

var (
	avx512 = isa{"AVX512", 64, true}
	avx2   = isa{"AVX2", 32, false}
)

// elem is an element type.
type elem struct {
	goType, short string
	size          int
}

var (
	f64 = elem{"float64", "64", 8}
	f32 = elem{"float32", "32", 4}
)

type (
	op  = operand.Op
	mem = operand.Mem
	vec = reg.VecVirtual
	gp  = reg.GPVirtual
)

// gen generates the kernels of one file.
type gen struct {
	*build.Context
	isa    isa
	elem   elem
	consts map[string]mem
	labels int
	nan    vec // constant that canonical uses, see setNaN
}

func newGen(s isa) *gen {
	g := &gen{Context: build.NewContext(), isa: s, consts: map[string]mem{}}
	g.ConstraintExpr("amd64,!purego")
	return g
}

// width is the number of elements of a vector.
func (g *gen) width() int { return g.isa.bytes / g.elem.size }

// begin starts a function. []E and E in the signature are placeholders for the type of the
// elements.
func (g *gen) begin(name, signature string) {
	g.Function(name + g.elem.short + g.isa.name)
	g.Attributes(attr.NOSPLIT)
	g.Pragma("noescape")
	g.SignatureExpr("func" + strings.NewReplacer("[]E", "[]"+g.elem.goType, " E", " "+g.elem.goType).Replace(signature))
	g.labels = 0
}

func (g *gen) end() {
	g.VZEROUPPER()
	g.RET()
}

// label returns a new name.
func (g *gen) label(what string) string {
	g.labels++
	return fmt.Sprintf("%s%d", what, g.labels)
}

func to(label string) op { return operand.LabelRef(label) }

// base loads the address of a slice argument, and length loads its length.
func (g *gen) base(param string) gp   { return g.Load(g.Param(param).Base(), g.GP64()).(gp) }
func (g *gen) length(param string) gp { return g.Load(g.Param(param).Len(), g.GP64()).(gp) }

// variable loads a variable of package simd.
func (g *gen) variable(name string) gp {
	v := g.GP64()
	g.MOVQ(operand.NewDataAddr(operand.Symbol{Name: "·" + name}, 0), v)
	return v
}

// elemAt returns the memory i elements after base, shifted by whole elements.
func (g *gen) elemAt(base, i reg.Register, shift int) mem {
	return mem{Base: base, Index: i, Scale: uint8(g.elem.size), Disp: shift * g.elem.size}
}

func (g *gen) vec() vec {
	if g.isa.masks {
		return g.ZMM()
	}
	return g.YMM()
}

func x(v vec) vec { return v.AsX().(vec) }
func y(v vec) vec { return v.AsY().(vec) }

// like returns r with the size of v.
func like(v, r vec) vec {
	switch v.Size() {
	case 16:
		return x(r)
	case 32:
		return y(r)
	}
	return r.AsZ().(vec)
}

// pick emits the double-precision or the single-precision form of an instruction.
func (g *gen) pick(d, s func(...op), ops ...op) {
	if g.elem.size == 8 {
		d(ops...)
	} else {
		s(ops...)
	}
}

func (g *gen) move(ops ...op)  { g.pick(g.VMOVUPD, g.VMOVUPS, ops...) }
func (g *gen) mul(ops ...op)   { g.pick(g.VMULPD, g.VMULPS, ops...) }
func (g *gen) add(ops ...op)   { g.pick(g.VADDPD, g.VADDPS, ops...) }
func (g *gen) moveS(ops ...op) { g.pick(g.VMOVSD, g.VMOVSS, ops...) } // S: scalar
func (g *gen) mulS(ops ...op)  { g.pick(g.VMULSD, g.VMULSS, ops...) }
func (g *gen) addS(ops ...op)  { g.pick(g.VADDSD, g.VADDSS, ops...) }

// moveZ loads the lanes in k and sets the others to zero.
func (g *gen) moveZ(m, k, v op) {
	g.pick(func(o ...op) { g.VMOVUPD_Z(o[0], o[1], o[2]) }, func(o ...op) { g.VMOVUPS_Z(o[0], o[1], o[2]) }, m, k, v)
}

// moveNT stores with a non-temporal store, which bypasses the caches.
func (g *gen) moveNT(v, m op) {
	g.pick(func(o ...op) { g.VMOVNTPD(o[0], o[1]) }, func(o ...op) { g.VMOVNTPS(o[0], o[1]) }, v, m)
}

func (g *gen) zero(v vec) {
	if v.Size() == 64 {
		g.VPXORQ(v, v, v)
	} else {
		g.VXORPD(v, v, v)
	}
}

// broadcast loads a scalar argument into all lanes.
func (g *gen) broadcast(param string) vec {
	b, err := g.Param(param).Resolve()
	if err != nil {
		panic(err)
	}
	v := g.vec()
	g.pick(g.VBROADCASTSD, g.VBROADCASTSS, b.Addr, v)
	return v
}

// constant returns the address of read-only words.
func (g *gen) constant(name string, words ...uint64) mem {
	name += g.isa.name
	m, ok := g.consts[name]
	if !ok {
		m = g.StaticGlobal(name)
		g.DataAttributes(attr.RODATA | attr.NOPTR)
		for i, w := range words {
			g.AddDatum(8*i, operand.U64(w))
		}
		g.consts[name] = m
	}
	return m
}

// all loads a vector whose elements all have the given bits.
func (g *gen) all(name string, bits uint64) vec {
	if g.elem.size == 4 {
		bits |= bits << 32
	}
	v := g.vec()
	g.pick(g.VBROADCASTSD, g.VBROADCASTSS, g.constant(name+g.elem.short, bits), v)
	return v
}

// setNaN loads the constant that canonical uses.
func (g *gen) setNaN() {
	switch {
	case g.isa.masks:
		// The responses of VFIXUPIMM: 3, the default NaN, for NaNs of both kinds; 1, the
		// number itself, for all others.
		g.nan = g.all("fixup", 0x11111133)
	case g.elem.size == 8:
		g.nan = g.all("nan", 0xfff8000000000000)
	default:
		g.nan = g.all("nan", 0xffc00000)
	}
}

// canonical replaces every NaN in v by the canonical one.
func (g *gen) canonical(v vec) {
	nan := like(v, g.nan)
	if g.isa.masks {
		g.pick(g.VFIXUPIMMPD, g.VFIXUPIMMPS, operand.U8(0), nan, v, v)
		return
	}
	is := like(v, g.vec())
	g.pick(g.VCMPPD, g.VCMPPS, operand.U8(3), v, v, is) // unordered
	g.pick(func(o ...op) { g.VBLENDVPD(o[0], o[1], o[2], o[3]) },
		func(o ...op) { g.VBLENDVPS(o[0], o[1], o[2], o[3]) }, is, nan, v, v)
}

// tailMask returns the mask of the lowest n lanes, n < width.
func (g *gen) tailMask(n gp) op {
	if !g.isa.masks {
		// Load the mask from the middle of a row of ones and zeros.
		ones, at := uint64(1<<64-1), g.GP64()
		t := g.GP64()
		g.LEAQ(g.constant("ones", ones, ones, ones, ones, 0, 0, 0, 0), t)
		g.MOVQ(n, at)
		g.NEGQ(at)
		m := g.YMM()
		g.VMOVUPD(mem{Base: t, Index: at, Scale: uint8(g.elem.size), Disp: 32}, m)
		return m
	}
	bits := g.GP64()
	g.MOVQ(operand.U32(1), bits)
	g.SHLXQ(n, bits, bits)
	g.DECQ(bits)
	k := g.K()
	g.KMOVW(bits.As32(), k)
	return k
}

// loadMasked loads the lanes in the mask and sets the others to zero.
func (g *gen) loadMasked(m mem, mask op, v vec) {
	if g.isa.masks {
		g.moveZ(m, mask, v)
		return
	}
	g.pick(func(o ...op) { g.VMASKMOVPD(o[0], o[1], o[2]) }, func(o ...op) { g.VMASKMOVPS(o[0], o[1], o[2]) }, m, mask, v)
}

// storeMasked stores the lanes in the mask.
func (g *gen) storeMasked(v vec, mask op, m mem) {
	if g.isa.masks {
		g.move(v, mask, m)
		return
	}
	g.pick(func(o ...op) { g.VMASKMOVPD(o[0], o[1], o[2]) }, func(o ...op) { g.VMASKMOVPS(o[0], o[1], o[2]) }, v, mask, m)
}

// clearUnmasked sets the lanes outside the mask to zero.
func (g *gen) clearUnmasked(v vec, mask op) {
	if g.isa.masks {
		g.pick(func(o ...op) { g.VMOVAPD_Z(o[0], o[1], o[2]) }, func(o ...op) { g.VMOVAPS_Z(o[0], o[1], o[2]) }, v, mask, v)
		return
	}
	g.VANDPD(mask, v, v)
}
