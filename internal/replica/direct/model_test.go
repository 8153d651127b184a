package direct

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"slices"
)

// world is all replicas of a rank with their words and arrays. In each turn one replica
// makes one access to shared memory. A choice selects the next turn.
type world struct {
	shape
	words    [][]uint64
	arrays   [][]int // by replica and element: the number of sections that updated it, or torn
	agreed   []uint64
	replicas []*replica
	deaths   int
	joins    int
	wrong    string
	encoded  []byte // memory of state and atTop
}

// shape is the size of a world.
type shape struct {
	replicas, tasks, sections int
	deaths                    int  // maximum number of deaths
	joins                     int  // maximum number of joins; a dead replica is replaced when all others are between the same two sections
	elements                  int  // elements of a task, computed in order and stored at once; 0: one element, stored later
	batches                   bool // a replica claims all tasks of its block at once
	own                       bool // each replica runs task 0 for itself, before other tasks
	ways                      bool // the replicas prefer different ways, and the last one cannot store
	rule                      rule
}

// rule is a rule of the protocol that a test leaves out.
type rule int

const (
	all          rule = iota
	noGate            // a peer stores to a replica that has not entered, or has left
	noSnapshot        // stores begin before the whole result is computed
	neverTake         // a task of a dead replica is always run again
	hastyTaking       // a claim is taken over while its owner lives
	oldWords          // a joiner uses the words of the dead process
	sharedOwn         // other replicas can claim a task that each replica runs itself
	storedFirst       // elements are stored before they are marked
	computedLast      // elements are marked before they are computed
	fromStart         // a replica that takes a task over runs all elements
	sleepOn           // no replica is notified of claims that are given back
)

var seed = maphash.MakeSeed()

func newWorld(s shape) *world {
	w := &world{shape: s, agreed: make([]uint64, NumAgreements), encoded: make([]byte, 0, 1024)}
	for i := range s.replicas {
		w.words = append(w.words, make([]uint64, firstReached+s.tasks))
		w.arrays = append(w.arrays, make([]int, s.tasks*s.each()))
		w.replicas = append(w.replicas, w.replica(i, 0))
	}
	return w
}

// each returns the number of elements of a task; at returns the index of one of them.
func (s shape) each() int { return max(s.elements, 1) }

func (s shape) at(t, e int) int { return t*s.each() + e }

// meeting returns the section that all live replicas are about to enter, if they also know of all
// deaths. A replacement can join there.
func (w *world) meeting() (section int, ok bool) {
	section = -1
	for _, r := range w.replicas {
		if r.dead {
			continue
		}
		for p, other := range w.replicas {
			ok = !other.dead || r.known[p]
			if !ok {
				return 0, false
			}
		}
		if !r.between || r.ended || section >= 0 && r.section != section {
			return 0, false
		}
		section = r.section
	}
	return section, section >= 0
}

// join replaces a dead replica by one in another life.
func (w *world) join(i int) {
	section, _ := w.meeting()
	if w.rule != oldWords {
		w.words[i] = make([]uint64, firstReached+w.tasks)
	}
	r := w.replica(i, section)
	r.between = true
	for p, other := range w.replicas {
		if r.known[p] = other.dead && p != i; !other.dead {
			other.known[i] = false
			w.arrays[i] = slices.Clone(w.arrays[p])
		}
	}
	w.replicas[i] = r
	w.joins++
	w.wakeAll()
}

func (w *world) close() {
	for _, r := range w.replicas {
		r.stop()
	}
}

// wake wakes a replica that may sleep.
func (w *world) wake(p int) { w.replicas[p].blocked, w.replicas[p].stale = false, true }

func (w *world) wakeAll() {
	for p := range w.replicas {
		w.wake(p)
	}
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// choice is the next event: a replica takes a step, dies, is informed of a death, or
// joins.
type choice struct {
	kind   byte // 'g', 'd', 'h' or 'j', in this order of events
	who, p int
}

func (c choice) String() string { return fmt.Sprintf("%c%d.%d", c.kind, c.who, c.p) }

func (w *world) choices() (all []choice) {
	alive := 0
	for _, r := range w.replicas {
		if !r.dead {
			alive++
		}
	}
	_, meet := w.meeting()
	for i, r := range w.replicas {
		if r.dead {
			if meet && w.joins < w.shape.joins {
				all = append(all, choice{'j', i, 0})
			}
			continue
		}
		if !r.ended && !r.blocked {
			all = append(all, choice{'g', i, 0})
		}
		if !r.ended && w.deaths < w.shape.deaths && alive > 1 {
			all = append(all, choice{'d', i, 0})
		}
		for p, other := range w.replicas {
			if !r.ended && !r.known[p] && p != i && (other.dead || w.rule == hastyTaking && w.deaths < w.shape.deaths) {
				all = append(all, choice{'h', i, p})
			}
		}
	}
	return all
}

func (w *world) do(c choice) {
	r := w.replicas[c.who]
	switch c.kind {
	case 'g':
		r.next()
	case 'd':
		r.dead = true
		w.deaths++
		r.stop()
	case 'j':
		w.join(c.who)
	case 'h':
		r.known[c.p] = true
		w.wake(c.who)
		if !w.replicas[c.p].dead {
			w.deaths++
		}
	}
}

// stuck reports replicas that can never continue.
func (w *world) stuck() {
	for _, r := range w.replicas {
		if !r.dead && !r.ended {
			w.fail("replica %d hangs in section %d: %v", r.me, r.section, w.words)
		}
	}
}

// state identifies the world as far as its possible futures depend on it.
func (w *world) state() uint64 {
	b := w.encoded[:0]
	for i, r := range w.replicas {
		for at, v := range w.words[i] {
			if v != 0 { // most words are 0
				b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(b, uint64(at)), v)
			}
		}
		b = appendInts(b, w.arrays[i])
		b = append64(b, r.top, r.history, uint64(r.section), uint64(r.way))
		b = appendBools(b, r.dead, r.ended, r.stale, r.blocked, r.between)
		b = appendBools(b, r.known...)
	}
	b = append64(b, uint64(w.deaths), uint64(w.joins))
	if w.ways {
		b = append64(b, w.agreed[:4]...)
	}
	w.encoded = b
	return maphash.Bytes(seed, b)
}

func append64(b []byte, all ...uint64) []byte {
	for _, v := range all {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return b
}

// appendInts appends a list with its length.
func appendInts(b []byte, list []int) []byte {
	b = append64(b, uint64(len(list)))
	for _, v := range list {
		b = append64(b, uint64(v))
	}
	return b
}

func appendBools(b []byte, all ...bool) []byte {
	for _, v := range all {
		n := byte(0)
		if v {
			n = 1
		}
		b = append(b, n)
	}
	return b
}
