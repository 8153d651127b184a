package direct

// Way is how the replicas complete a section.
type Way uint8

// These are the ways in which replicas complete a section.
const (
	Replicate Way = iota // each replica runs every task
	Send                 // results are sent
	SendOnly             // results are sent, because they cannot be stored into the arrays of the replica that chooses this way
	Store                // results are stored, according to the table of claims
)

// Moment identifies the entry of a section in one generation of the job.
type Moment struct {
	Generation uint32 // number of rollbacks of the job so far
	Section    uint64
}

// Agreements are words that all replicas of a rank share, initially 0. Their operations
// follow the rules of Words.
type Agreements interface {
	Load(k int) uint64
	CompareAndSwap(k int, old, new uint64) bool
}

// NumAgreements is the number of words. It bounds the number of sections that a replica
// may lag behind another one before the word of its section is reused.
const NumAgreements = 64

// Agree returns the way in which all replicas complete a section. The first replica that
// enters it decides. ok is false if the word was already reused for a later section: the
// replica that reused it has left this section, so nothing may be stored into its arrays.
func Agree(words Agreements, at Moment, mine Way) (way Way, ok bool) {
	at.Generation %= 1 << generationBits
	k := int(at.Section % NumAgreements)
	for {
		old := words.Load(k)
		switch was, way := unpackAgreement(old); {
		case was == at && old != 0:
			return way, true
		case was.after(at) && old != 0:
			return 0, false
		}
		if words.CompareAndSwap(k, old, at.pack(mine)) {
			return mine, true
		}
	}
}

func (m Moment) after(o Moment) bool {
	return m.Generation > o.Generation || m.Generation == o.Generation && m.Section > o.Section
}

// An agreement packs the generation, the section and 1 + the way. So no agreement is 0.
const (
	wayBits        = 3
	sectionBits    = 45
	generationBits = 64 - sectionBits - wayBits
)

func (m Moment) pack(w Way) uint64 {
	return uint64(m.Generation)<<(sectionBits+wayBits) | m.Section&(1<<sectionBits-1)<<wayBits | uint64(w+1)
}

func unpackAgreement(v uint64) (Moment, Way) {
	return Moment{uint32(v >> (sectionBits + wayBits)), v >> wayBits & (1<<sectionBits - 1)}, Way(v&(1<<wayBits-1)) - 1
}
