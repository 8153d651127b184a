package kept

import "fmt"

// FrameKind is the kind of a Frame.
type FrameKind uint8

// These are the kinds of frames between the replicas of a rank.
const (
	Pieces  FrameKind = iota // the bytes that the sibling lacks at a place of the program
	Half                     // the bytes that the sibling's image lacks, and the sender's proposal
	Applied                  // the sender has applied pieces of Bytes bytes, so it has room for as many more
	Whole                    // the sender is in a cut: all bytes that the sibling lacks
	Passed                   // the sender has passed a safe point without the cut for which the sibling has sent Whole
)

// Frame is a message from one replica to its sibling. It is sent, and arrives, as a whole.
type Frame struct {
	Kind      FrameKind
	Number    uint64 // of Pieces: number of the exchange; of Half, Whole and Passed: the safe point
	Signature uint64 // hash of the list of pieces, which both replicas compute
	Bytes     uint64
	Proposal  Proposal // the sender's proposal, in a Half
}

// Part is a part of a registered variable: bytes Lo to Hi of the variable with this index.
type Part struct {
	Variable int
	Lo, Hi   uint64
}

// ActionKind is the kind of an Action.
type ActionKind uint8

// The actions for the caller.
const (
	// Send sends Frame, whose payload is the memory of Mem, or of Parts of image Point. The
	// payload is handed over, or copied, before the next step, because that step may change
	// Mem.
	Send ActionKind = iota
	// Hold copies the memory of Mem as the payload of Frame. The sibling has no room for it
	// yet.
	Hold
	// SendHeld sends the oldest held frame.
	SendHeld
	// DropHeld discards all held frames, because the sibling is dead.
	DropHeld
	// Apply copies the payload Token into Mem.
	Apply
	// Copy makes image Point: it copies the registered variables, except Parts, which this
	// replica lacks. A Fill will bring them.
	Copy
	// Fill copies the payload Token into Parts of image Point.
	Fill
	// Discard discards image Point.
	Discard
	// Close passes the Free of Context on to the core of messages.
	Close
)

// Action is one step that the caller takes for the Machine. It takes the steps in order.
type Action struct {
	Kind    ActionKind
	Frame   Frame
	Mem     []Span
	Point   uint64
	Parts   []Part
	Token   any
	Context uint64
}

// Actions returns the actions that the last events require, and clears the list.
func (m *Machine) Actions() []Action {
	acts := m.acts
	m.acts = nil
	return acts
}

func (m *Machine) act(a Action) { m.acts = append(m.acts, a) }

// Divergence reports that the replicas of a rank, or two runs of a replica, diverged.
type Divergence struct{ What, First, Second string }

func (d *Divergence) Error() string {
	return fmt.Sprintf("%s: first %s, then %s", d.What, d.First, d.Second)
}

// mix adds a word to a signature.
func mix(sig, word uint64) uint64 {
	sig = (sig ^ word) * 0x9e3779b97f4a7c15
	return sig ^ sig>>29
}
