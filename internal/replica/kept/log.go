package kept

import (
	"fmt"
	"slices"
)

// OpKind is the kind of an Op.
type OpKind uint8

// The operations of a program that the log records, with their fields.
const (
	OpSection OpKind = iota // Number and Hash: number and signature of the section
	OpPoint                 // Number of the safe point
	OpSend                  // Context, Peer, Number, Tag; Hash of the payload
	OpReceive               // Context, Peer, Tag as the program gave them, when it posts the receive
	OpOnce                  // Number of the call
	OpLine                  // Number of the line of output, Hash of its text
	OpMake                  // Context of the communicator
	OpFree                  // Context of the communicator
)

var opNames = [...]string{"section", "safe point", "send", "receive", "Once", "line", "new communicator", "freed communicator"}

// Op is an operation of the program with an effect outside its process, or one that orders
// the inputs of the process. A second run does the same operations in the same order.
type Op struct {
	Kind    OpKind
	Context uint64
	Peer    int
	Number  uint64
	Tag     int
	Hash    uint64
}

func (o Op) String() string {
	switch o.Kind {
	case OpSend, OpReceive:
		return fmt.Sprintf("%s %d, rank %d, tag %d, context %x, hash %x", opNames[o.Kind], o.Number, o.Peer, o.Tag, o.Context, o.Hash)
	case OpMake, OpFree:
		return fmt.Sprintf("%s %x", opNames[o.Kind], o.Context)
	}
	return fmt.Sprintf("%s %d, hash %x", opNames[o.Kind], o.Number, o.Hash)
}

// Message is a message that a receive of the program has got.
type Message struct {
	Context uint64
	Source  int
	Number  uint64
	Tag     int
	Data    []byte
}

// Decision is a decision on the order of messages that has taken effect here.
type Decision struct {
	Context, Kind, Number uint64
	Value                 []byte
}

// Result is the result of a call of Once.
type Result struct {
	Number uint64
	Value  []byte
}

// log is the record of a replica between two settled points.
type log struct {
	ops       map[uint64][]Op // by domain: the goroutine, or the communicator, whose operations are ordered
	messages  []Message
	decisions []Decision
	results   []Result
	samples   map[sampled]uint64 // hashes of results
	bytes     uint64
}

// sampled is a task that ran here.
type sampled struct {
	section uint64
	task    int
}

// append adds the records of o, which is the log that follows l.
func (l *log) append(o *log) {
	for domain, ops := range o.ops {
		l.op(domain, ops...)
	}
	l.messages = append(l.messages, o.messages...)
	l.decisions = append(l.decisions, o.decisions...)
	l.results = append(l.results, o.results...)
	for at, hash := range o.samples {
		l.sample(at, hash)
	}
	l.bytes += o.bytes
}

func (l *log) op(domain uint64, ops ...Op) {
	if l.ops == nil {
		l.ops = make(map[uint64][]Op)
	}
	l.ops[domain] = append(l.ops[domain], ops...)
}

func (l *log) sample(at sampled, hash uint64) {
	if l.samples == nil {
		l.samples = make(map[sampled]uint64)
	}
	l.samples[at] = hash
}

// freed returns the contexts of the communicators that were freed.
func (l *log) freed() (contexts []uint64) {
	for _, ops := range l.ops {
		for _, o := range ops {
			if o.Kind == OpFree {
				contexts = append(contexts, o.Context)
			}
		}
	}
	slices.Sort(contexts)
	return contexts
}

const (
	opBytes     = 48
	recordBytes = 64
	sampleBytes = 32
)

// Did records an operation of the program, before it has an effect. In a second run it
// compares the operation with that of the first run. again means that the first run has
// already done it, so the caller must not do it again.
func (m *Machine) Did(domain uint64, o Op) (again bool, err error) {
	if m.second != nil {
		return m.again(domain, o)
	}
	if l := m.log(); l != nil {
		l.op(domain, o)
		l.bytes += opBytes
		return false, nil // a Free takes effect when no image from before it is left
	}
	if o.Kind == OpFree {
		m.act(Action{Kind: Close, Context: o.Context})
	}
	return false, nil
}

// Sample records a hash of some bytes that a task of the open section has written here.
// Most results of a second run are in no message. Without samples, a second run that
// computes something else would be noticed late, or never.
func (m *Machine) Sample(task int, hash uint64) {
	at := sampled{m.round.Number, task}
	if m.second != nil {
		m.compareSample(at, hash)
	} else if l := m.log(); l != nil {
		l.sample(at, hash)
		l.bytes += sampleBytes
	}
}

// Received records a message when it is complete and a receive has it, even if the program
// does not wait for that receive yet. The caller must not change the bytes afterwards.
func (m *Machine) Received(msg Message) {
	if l := m.log(); l != nil {
		l.messages = append(l.messages, msg)
		l.bytes += recordBytes + uint64(len(msg.Data))
	}
}

// Decided records a decision when it takes effect here.
func (m *Machine) Decided(d Decision) {
	if l := m.log(); l != nil {
		l.decisions = append(l.decisions, d)
		l.bytes += recordBytes + uint64(len(d.Value))
	}
}

// Resulted records the result of a call of Once when the call returns it.
func (m *Machine) Resulted(r Result) {
	if l := m.log(); l != nil {
		l.results = append(l.results, r)
		l.bytes += recordBytes + uint64(len(r.Value))
	}
}

// log returns the log to which operations are added, nil if this replica never has to roll
// back.
func (m *Machine) log() *log {
	if len(m.images) == 0 {
		return nil
	}
	return &m.images[len(m.images)-1].since
}

// LogBytes returns the size of the log.
func (m *Machine) LogBytes() (n uint64) {
	for _, im := range m.images {
		n += im.since.bytes
	}
	return n
}
