package direct

// Words are the shared words of the replicas of a rank; replica i has the
// words k of 0 to first+MaxTasks-1, all 0 at first. Operations on them are in
// one order that all replicas see, and what a replica wrote to memory before
// is seen by who has seen the word.
type Words interface {
	Load(replica, k int) uint64
	Store(replica, k int, v uint64)
	CompareAndSwap(replica, k int, old, new uint64) bool
	// Mark sets a word of this replica, for others to look at after its death: what
	// it did before the Mark is seen by who sees the word then, and nothing that it
	// did after the Mark without the word. It need not be in the one order of the
	// other operations.
	Mark(k int, v uint64)
}

// MaxTasks is how many tasks a section may have.
const MaxTasks = 1024

// The words of a replica: what it has launched in its section, 1 + the number
// of the last section that it could not complete by stores, then one for each
// task, and one for how many of its elements are done.
const (
	wordSignature = iota
	wordRefused
	first
	firstReached = first + MaxTasks
)

// NumWords is how many words a replica needs.
const NumWords = firstReached + MaxTasks

// word is that of a task: the section, and who may write what it writes.
type word struct {
	section uint64 // 1 + its number
	owner   int
	state   state
}

// state of a task in the arrays of one replica.
type state uint8

const (
	free     state = iota // as at the entry of the section
	claimed               // the owner runs it, or stores its result here
	computed              // done by this replica itself, which may store it elsewhere
	done                  // stored by the owner
)

const (
	stateBits = 2
	ownerBits = 6
)

func (w word) pack() uint64 {
	return w.section<<(ownerBits+stateBits) | uint64(w.owner)<<stateBits | uint64(w.state)
}

func unpack(v uint64) word {
	return word{
		section: v >> (ownerBits + stateBits),
		owner:   int(v >> stateBits & (1<<ownerBits - 1)),
		state:   state(v & (1<<stateBits - 1)),
	}
}
