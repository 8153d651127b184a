package recovery

import "slices"

// Slots holds the copies that a process keeps for backups, by rank: those of the
// complete backups that the job may go back to, which are never given up for one that may
// yet fail, and that of the next.
type Slots[T any] struct {
	complete uint64 // the newest backup that is known to be complete
	ranks    map[int]*shelf[T]
}

// shelf holds the copies of one rank.
type shelf[T any] struct {
	held []kept[T] // by ascending number; at most the last one is of a backup that is not complete
	free []T       // one that nobody needs any more, or none
}

type kept[T any] struct {
	number uint64
	copy   T
}

// Full returns the number of the newest backup that is known to be complete.
func (s *Slots[T]) Full() uint64 { return s.complete }

// Reuse returns a copy of the rank that nobody needs any more, if there is
// one: the next Put replaces it.
func (s *Slots[T]) Reuse(rank int) (old T, ok bool) {
	p := s.ranks[rank]
	if p == nil || len(p.free) == 0 {
		return old, false
	}
	old, p.free = p.free[0], nil
	return old, true
}

// Put keeps the copy of a rank in the backup with that number. It takes the place of
// that of a backup which was given up. One that comes late, after that of the next
// backup, is not kept.
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

// Reached says that the backup with that number is complete, as the sender of a copy
// knew: its copy may overtake the word of the head that says so, and is not to take the
// place of one of that backup. Which others are void only the head says.
func (s *Slots[T]) Reached(number uint64) { s.complete = max(s.complete, number) }

// Complete says that the backup with that number is complete: older copies, but those
// of the backups that are kept too, may be overwritten from now on.
func (s *Slots[T]) Complete(number uint64, older []uint64) {
	if number < s.complete {
		return // a newer one is, of which the head will say so
	}
	s.complete = number
	s.keep(func(n uint64) bool { return n >= number || slices.Contains(older, n) })
}

// Back says that the job goes back to the complete backup with that number: what is
// younger is void, and of what is older all but those that are kept too.
func (s *Slots[T]) Back(number uint64, older []uint64) {
	s.complete = number
	s.keep(func(n uint64) bool { return n == number || slices.Contains(older, n) })
}

// keep has all copies overwritten from now on that are none of the wanted ones.
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
