package verify

import "math/bits"

// Place is a point at which the replicas of a rank hash data that must be equal on all
// of them: the entry of a section, or a safe point. Places of a kind are counted from
// 1.
type Place struct {
	Kind   PlaceKind
	Number uint64
}

// AtEnd stands for the end of the program, as the number of a safe point.
const AtEnd = 1 << 63

// PlaceKind is the kind of a place.
type PlaceKind uint8

// The kinds of places.
const (
	AtSection PlaceKind = iota
	AtSafePoint
)

// Before reports whether p comes before o in the order of places, in which all safe points
// come after all sections.
func (p Place) Before(o Place) bool {
	return p.Kind < o.Kind || p.Kind == o.Kind && p.Number < o.Number
}

// Difference describes where the hashes of two replicas differ.
type Difference struct {
	Place   Place
	A, B    int       // the two replicas; A is the lower one
	Index   int       // index of the first hash that differed
	Lengths bool      // the replicas had different numbers of hashes, which are equal before Index
	Hashes  [2]uint64 // hash of A and of B at Index; with Lengths, their numbers of hashes
}

// differ compares the hashes of two replicas at a place.
func differ(at Place, a, b int, of, other []uint64) *Difference {
	if a > b {
		a, b, of, other = b, a, other, of
	}
	for i := range min(len(of), len(other)) {
		if of[i] != other[i] {
			return &Difference{Place: at, A: a, B: b, Index: i, Hashes: [2]uint64{of[i], other[i]}}
		}
	}
	if len(of) != len(other) {
		return &Difference{Place: at, A: a, B: b, Index: min(len(of), len(other)), Lengths: true, Hashes: [2]uint64{uint64(len(of)), uint64(len(other))}}
	}
	return nil
}

// kept is the number of hashes of each level that a replica keeps. Level k holds those
// at multiples of 2^k that are not multiples of 2^(k+1).
const kept = 16

// hashes keeps the newest hashes of a replica, equally many of each level. So two replicas
// have a common hashed place at some level, even if one is far ahead.
type hashes struct {
	at   map[Place][]uint64
	last map[Place][]Place // the kept places, by their kind and level
}

func newHashes() hashes {
	return hashes{at: make(map[Place][]uint64), last: make(map[Place][]Place)}
}

func (h *hashes) put(p Place, of []uint64) {
	level := Place{p.Kind, uint64(bits.TrailingZeros64(p.Number))}
	last := append(h.last[level], p)
	if len(last) > kept {
		delete(h.at, last[0])
		last = append(last[:0], last[1:]...)
	}
	h.at[p], h.last[level] = of, last
}
