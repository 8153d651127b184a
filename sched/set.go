package sched

import "math/bits"

// Set is a set of tasks of a section. It finds the first and the last task in a range, and
// counts the tasks in each replica's block, without looking at all tasks: sections have up
// to millions of them.
type Set struct {
	tasks  int
	counts []int // by block
	// levels[0] has a bit for each task. Each further level has a bit for each word of the
	// previous level, which is set if that word is not 0. The last level has a single word.
	levels [][]uint64
}

// Reset makes s the set of all tasks, or of none, of a section with this number of tasks
// and replicas.
func (s *Set) Reset(tasks, replicas int, all bool) {
	s.tasks = tasks
	s.counts = sized(s.counts, replicas)
	level := 0
	for n := max(tasks, 1); level == 0 || n > 1; level++ {
		words := (n + 63) / 64
		if level == len(s.levels) {
			s.levels = append(s.levels, nil)
		}
		l := sized(s.levels[level], words)
		s.levels[level] = l
		if all && tasks > 0 {
			for i := range l {
				l[i] = ^uint64(0)
			}
			l[words-1] >>= uint(words*64 - n)
		}
		n = words
	}
	s.levels = s.levels[:level]
	if all {
		for i := range s.counts {
			lo, hi := Block(tasks, replicas, i)
			s.counts[i] = hi - lo
		}
	}
}

// sized returns n zeros. It reuses the memory of s if that is large enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Has reports whether t is in the set.
func (s *Set) Has(t int) bool { return s.levels[0][t>>6]>>(t&63)&1 == 1 }

// Add adds t to the set.
func (s *Set) Add(t int) {
	if s.Has(t) {
		return
	}
	s.counts[Owner(s.tasks, len(s.counts), t)]++
	for _, l := range s.levels {
		empty := l[t>>6] == 0
		l[t>>6] |= 1 << (t & 63)
		if !empty {
			return
		}
		t >>= 6
	}
}

// Remove removes t from the set.
func (s *Set) Remove(t int) {
	if !s.Has(t) {
		return
	}
	s.counts[Owner(s.tasks, len(s.counts), t)]--
	for _, l := range s.levels {
		l[t>>6] &^= 1 << (t & 63)
		if l[t>>6] != 0 {
			return
		}
		t >>= 6
	}
}

// Count returns the number of tasks in the set from replica i's block.
func (s *Set) Count(i int) int { return s.counts[i] }

// First returns the first of the tasks lo to hi-1 that are in the set. With back it returns
// the last one.
func (s *Set) First(lo, hi int, back bool) (task int, ok bool) {
	if lo >= hi {
		return 0, false
	}
	if back {
		task = s.before(hi - 1)
	} else {
		task = s.from(lo)
	}
	return task, lo <= task && task < hi
}

// from returns the first task of the set that is at least t, or -1.
func (s *Set) from(t int) int {
	for l, words := range s.levels {
		if t>>6 >= len(words) {
			return -1
		}
		if w := words[t>>6] >> (t & 63); w != 0 {
			t += bits.TrailingZeros64(w)
			for ; l > 0; l-- {
				t = t<<6 + bits.TrailingZeros64(s.levels[l-1][t])
			}
			return t
		}
		t = t>>6 + 1
	}
	return -1
}

// before returns the last task of the set that is at most t, or -1.
func (s *Set) before(t int) int {
	for l, words := range s.levels {
		if t < 0 {
			return -1
		}
		if w := words[t>>6] << (63 - t&63); w != 0 {
			t -= bits.LeadingZeros64(w)
			for ; l > 0; l-- {
				t = t<<6 + 63 - bits.LeadingZeros64(s.levels[l-1][t])
			}
			return t
		}
		t = t>>6 - 1
	}
	return -1
}
