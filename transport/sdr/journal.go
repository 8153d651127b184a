package sdr

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"
)

// A program can run again from a Place, alone, while the other ranks go on. It receives the
// messages that it had received, repeats the decisions on their order, and does not send a
// second time what it had sent. The journal holds what such a run needs. This is pessimistic
// logging by the receiver, with hashes in place of the messages that were sent.
//
// The journal records a message when it is whole and a receive has it: from then on its
// source may have discarded it. It records a decision when the process carries it out. The journal
// is off, and costs one comparison for each message, unless Core.settle has made a Place.
type journal struct {
	on       bool
	retired  bool // the run of the program is over, and another one has yet to begin
	received record[receivedMessage]
	decided  record[carriedDecision]
	sent     record[sentMessage]
	freed    record[*Context] // a Free takes effect when no Place from before it is left
	bytes    int
}

// record is a list whose oldest entries are forgotten. The remaining entries keep their numbers.
type record[T any] struct {
	first   uint64 // number of entries[0]
	entries []T
}

func (r *record[T]) add(entry T) { r.entries = append(r.entries, entry) }

// end returns the number of the next entry.
func (r *record[T]) end() uint64 { return r.first + uint64(len(r.entries)) }

// since returns the entry with a number, and all later entries.
func (r *record[T]) since(number uint64) []T { return r.entries[number-r.first:] }

// forget removes the entries before a number, and returns them.
func (r *record[T]) forget(number uint64) []T {
	n := int(number - r.first)
	gone := slices.Clone(r.entries[:n])
	r.entries, r.first = slices.Delete(r.entries, 0, n), number
	return gone
}

// receivedMessage is a message that a receive of the program has got.
type receivedMessage struct {
	stream *inStream
	number uint64
	tag    int
	data   []byte
}

// carriedDecision is a decision that this process has carried out.
type carriedDecision struct {
	key   decisionKey
	run   uint64
	value []byte
}

// sentMessage describes a message that the program has posted.
type sentMessage struct {
	stream *outStream
	number uint64
	contents
}

// contents describes the contents of a message.
type contents struct {
	tag, bytes int
	hash       uint64
}

func (c contents) String() string {
	return fmt.Sprintf("tag %d, %d bytes, hash %016x", c.tag, c.bytes, c.hash)
}

func contentsOf(tag int, data []byte) contents { return contents{tag, len(data), xxh3.Hash(data)} }

// recordBytes is the approximate size of an entry beside its payload.
const recordBytes = 64

func (j *journal) receives(s *inStream, number uint64, tag int, payload []byte) {
	j.received.add(receivedMessage{s, number, tag, bytes.Clone(payload)})
	j.bytes += recordBytes + len(payload)
}

func (j *journal) carries(key decisionKey, run uint64, value []byte) {
	j.decided.add(carriedDecision{key, run, value})
	j.bytes += recordBytes + len(value)
}

func (j *journal) sends(s *outStream, number uint64, c contents) {
	j.sent.add(sentMessage{s, number, c})
	j.bytes += recordBytes
}

// forget removes what was recorded before a Place, and returns the contexts that the program
// had freed before it.
func (j *journal) forget(at *Place) (freed []*Context) {
	for _, m := range j.received.forget(at.received) {
		j.bytes -= recordBytes + len(m.data)
	}
	for _, d := range j.decided.forget(at.decided) {
		j.bytes -= recordBytes + len(d.value)
	}
	j.bytes -= recordBytes * len(j.sent.forget(at.sent))
	return j.freed.forget(at.freed)
}

// Place is a place in the program of a process, at which no receive is under way. It
// consists of numbers only: messages may be on their way, or have no receive. It is valid
// in this process, until it is forgotten or the next cut begins.
type Place struct {
	contexts []contextPlace
	program  []byte // data of the layer above
	// Entries of the journal before this place.
	received, decided, sent, freed uint64
}

// contextPlace is the state of a context that the program has.
type contextPlace struct {
	ctx  *Context
	next []uint64 // per rank: number of the next message to it
	ordered
}
