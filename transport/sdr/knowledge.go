package sdr

import "slices"

// clock counts the progress of a rank in a clock domain: the epochs that it has begun, and
// its operations since the beginning of the last one. An epoch begins with a collective of
// all ranks. At least one rank does not leave that collective before all ranks have begun
// it.
type clock struct{ epoch, count uint64 }

func (a clock) less(b clock) bool {
	return a.epoch < b.epoch || a.epoch == b.epoch && a.count < b.count
}

// entry is the clock of one rank.
type entry struct {
	rank int
	clock
}

// knowledge is a vector clock: the known clocks of all ranks in a domain. All ranks have
// begun the epoch base. The ranks in above, in ascending order, have done more. Ranks that
// had one replica from the start are left out, because no other replica of theirs can lag
// behind.
type knowledge struct {
	base  uint64
	above []entry
}

// raise records that all ranks have begun an epoch, and reports whether that was new.
func (k *knowledge) raise(base uint64) bool {
	if base <= k.base {
		return false
	}
	k.base = base
	k.above = slices.DeleteFunc(k.above, func(e entry) bool { return !k.exceeded(e.clock) })
	return true
}

// exceeded reports whether the clock at is later than the clock that base implies.
func (k *knowledge) exceeded(at clock) bool { return clock{epoch: k.base}.less(at) }

// at returns the clock of a rank.
func (k *knowledge) at(rank int) clock {
	for _, e := range k.above {
		if e.rank == rank {
			return e.clock
		}
	}
	return clock{epoch: k.base}
}

// learn adds an entry, and reports whether it was new.
func (k *knowledge) learn(e entry) bool {
	if len(k.above) == 1 && k.above[0].rank == e.rank { // the usual case in small jobs
		if !k.above[0].less(e.clock) {
			return false
		}
		k.above[0].clock = e.clock
		return true
	}
	return k.join(new(int), e)
}

// join is like learn, for a series of entries in ascending order of ranks. *i is the index
// at which the previous entry was added; join advances it.
func (k *knowledge) join(i *int, e entry) bool {
	if !k.exceeded(e.clock) {
		return false
	}
	for *i < len(k.above) && k.above[*i].rank < e.rank {
		*i++
	}
	switch {
	case *i == len(k.above) || k.above[*i].rank > e.rank:
		k.above = slices.Insert(k.above, *i, e)
	case k.above[*i].less(e.clock):
		k.above[*i] = e
	default:
		return false
	}
	return true
}
