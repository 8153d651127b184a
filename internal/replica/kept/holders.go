package kept

import (
	"cmp"
	"slices"
)

// Span is memory of this replica, by address. The replicas of a rank have the same
// variables at different addresses.
type Span struct{ Lo, Hi uint64 }

func (s Span) size() uint64 { return s.Hi - s.Lo }

func size(spans []Span) (n uint64) {
	for _, s := range spans {
		n += s.size()
	}
	return n
}

// clip returns the part of s that lies in o, which is empty if Lo >= Hi.
func (s Span) clip(o Span) Span { return Span{max(s.Lo, o.Lo), min(s.Hi, o.Hi)} }

func (s Span) in(o Span) bool { return o.Lo <= s.Lo && s.Hi <= o.Hi }

// set is a set of replicas: bit k is replica k.
type set uint8

func (s set) has(k int) bool { return s>>k&1 != 0 }

// run is a span that some live replica lacks.
type run struct {
	Span
	by set // the live replicas that have its current bytes; none: the bytes are lost
}

// holders is the map of the memory of a rank: it records which replicas have the current
// bytes. At the same place of the program it is the same on both replicas, variable by
// variable.
type holders struct {
	live set
	// runs are the spans that some live replica lacks. They are disjoint and in the order of
	// their addresses. Adjacent runs have different holders. Memory in no run is current on
	// every live replica.
	runs []run
}

// put records that exactly these replicas have the current bytes of s.
func (h *holders) put(s Span, by set) {
	if s.Lo >= s.Hi {
		return
	}
	by &= h.live
	// Runs change from the first one that ends at s or after its beginning, up to the first
	// one that begins after s.
	i, _ := slices.BinarySearchFunc(h.runs, s.Lo, func(r run, lo uint64) int {
		return cmp.Or(cmp.Compare(r.Hi, lo), 1)
	})
	j := i
	var changed []run
	add := func(s Span, by set) {
		last := len(changed) - 1
		switch {
		case s.Lo >= s.Hi || by == h.live:
		case last >= 0 && changed[last].Hi == s.Lo && changed[last].by == by:
			changed[last].Hi = s.Hi
		default:
			changed = append(changed, run{s, by})
		}
	}
	var behind []run
	for ; j < len(h.runs) && h.runs[j].Lo <= s.Hi; j++ {
		r := h.runs[j]
		add(r.clip(Span{0, s.Lo}), r.by)
		if r.Hi > s.Hi {
			behind = append(behind, run{r.clip(Span{s.Hi, r.Hi}), r.by})
		}
	}
	add(s, by)
	for _, r := range behind {
		add(r.Span, r.by)
	}
	h.runs = slices.Replace(h.runs, i, j, changed...)
}

// within returns the runs in s, cut off at its ends. The memory beyond an end may belong
// to another variable on the other replica.
func (h *holders) within(s Span) []run {
	i, _ := slices.BinarySearchFunc(h.runs, s.Lo, func(r run, lo uint64) int {
		return cmp.Or(cmp.Compare(r.Hi, lo), -1)
	})
	var list []run
	for ; i < len(h.runs) && h.runs[i].Lo < s.Hi; i++ {
		list = append(list, run{h.runs[i].clip(s), h.runs[i].by})
	}
	return list
}

// dies removes a replica. Bytes that only it had are lost.
func (h *holders) dies(replica int) {
	h.live &^= 1 << replica
	old := h.runs
	h.runs = nil
	for _, r := range old {
		if r.by &= h.live; r.by != h.live {
			h.put(r.Span, r.by)
		}
	}
}

// bytes returns the number of bytes in runs, except those in the spans of except.
func (h *holders) bytes(except []Span) (n uint64) {
	for _, r := range h.runs {
		n += r.size()
		for _, s := range except {
			if c := r.clip(s); c.Lo < c.Hi {
				n -= c.size()
			}
		}
	}
	return n
}
