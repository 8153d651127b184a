package linktest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/intrahpc/intra/transport"
)

// Fields of Header.Args in the frames of the suite.
const (
	argSender    = iota
	argNumber    // per sender, from 0
	argSeed      // seed of the payload's bytes
	argDroppable // 1 if the frame is droppable
)

// fill writes the bytes that belong to a seed.
func fill(b []byte, seed uint64) {
	x := seed*0x9e3779b97f4a7c15 | 1
	for len(b) >= 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		binary.LittleEndian.PutUint64(b, x)
		b = b[8:]
	}
	for i := range b {
		b[i] = byte(x >> (8 * i))
	}
}

// check returns the first index at which b differs from the bytes of a seed, or -1.
func check(b []byte, seed uint64) int {
	x := seed*0x9e3779b97f4a7c15 | 1
	i := 0
	for ; i+8 <= len(b); i += 8 {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		if binary.LittleEndian.Uint64(b[i:]) != x {
			return i
		}
	}
	for j := i; j < len(b); j++ {
		if b[j] != byte(x>>(8*(j-i))) {
			return j
		}
	}
	return -1
}

// newFrame makes a frame of size bytes in the given number of pieces, divided at places
// that depend on the seed.
func newFrame(sender, number, size, pieces int, owner transport.Owner) *transport.Frame {
	seed := uint64(sender)<<32 ^ uint64(number)<<1 ^ uint64(size)<<40
	payload := make([]byte, size)
	fill(payload, seed)
	f := &transport.Frame{Owner: owner, Header: transport.Header{
		Channel: transport.ChannelMessage, Kind: 7, Flags: 0x1234, Incarnation: 99,
		Args: [6]uint64{argSender: uint64(sender), argNumber: uint64(number), argSeed: seed, 5: ^uint64(0)},
	}}
	r := rand.New(rand.NewPCG(seed, 1))
	for ; pieces > 1; pieces-- {
		n := r.IntN(len(payload) + 1)
		f.Payload = append(f.Payload, payload[:n])
		payload = payload[n:]
	}
	if f.Payload = append(f.Payload, payload); size == 0 && pieces == 1 {
		f.Payload = nil
	}
	return f
}

// place is where a recorder receives payloads.
type place int

const (
	placeOwn    place = iota // in memory of its own
	placeLink                // in memory of the link's choice
	placeEither              // placeOwn and placeLink in turn
)

// recorder is a Receiver that checks the calls of the link.
type recorder struct {
	place  place
	onEnd  func(h *transport.Header, payload []byte) // may be nil
	closed chan struct{}

	calls atomic.Int32 // calls under way, to detect two at a time

	mu       sync.Mutex
	faults   []string
	next     map[uint64]uint64 // per sender
	ends     int
	begins   int
	memory   []byte
	inside   bool
	torn     []transport.Header
	tornAt   int
	lost     int
	closeErr error
	isClosed bool
}

func newRecorder(p place) *recorder {
	return &recorder{place: p, closed: make(chan struct{}), next: map[uint64]uint64{}}
}

func (r *recorder) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *recorder) enter(call string) {
	if r.calls.Add(1) != 1 {
		r.mu.Lock()
		r.fault("%s while another call is under way", call)
		r.mu.Unlock()
	}
	r.mu.Lock()
	if r.isClosed {
		r.fault("%s after Closed", call)
	}
}

func (r *recorder) leave() {
	r.mu.Unlock()
	r.calls.Add(-1)
}

func (r *recorder) Begin(h *transport.Header) []byte {
	r.enter("Begin")
	defer r.leave()
	if r.inside {
		r.fault("Begin of %d inside another frame", h.Args[argNumber])
	}
	if h.Size == 0 {
		r.fault("Begin of %d, which has no payload", h.Args[argNumber])
	}
	r.begins++
	r.inside, r.memory = true, nil
	if r.place == placeOwn || r.place == placeEither && r.begins%2 == 0 {
		r.memory = make([]byte, h.Size+3)
	}
	return r.memory
}

