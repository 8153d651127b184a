package update

import (
	"errors"
	"fmt"

	"github.com/intrahpc/intra/transport"
)

// Kind identifies the kind of a frame of the section channel.
type Kind uint8

// The kinds of frames between the replicas of a rank.
const (
	KindUpdate     Kind = 1 + iota // the results of a task
	KindClaim                      // "I have started this task"
	KindBye                        // "my run has returned"
	KindOnceResult                 // the result of a Once
	KindOnceHave                   // "I hold the result of this Once"
	KindOnceQuery                  // "do you hold it? I know of Deaths deaths"
	KindOnceNone                   // the answer "no" to a query
	KindEntered                    // "I have entered this section"
	KindVerify                     // results of checking sampled tasks; Task is the kind of message
	KindWatch                      // hashes of state that replicas must have in common, and the reactions to them; Task is the kind of message
	KindKept                       // memory that the peer lacks; Task is the kind of message, Section its number, Deaths a number of bytes
)

// Message is the content of a frame header on the section channel.
type Message struct {
	Kind      Kind
	Section   uint64 // number of the section, or of the Once
	Task      int    // number of the task (KindUpdate, KindClaim)
	Tasks     int    // number of tasks in the section
	Signature uint64 // signature of the section, or of all sections (KindBye)
	Deaths    uint64 // number of deaths of this rank (KindOnceQuery, KindOnceNone and KindVerify)
	Next      int    // KindUpdate: 1 + the task that its sender starts now, as in a claim; 0: none
	At        int64  // KindUpdate, KindClaim, KindEntered: nanoseconds on the sender's clock, not comparable with other clocks
}

// timed reports whether frames of this kind contain the time at which they were made.
func (k Kind) timed() bool { return k == KindUpdate || k == KindClaim || k == KindEntered }

// ErrMessage marks a frame that no replica sends.
var ErrMessage = errors.New("malformed section frame")

// Header encodes m in a frame header.
func (m Message) Header(incarnation uint32) transport.Header {
	further := m.Deaths
	if m.Kind.timed() {
		further = uint64(m.At)
	}
	return transport.Header{
		Channel:     transport.ChannelSection,
		Kind:        uint8(m.Kind),
		Incarnation: incarnation,
		Args:        [6]uint64{m.Section, uint64(m.Task), uint64(m.Tasks), m.Signature, further, uint64(m.Next)},
	}
}

// Claim adds to the header of an update that its sender now starts a task.
func Claim(h *transport.Header, task int) { h.Args[5] = uint64(task + 1) }

// ParseMessage decodes the header of a frame of the section channel.
func ParseMessage(h *transport.Header) (Message, error) {
	m := Message{
		Kind:      Kind(h.Kind),
		Section:   h.Args[0],
		Task:      int(h.Args[1]),
		Tasks:     int(h.Args[2]),
		Signature: h.Args[3],
		Next:      int(h.Args[5]),
	}
	if m.Kind.timed() {
		m.At = int64(h.Args[4])
	} else {
		m.Deaths = h.Args[4]
	}
	const most, latest = 1 << 40, 1 << 62
	switch {
	case h.Channel != transport.ChannelSection || m.Kind < KindUpdate || m.Kind > KindKept:
		return m, fmt.Errorf("%w: channel %d, kind %d", ErrMessage, h.Channel, h.Kind)
	case h.Args[1] > most || h.Args[2] > most || (m.Kind <= KindClaim && m.Task >= m.Tasks):
		return m, fmt.Errorf("%w: task %d of %d", ErrMessage, h.Args[1], h.Args[2])
	case m.At < 0 || m.At > latest:
		return m, fmt.Errorf("%w: made at %d", ErrMessage, h.Args[4])
	case h.Args[5] > most || (m.Kind == KindUpdate && m.Next > m.Tasks):
		return m, fmt.Errorf("%w: claim of task %d of %d", ErrMessage, m.Next-1, h.Args[2])
	}
	return m, nil
}
