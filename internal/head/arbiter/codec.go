package arbiter

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// A message consists of its numbers, the text of a loss, the members, the sightings, and the
// rare fields in JSON. Beats are frequent and have to be cheap.
//
//	numbers    12 uvarint, in the order of Message.numbers
//	loss       length uvarint, bytes
//	members    count uvarint, a uvarint each
//	sightings  count uvarint, 4 uvarint each
//	rest       JSON, or nothing

// rest holds the fields that most messages leave empty.
type rest struct {
	Verdicts []job.Verdict     `json:"verdicts,omitempty"`
	Raft     []*raftpb.Message `json:"raft,omitempty"`
}

// ErrMessage marks bytes that are not a message between nodes.
var ErrMessage = errors.New("malformed message between nodes")

// maxMessage bounds an encoded message, in bytes.
const maxMessage = 4 << 20

// sightingSize is the minimal size of a sighting, in bytes.
const sightingSize = 4

func (m *Message) numbers() [12]uint64 {
	return [...]uint64{
		uint64(m.From), uint64(m.To), uint64(m.Via), m.Seq, m.Echo, m.Direct,
		m.Term, uint64(m.Leader), m.Promised, uint64(m.Grant), m.Epoch, m.Changes,
	}
}

func (m *Message) encode() ([]byte, error) {
	b := make([]byte, 0, 64+32*len(m.Sightings))
	for _, v := range m.numbers() {
		b = binary.AppendUvarint(b, v)
	}
	b = append(binary.AppendUvarint(b, uint64(len(m.Lost))), m.Lost...)
	b = binary.AppendUvarint(b, uint64(len(m.Members)))
	for _, id := range m.Members {
		b = binary.AppendUvarint(b, uint64(id))
	}
	b = binary.AppendUvarint(b, uint64(len(m.Sightings)))
	for _, s := range m.Sightings {
		for _, v := range [...]uint64{uint64(s.Host), uint64(s.Age), uint64(s.Silence), uint64(s.Limit)} {
			b = binary.AppendUvarint(b, v)
		}
	}
	if len(m.Verdicts)+len(m.Raft) > 0 {
		text, err := json.Marshal(rest{m.Verdicts, m.Raft})
		if err != nil {
			return nil, fmt.Errorf("encode a message between nodes: %w", err)
		}
		b = append(b, text...)
	}
	if len(b) > maxMessage {
		return nil, fmt.Errorf("encode a message between nodes: %d bytes, at most %d are allowed", len(b), maxMessage)
	}
	return b, nil
}

// cursor reads numbers. After the first missing or invalid number it sets bad and returns zeros.
type cursor struct {
	b   []byte
	bad bool
}

func (c *cursor) number() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 || c.bad {
		c.bad = true
		return 0
	}
	c.b = c.b[n:]
	return v
}

func (c *cursor) id() ID {
	v := c.number()
	c.bad = c.bad || v > maxID
	return ID(v)
}

func (c *cursor) duration() time.Duration {
	v := c.number()
	c.bad = c.bad || v > maxDuration
	return time.Duration(v)
}

const (
	maxID       = 1<<32 - 1
	maxDuration = 1 << 62
)

// take removes and returns n bytes.
func (c *cursor) take(n uint64) []byte {
	if c.bad || n > uint64(len(c.b)) {
		c.bad = true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

// decodeMessage decodes the result of encode, and checks it. It does not keep b.
func decodeMessage(b []byte) (*Message, error) {
	c := &cursor{b: b}
	m := &Message{
		From: c.id(), To: c.id(), Via: c.id(), Seq: c.number(), Echo: c.number(), Direct: c.number(),
		Term: c.number(), Leader: c.id(), Promised: c.number(), Grant: c.duration(), Epoch: c.number(),
		Changes: c.number(),
	}
	m.Lost = string(c.take(c.number()))
	n := c.number()
	if c.bad || n > uint64(len(c.b)) {
		return nil, fmt.Errorf("%w: it is cut off", ErrMessage)
	}
	for range n {
		m.Members = append(m.Members, c.id())
	}
	n = c.number()
	if c.bad || n > uint64(len(c.b))/sightingSize {
		return nil, fmt.Errorf("%w: it is cut off", ErrMessage)
	}
	for range n {
		m.Sightings = append(m.Sightings, detect.Sighting{Host: c.id(), Age: c.duration(), Silence: c.duration(), Limit: c.duration()})
	}
	if c.bad {
		return nil, fmt.Errorf("%w: it is cut off", ErrMessage)
	}
	if len(c.b) > 0 {
		var r rest
		if err := json.Unmarshal(c.b, &r); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrMessage, err)
		}
		m.Verdicts, m.Raft = r.Verdicts, r.Raft
	}
	return m, m.check()
}
