package sdr

import (
	"math/bits"
	"slices"
)

// maxAhead bounds the distance of a number from the lowest missing one. No program has that
// many messages under way in one stream. The bound keeps a corrupt number from making the
// receiver allocate memory.
const maxAhead = 1 << 22

// numbers is a set of message numbers: all numbers below low, and some beyond it.
type numbers struct {
	low   uint64   // every number below is in the set; low itself is not
	base  uint64   // number of bit 0 of words[0], a multiple of 64
	words []uint64 // empty, or covers [base, base+64*len(words)), base <= low
}

func (s *numbers) has(n uint64) bool {
	if n < s.low {
		return true
	}
	w := (n - s.base) / 64
	return w < uint64(len(s.words)) && s.words[w]>>(n%64)&1 != 0
}

// end returns a number greater than all in the set.
func (s *numbers) end() uint64 { return max(s.low, s.base+64*uint64(len(s.words))) }

// far reports whether n is too far ahead to be valid.
func (s *numbers) far(n uint64) bool { return n >= s.low && n-s.low >= maxAhead || n == ackAll }

// add adds n, for which far must be false, to the set.
func (s *numbers) add(n uint64) {
	if n < s.low {
		return
	}
	if n == s.low && len(s.words) == 0 {
		s.low++
		return
	}
	s.cover(n)
	s.words[(n-s.base)/64] |= 1 << (n % 64)
	s.settle()
}

// cover makes room for n.
func (s *numbers) cover(n uint64) {
	if len(s.words) == 0 {
		s.base = s.low &^ 63
	}
	if w := int((n - s.base) / 64); w >= len(s.words) {
		s.words = append(s.words, make([]uint64, w+1-len(s.words))...)
	}
}

// settle moves low past the numbers that have become contiguous, and drops the words below
// it.
func (s *numbers) settle() {
	for len(s.words) > 0 {
		at := s.low - s.base
		w := at / 64
		if w > 0 {
			s.words = slices.Delete(s.words, 0, int(min(w, uint64(len(s.words)))))
			s.base += 64 * w
			continue
		}
		run := uint64(bits.TrailingZeros64(^(s.words[0] >> (at % 64))))
		if run == 0 {
			return
		}
		s.low += min(run, 64-at%64)
	}
}

// merge adds a set to s: all numbers below low, and the bits of words, whose first bit is
// number base (a multiple of 64).
func (s *numbers) merge(low, base uint64, words []uint64) {
	if low > s.low {
		s.low = low
		s.settle()
	}
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			n := base + 64*uint64(i) + uint64(bits.TrailingZeros64(w))
			if !s.has(n) && !s.far(n) {
				s.add(n)
			}
		}
	}
}

// beyond returns the words for merge, beginning at number low&^63.
func (s *numbers) beyond() []uint64 {
	if len(s.words) == 0 {
		return nil
	}
	return s.words[(s.low-s.base)/64:]
}
