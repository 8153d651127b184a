package direct

// Words are the shared words of the replicas of a rank. Replica i has the words k of 0 to
// NumWords-1, all 0 at first. All replicas see the operations in the same order. A replica
// that reads a word also sees everything that its writer wrote to memory before.
type Words interface {
	Load(replica, k int) uint64
	Store(replica, k int, v uint64)
	CompareAndSwap(replica, k int, old, new uint64) bool
	// Mark sets a word of this replica for its peers to read after its death. A peer that
	// reads the word also sees all writes before the Mark. A peer that does not see it sees
	// no write after the Mark. A Mark need not be in the same order for all replicas as the
	// other operations.
	Mark(k int, v uint64)
}

// MaxTasks is the largest number of tasks in a section.
const MaxTasks = 1024

// The words of a replica are: the signature of the tasks that it has launched, 1 + the
// last section that it refused to complete by stores, one word for each task, and for each
// task the number of its completed elements. The words of tasks begin at a cache line: then
// two replicas that each claim their half of a section change different lines.
const (
	wordSignature = iota
	wordRefused
	first        = lineWords
	firstReached = first + MaxTasks
)

// lineWords is the number of words in a cache line.
const lineWords = 8

// NumWords is the number of words that each replica needs.
const NumWords = firstReached + MaxTasks

// word is the content of the shared word of a task: its section, the replica that
// may write its results, and its state.
type word struct {
	section uint64 // 1 + the number of the section
	owner   int
	state   state
}

// state is the state of a task in the arrays of one replica.
type state uint8

const (
	free     state = iota // unclaimed; the arrays hold what they held when the replica entered the section
	claimed               // the owner runs it, or is storing its result here
	computed              // the result is here: this replica has computed it or taken it over, and may store it elsewhere
	done                  // the owner has stored the result
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
