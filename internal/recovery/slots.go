package recovery

// Slots holds the copies that a process keeps for backups, two per rank: that
// of the last complete backup, which is never given up for one that may yet
// fail, and that of the next.
type Slots[T any] struct {
	complete uint64
	ranks    map[int]*pair[T]
}

type pair[T any] struct {
	full, next kept[T]
}

type kept[T any] struct {
	number uint64 // 0: empty
	copy   T
}

// Full returns the number of the last complete backup.
func (s *Slots[T]) Full() uint64 { return s.complete }

// Reuse returns a copy of the rank that nobody needs any more, if there is
// one: the next Put replaces it.
func (s *Slots[T]) Reuse(rank int) (old T, ok bool) {
	p := s.ranks[rank]
	if p == nil || p.next.number == 0 {
		return old, false
	}
	old = p.next.copy
	p.next = kept[T]{}
	return old, true
}

// Put keeps the copy of a rank in the backup with that number. One that comes
// late, after that of a newer backup, is not kept.
func (s *Slots[T]) Put(rank int, number uint64, copy T) bool {
	if number < s.complete {
		return false
	}
	if s.ranks == nil {
		s.ranks = make(map[int]*pair[T])
	}
	p := s.ranks[rank]
	if p == nil {
		p = new(pair[T])
		s.ranks[rank] = p
	}
	switch {
	case number == s.complete:
		p.full = kept[T]{number, copy}
	case number < p.next.number:
		return false
	default:
		p.next = kept[T]{number, copy}
	}
	return true
}

// Complete says that the backup with that number is complete: older copies
// may be overwritten from now on. A copy may overtake this word of the head,
// so each comes with the last number that its sender knew to be complete, and
// that is said first.
func (s *Slots[T]) Complete(number uint64) {
	if number <= s.complete {
		return
	}
	s.complete = number
	for _, p := range s.ranks {
		switch {
		case p.next.number == number:
			p.full, p.next = p.next, p.full
		case p.next.number > number: // the copy of a newer one was quicker than this word
			p.full = kept[T]{}
		default:
			p.full, p.next = kept[T]{}, p.full
		}
	}
}

// Back says that the job goes back to the complete backup with that number:
// what is younger is void.
func (s *Slots[T]) Back(number uint64) {
	s.Complete(number)
	for _, p := range s.ranks {
		p.next = kept[T]{}
	}
}

// Get returns the copy of a rank in the backup with that number.
func (s *Slots[T]) Get(rank int, number uint64) (copy T, ok bool) {
	p := s.ranks[rank]
	switch {
	case p == nil || number == 0:
	case p.full.number == number:
		return p.full.copy, true
	case p.next.number == number:
		return p.next.copy, true
	}
	return copy, false
}