func (r *recorder) End(h *transport.Header, payload []byte) {
	r.enter("End")
	if uint64(len(payload)) != h.Size {
		r.fault("End of %d with %d bytes of %d", h.Args[argNumber], len(payload), h.Size)
	}
	if h.Channel != transport.ChannelMessage || h.Kind != 7 || h.Flags != 0x1234 || h.Incarnation != 99 || h.Args[5] != ^uint64(0) {
		r.fault("header changed: %+v", *h)
	}
	if r.memory != nil && &payload[0] != &r.memory[0] {
		r.fault("frame %d is not in the memory that Begin returned", h.Args[argNumber])
	}
	if at := check(payload, h.Args[argSeed]); at >= 0 {
		r.fault("frame %d of sender %d differs at byte %d of %d", h.Args[argNumber], h.Args[argSender], at, h.Size)
	}
	if want := r.next[h.Args[argSender]]; h.Args[argNumber] != want {
		r.fault("sender %d: frame %d, want %d", h.Args[argSender], h.Args[argNumber], want)
	}
	r.next[h.Args[argSender]]++
	r.inside, r.memory = false, nil
	r.ends++
	r.mu.Unlock()
	if r.onEnd != nil {
		r.onEnd(h, payload)
	}
	r.calls.Add(-1)
}

func (r *recorder) Torn(h *transport.Header, n int) {
	r.enter("Torn")
	defer r.leave()
	if !r.inside {
		r.fault("Torn outside of a frame")
	}
	if n < 0 || uint64(n) >= h.Size {
		r.fault("Torn at %d of %d bytes", n, h.Size)
	}
	if r.memory != nil {
		if n = n / 8 * 8; check(r.memory[:n], h.Args[argSeed]) >= 0 {
			r.fault("the first %d bytes of a torn frame are wrong", n)
		}
	}
	r.inside, r.memory = false, nil
	r.torn, r.tornAt = append(r.torn, *h), n
}

// Lost is called instead of the End of a droppable frame.
func (r *recorder) Lost(h *transport.Header) {
	r.enter("Lost")
	defer r.leave()
	if r.inside {
		r.fault("Lost inside of a frame, without Torn")
	}
	if h.Args[argDroppable] != 1 {
		r.fault("frame %d of sender %d is lost and was not droppable", h.Args[argNumber], h.Args[argSender])
	}
	if want := r.next[h.Args[argSender]]; h.Args[argNumber] != want {
		r.fault("sender %d: frame %d lost, want %d", h.Args[argSender], h.Args[argNumber], want)
	}
	r.next[h.Args[argSender]]++
	r.lost++
}

func (r *recorder) Closed(err error) {
	r.enter("Closed")
	defer r.leave()
	if r.inside {
		r.fault("Closed inside of a frame, without Torn")
	}
	r.isClosed, r.closeErr = true, err
	close(r.closed)
}

// count returns the number of frames that have arrived whole.
func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends
}

// accounted returns the numbers of frames that have arrived whole, and that are lost.
func (r *recorder) accounted() (whole, lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends, r.lost
}

// began returns the number of frames that Begin has announced.
func (r *recorder) began() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begins
}

// owners counts the outcomes of frames.
type owners struct {
	mu   sync.Mutex
	sent map[*transport.Frame]int
	errs map[*transport.Frame]error
	fine int // number of frames number of frames handed over without an error
	left atomic.Int32
}

func newOwners() *owners {
	return &owners{sent: map[*transport.Frame]int{}, errs: map[*transport.Frame]error{}}
}

func (o *owners) Sent(f *transport.Frame, err error) {
	o.mu.Lock()
	o.sent[f]++
	o.errs[f] = err
	if err == nil {
		o.fine++
	}
	o.mu.Unlock()
	o.left.Add(-1)
}

func (o *owners) handedOver() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.fine
}
