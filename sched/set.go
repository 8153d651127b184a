package sched

import "math/bits"

// Set is a set of tasks of a section. It finds the first and the last of a
// range, and knows how many there are of each replica's block, without a look at
// all: sections have up to millions of tasks.
type Set struct {
	tasks  int
	counts []int // by block
	// levels[0] has a bit for each task, each further one a bit for each word of
	// the one before that is not 0, up to one of a single word.
	levels [][]uint64
}

// Reset makes s the set of all tasks, or of none, of a section of so many tasks
// for so many replicas.
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

// sized returns n zeros, in the memory of s if there is enough.
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

// Add puts t into the set.
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

// Remove takes t out of the set.
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

// Count is how many tasks of replica i's block are in the set.
func (s *Set) Count(i int) int { return s.counts[i] }

// First returns the first of the tasks lo to hi-1 that are in the set, or, with
// back, the last.
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

// from returns the first task of the set that is not below t, -1 if there is
// none.
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

// before returns the last task of the set that is not above t, -1 if there is
// none.
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
