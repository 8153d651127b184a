package agentwire

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/intrahpc/intra/internal/job"
)

// Kind is the kind of a frame. H: from head to agent, A: from agent to head. The intrarun that the
// user started is like an agent without processes, once its head has handed over: it sends
// KindResync, KindSignal for a signal that it has received, and KindLeave when it ends before the
// job.
type Kind byte

// The kinds, with the content of the body, which is JSON, except for bytes and text.
const (
	KindPlan        Kind = iota + 1 // H start plan
	KindReady                       // A readiness
	KindProgram                     // H a piece of the program, empty at its end
	KindStart                       // H role
	KindStarted                     // A startResult
	KindHello                       // A job.Hello
	KindMessage                     // H A job.Message
	KindUnreachable                 // A silence
	KindLink                        // H hostLink
	KindSignal                      // H signal
	KindOutput                      // A stream and bytes, empty at its end
	KindInput                       // H bytes, empty at the end
	KindRoom                        // H A Room
	KindStopped                     // A nanoseconds
	KindGone                        // A the program has ended, and the wrapper that started it has not
	KindExited                      // A exit
	KindFailed                      // A text
	KindRoster                      // H node config
	KindQuiet                       // A number: the agent has read all output that was written so far
	KindResync                      // A resync, to a head that takes over
	KindWritten                     // H written
	KindBye                         // H exit code: the job is over
	KindSpawn                       // A spawn event
	KindResume                      // H where the output of the process continues
	KindLeave                       // A this host has to leave the job
	KindFree                        // H text: empty if this host has left, and its agent ends; otherwise why it cannot leave
	KindPlay                        // H the agent, which has reconnected to this head, sends all output of the process that the head lacks
	KindJoin                        // A job.Host: this host is to join the running job; the first frame
	KindRefused                     // H text: why the host cannot join
	KindCarry                       // H output that the relay writes for this head
	KindCarried                     // A the relay has written the next piece
	KindAsk                         // A text: a question about the job; the incarnation is its number
	KindAnswer                      // H text: the answer to the question of that number
	KindMoved                       // H text: addresses of the present head, for a host that is to join
)

// Name identifies a process of an agent: the ID that it was started with, and its
// incarnation.
type Name struct {
	ID          job.Process `json:"id"`
	Incarnation uint32      `json:"incarnation"`
}

// Frame is a message between head and agent. Most frames are about one process.
type Frame struct {
	Kind Kind
	Of   Name
	Body []byte
}

const (
	frameHeader = 17                 // bytes: length of the body, kind, rank, replica, incarnation
	maxFrame    = 2 * job.MaxMessage // length of the body, in bytes: a message may be repeated with additions
)

// ErrFrame marks a malformed frame.
var ErrFrame = errors.New("malformed frame")

func (f *Frame) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.Body)))
	b = append(b, byte(f.Kind))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Of.ID.Rank))
	b = binary.BigEndian.AppendUint32(b, uint32(f.Of.ID.Replica))
	b = binary.BigEndian.AppendUint32(b, f.Of.Incarnation)
	return append(b, f.Body...)
}

func readFrame(r io.Reader) (f Frame, err error) {
	var h [frameHeader]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return f, err
	}
	n, rank, replica := binary.BigEndian.Uint32(h[:]), binary.BigEndian.Uint32(h[5:]), binary.BigEndian.Uint32(h[9:])
	f.Kind = Kind(h[4])
	if n > maxFrame || f.Kind < KindPlan || f.Kind > KindMoved || rank>>31 != 0 || replica>>31 != 0 {
		return f, ErrFrame
	}
	f.Of = Name{job.Process{Rank: int(rank), Replica: int(replica)}, binary.BigEndian.Uint32(h[13:])}
	f.Body = make([]byte, n)
	if _, err := io.ReadFull(r, f.Body); err != nil {
		if err == io.EOF { // a frame needs its whole body
			err = io.ErrUnexpectedEOF
		}
		return f, fmt.Errorf("in the middle of a frame: %w", err)
	}
	return f, nil
}

// Decode decodes a body in JSON.
func (f *Frame) Decode(v any) error {
	if err := json.Unmarshal(f.Body, v); err != nil {
		return fmt.Errorf("%w: %w", ErrFrame, err)
	}
	return nil
}

// Room is the body of a KindRoom.
type Room struct {
	Stream uint8  `json:"stream"`
	Bytes  uint32 `json:"bytes"` // bytes that were consumed
}

// OutputBody returns the body of a KindOutput.
func OutputBody(stream int, b []byte) []byte { return append([]byte{byte(stream)}, b...) }

// Encode returns the JSON of a value that can always be encoded.
func Encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Errorf("encode %T: %w", v, err))
	}
	return b
}
