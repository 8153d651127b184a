package sdr

import (
	"errors"
	"sync/atomic"
)

// Any matches every source, or every tag.
const Any = -1

// Errors of requests.
var (
	// ErrTruncate reports that the message was longer than the buffer, which holds its
	// beginning.
	ErrTruncate = errors.New("message longer than the receive buffer")
	// ErrJobEnded reports that the job ended while the call waited.
	ErrJobEnded = errors.New("job ended")
)

// Status describes the message that completed a receive.
type Status struct {
	Source    int // rank in the job
	Tag       int
	Size      int  // bytes of the message that were stored
	Cancelled bool // the receive was cancelled before a message matched it
}

// Request is one send or receive under way. Its zero value is ready for use, and it may be
// reused after completion. It must not be copied while in use.
type Request struct {
	done   atomic.Bool
	status Status
	err    error
	script *Script  // script to which this request belongs as one of its messages
	endOf  *Script  // script whose end completes this request
	sends  *Message // message of a send, until that is complete

	// Fields of receives.
	ctx    *Context
	buf    []byte
	source int
	tag    int
	number uint64   // number of the message that an exact or chosen receive accepts; decisionKey.number of one from any source
	run    uint64   // Context.run of a receive from any source
	order  uint64   // position in posting order
	back   bool     // the receive was bound to a message that was lost
	chosen bool     // the receive was from any source, and its message has been decided
	held   bool     // the decision is not settled, so the program must not see yet that the receive is complete
	ended  bool     // the receive is complete; held may hide that
	local  *Message // message of the rank to itself that the receive has got; its send ends together with held
	bound  *arrival
	place  place // place among the posted receives

	// Fields about what the program has seen, see matching.See.
	past    *past  // history of the message, until the program has seen it
	age     uint64 // history.age when past was kept
	awaited bool   // the program only waits for this request until it is complete
	probe   bool   // the request only looks for a message
}

// Done reports whether the request is complete.
func (r *Request) Done() bool { return r.done.Load() }

// Reset makes a complete request ready for its next use.
func (r *Request) Reset() { r.done.Store(false) }

// Result returns the outcome of the request, which must be Done, or complete in its script.
func (r *Request) Result() (Status, error) { return r.status, r.err }

// accepts reports whether a receive matches a message of its source.
func (r *Request) accepts(number uint64, tag int) bool {
	if r.ctx.exact || r.chosen {
		return r.number == number
	}
	return r.tag == Any || r.tag == tag
}

// key returns the key by which a receive, or a search for a message, matches.
func (r *Request) key() uint64 {
	if r.ctx.exact {
		return r.number
	}
	return uint64(r.tag) // for Any this is anyKey
}

// queued reports whether a message is among those that no receive has matched.
func (m *arrival) queued() bool { return m.place.line != nil }

// Message is a message to another rank. It is kept until every live replica of its
// destination has it.
type Message struct {
	stream   *outStream
	number   uint64
	tag      int
	data     []byte
	past     *past
	copied   bool     // the core owns data
	bookmark bool     // the message belongs to a cut: it is neither counted nor waited for
	sync     bool     // the message is offered, whatever its size
	unwanted bool     // the destination has finished, and will never receive the message
	req      *Request // nil if the request was complete from the start
	lacking  uint64   // live replicas of the destination that may lack the message
	offered  uint64   // replicas to which the message was offered but not sent since
	inflight int      // frames with its payload that links still hold
	first    uint64   // replicas that this process serves and has not yet sent the message to
	at       int      // position in stream.kept
	asked    int      // 1 + process that was asked whether the message will ever be received, or 0
}

// arrival is a known message from another rank that is not yet complete or not yet matched.
type arrival struct {
	stream   *inStream
	number   uint64
	tag      int
	size     int
	whole    bool
	data     []byte // copy of the payload, of a whole message or of one that arrived while another copy was being written
	hasData  bool   // data is set (it may be empty)
	past     *past
	heldBack bool     // held back from receives from any source
	offers   uint64   // live replicas of the source that offer the message
	compared bool     // the replicas of its source compare it
	comes    bool     // a small message that is sent without a request when its sender has room
	awaited  int      // 1 + process that is to send it without a request, or 0
	granted  int      // replica from which the payload was requested, or -1
	filling  bool     // a link writes into the receive's buffer
	req      *Request // receive to which the message is bound
	place    place    // place among the messages that no receive has matched
	order    uint64   // position in order of arrival
	cut      uint64   // the last cut that its sender had passed
	eager    int      // process whose credit it holds, or -1
	from     int      // if whole: the replica of its source that sent it, -1 if the program receives it again
	local    *Message // a message from this rank to itself, not copied
}
