package engine

import (
	"slices"
	"unsafe"

	"github.com/intrahpc/intra/internal/replica/kept"
)

// pins is memory of the program that may be current on one replica only. It keeps the garbage
// collector from reusing that memory. The pieces are disjoint, in the order of their addresses.
type pins []pin

type pin struct {
	kept.Span
	mem []byte
}

func spanOf(mem []byte) kept.Span {
	lo := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(mem))))
	return kept.Span{Lo: lo, Hi: lo + uint64(len(mem))}
}

// at returns the index of the first piece that ends beyond an address.
func (p pins) at(address uint64) int {
	i, _ := slices.BinarySearchFunc(p, address, func(x pin, a uint64) int {
		if x.Hi <= a {
			return -1
		}
		return 1
	})
	return i
}

// add adds those parts of mem that p lacks.
func (p *pins) add(mem []byte) {
	all := spanOf(mem)
	for lo := all.Lo; lo < all.Hi; {
		i := p.at(lo)
		hi := all.Hi
		if i < len(*p) {
			if x := (*p)[i]; x.Lo <= lo {
				lo = x.Hi
				continue
			} else {
				hi = min(hi, x.Lo)
			}
		}
		*p = slices.Insert(*p, i, pin{kept.Span{Lo: lo, Hi: hi}, mem[lo-all.Lo : hi-all.Lo]})
		lo = hi
	}
}

// in calls use with the memory of s, which p has, in order.
func (p pins) in(s kept.Span, use func(mem []byte)) {
	for i := p.at(s.Lo); s.Lo < s.Hi; i++ {
		x := p[i]
		hi := min(s.Hi, x.Hi)
		use(x.mem[s.Lo-x.Lo : hi-x.Lo])
		s.Lo = hi
	}
}

// prune removes the pieces that are current on both replicas.
func (p *pins) prune(current func(kept.Span) bool) {
	*p = slices.DeleteFunc(*p, func(x pin) bool { return current(x.Span) })
}
