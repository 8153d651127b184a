package section

import "time"

// inbox keeps frames about sections that this replica has not entered. It is bounded per
// peer. An update that does not fit is skipped, because this replica can compute the task
// itself.
type inbox struct {
	limit     int64
	bytes     []int64            // bytes kept, by peer
	skippedTo []uint64           // by peer: 1 + the last section with a skipped frame
	early     map[uint64][]early // by section, in order of arrival
}

// early is a frame that arrived before its section was entered.
type early struct {
	peer  int
	task  int
	tasks int
	sig   uint64
	at    time.Duration // time by the clock of the peer
	size  int64
	token any
	claim bool // a claim, not an update
}

// earlyCost approximates the memory of a kept frame beside its payload.
const earlyCost = 160

func newInbox(replicas int, limit int64) inbox {
	return inbox{
		limit:     limit,
		bytes:     make([]int64, replicas),
		skippedTo: make([]uint64, replicas),
		early:     make(map[uint64][]early),
	}
}

// room reports whether an update of that size can be kept. An empty inbox keeps one update
// of any size.
func (b *inbox) room(p int, size int64) bool {
	return b.bytes[p] == 0 || b.bytes[p]+size+earlyCost <= b.limit
}

func (b *inbox) put(section uint64, f early) bool {
	if !b.room(f.peer, f.size) {
		b.skip(f.peer, section)
		return false
	}
	b.bytes[f.peer] += f.size + earlyCost
	b.early[section] = append(b.early[section], f)
	return true
}

// skip records that a frame of p was not kept.
func (b *inbox) skip(p int, section uint64) {
	b.skippedTo[p] = max(b.skippedTo[p], section+1)
}

// skipped reports whether a frame of p about the section was not kept. It returns true for
// earlier sections as well, because p is known to be ahead of them.
func (b *inbox) skipped(p int, section uint64) bool { return b.skippedTo[p] > section }

// forget drops the frames that a peer sent in its former life.
func (b *inbox) forget(p int) {
	b.skippedTo[p] = 0
	for n, frames := range b.early {
		kept := frames[:0]
		for _, f := range frames {
			if f.peer == p {
				b.bytes[p] -= f.size + earlyCost
				continue
			}
			kept = append(kept, f)
		}
		b.early[n] = kept
	}
}

// take removes and returns the frames about a section.
func (b *inbox) take(section uint64) []early {
	if len(b.early) == 0 {
		return nil
	}
	frames := b.early[section]
	if len(frames) == 0 {
		return nil
	}
	delete(b.early, section)
	for _, f := range frames {
		b.bytes[f.peer] -= f.size + earlyCost
	}
	return frames
}
