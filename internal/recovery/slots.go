package recovery

import "slices"

// Slots holds the copies that a process keeps for backups, by rank: those of the complete
// backups that the job may roll back to, and that of the next backup. A copy of the next
// backup never replaces one of a complete backup, since the next backup may still fail.
type Slots[T any] struct {
	complete uint64 // the newest backup that is known to be complete
	ranks    map[int]*shelf[T]
}

// shelf holds the copies of one rank.
type shelf[T any] struct {
	held []kept[T] // in ascending order; only the last one may belong to an incomplete backup
	free []T       // at most one copy that is no longer needed
}

type kept[T any] struct {
	number uint64
	copy   T
}

// Full returns the number of the newest backup that is known to be complete.
func (s *Slots[T]) Full() uint64 { return s.complete }

// Reuse removes and returns a copy of the rank that no backup needs any more. The caller may
// overwrite it. ok is false if there is none.
func (s *Slots[T]) Reuse(rank int) (old T, ok bool) {
	p := s.ranks[rank]
	if p == nil || len(p.free) == 0 {
		return old, false
	}
	old, p.free = p.free[0], nil
	return old, true
}

// Put keeps the copy of a rank in the backup with that number, and discards the copy of a
// backup that was abandoned. It does not keep a copy that arrives late, after that of the
// next backup, and returns false.
func (s *Slots[T]) Put(rank int, number uint64, copy T) bool {
	if s.ranks == nil {
		s.ranks = make(map[int]*shelf[T])
	}
	p := s.ranks[rank]
	if p == nil {
		p = new(shelf[T])
		s.ranks[rank] = p
	}
	if number > s.complete && len(p.held) > 0 && p.held[len(p.held)-1].number > number {
		return false
	}
	p.free = nil
	p.held = slices.DeleteFunc(p.held, func(k kept[T]) bool {
		return k.number == number || k.number > s.complete && k.number < number
	})
	at := len(p.held)
	for at > 0 && p.held[at-1].number > number {
		at--
	}
	p.held = slices.Insert(p.held, at, kept[T]{number, copy})
	return true
}

// Reached records that the backup with that number is complete, according to the sender of
// a newer copy. The newer copy may arrive before the head's order, and must not replace a
// copy of the complete backup. Only the head's order (Complete) names the older copies
// that are void.
func (s *Slots[T]) Reached(number uint64) { s.complete = max(s.complete, number) }

// Complete records that the backup with that number is complete. Copies of older backups
// may be overwritten from now on, except those of the backups listed in older.
func (s *Slots[T]) Complete(number uint64, older []uint64) {
	if number < s.complete {
		return // a newer backup is complete, and its order will follow
	}
	s.complete = number
	s.keep(func(n uint64) bool { return n >= number || slices.Contains(older, n) })
}

// Back records that the job rolls back to the complete backup with that number. Copies of
// all other backups are void, except those of the backups listed in older.
func (s *Slots[T]) Back(number uint64, older []uint64) {
	s.complete = number
	s.keep(func(n uint64) bool { return n == number || slices.Contains(older, n) })
}

// keep frees all copies except the wanted ones, so that they can be overwritten.
func (s *Slots[T]) keep(wanted func(number uint64) bool) {
	for _, p := range s.ranks {
		p.held = slices.DeleteFunc(p.held, func(k kept[T]) bool {
			if wanted(k.number) {
				return false
			}
			p.free = append(p.free[:0], k.copy)
			return true
		})
	}
}

// Get returns the copy of a rank in the backup with that number.
func (s *Slots[T]) Get(rank int, number uint64) (copy T, ok bool) {
	if p := s.ranks[rank]; p != nil {
		for _, k := range p.held {
			if k.number == number {
				return k.copy, true
			}
		}
	}
	return copy, false
}
