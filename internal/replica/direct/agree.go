package direct

// Way is how the replicas complete a section.
type Way uint8

// The ways.
const (
	Replicate Way = iota // each runs every task
	Send                 // results are sent
	SendOnly             // results are sent: the arrays of the replica that says so cannot be stored into
	Store                // results are stored, by the table of claims
)

// Moment is when a section is entered.
type Moment struct {
	Generation uint32 // how often the job has gone back
	Section    uint64
}

// Agreements are words that all replicas of a rank have in common, 0 at first.
// Words says what holds for operations on them.
type Agreements interface {
	Load(k int) uint64
	CompareAndSwap(k int, old, new uint64) bool
}

// NumAgreements is how many: a replica may be that far behind another one, in
// sections.
const NumAgreements = 64

// Agree returns the way in which all replicas go in a section: that of the
// first of them to come to it. A replica that is far behind the others sends.
func Agree(words Agreements, at Moment, mine Way) Way {
	at.Generation %= 1 << generationBits
	k := int(at.Section % NumAgreements)
	for {
		old := words.Load(k)
		switch was, way := unpackAgreement(old); {
		case was == at && old != 0:
			return way
		case was.after(at) && old != 0:
			return Send
		}
		if words.CompareAndSwap(k, old, at.pack(mine)) {
			return mine
		}
	}
}

func (m Moment) after(o Moment) bool {
	return m.Generation > o.Generation || m.Generation == o.Generation && m.Section > o.Section
}

// An agreement is the generation, the section and, so that no agreement is 0,
// 1 + the way.
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
