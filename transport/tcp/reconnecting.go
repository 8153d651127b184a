package tcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/internal/queue"
)

// Defaults and times of a reconnecting link.
const (
	defaultHeartbeat    = 500 * time.Millisecond
	defaultSuspectAfter = time.Second
	silentBeats         = 10               // heartbeats without a byte after which the connection is broken
	firstConnection     = 10 * time.Second // time until a link that has never been connected is suspected
	lingerTime          = time.Second      // how long a link waits for a peer that may not know yet that both sides have everything
)

// An acknowledgement is sent after this many frames or bytes, and with each heartbeat. A
// frame that its sender holds is acknowledged at once.
const (
	ackFrames = 32
	ackBytes  = 64 << 10
)

// maxLost bounds the droppable frames that are dropped while there is no connection.
// Further ones are queued like all other frames.
const maxLost = 1 << 14

var (
	errSilent   = errors.New("nothing was heard for several heartbeats")
	errReplaced = errors.New("the peer has made another connection")
	errNever    = errors.New("no connection was made")
	errResume   = errors.New("the peer remembers another past of this link")
)

// Options configures a reconnecting link.
type Options struct {
	// Dial makes another connection to the same incarnation of the peer, until the context
	// is done. It must never connect to another process. On the side that is dialled it is
	// nil, and every connection is passed to Adopt.
	Dial func(ctx context.Context) (net.Conn, error)
	// Suspect, if set, is called with the reason when the link has had no connection for
	// SuspectAfter, and with nil when it has one again. It does not decide that the peer is
	// dead.
	Suspect func(err error)
	// SuspectAfter is how long a connection may be missing; 0 means a second.
	SuspectAfter time.Duration
	// Heartbeat is the interval of the link's own messages, by which the peer
	// detects a silent connection; 0 means half a second.
	Heartbeat time.Duration
	// Sums gives frames checksums, on both sides. A frame that was damaged on its
	// way is sent again.
	Sums bool
}

// Reconnecting is a link that outlives its connections. It keeps a frame that is
// not droppable until the peer has acknowledged it, and sends it again over
// another connection. So every frame arrives once and in order, until one side
// closes the link or the peer is declared dead.
type Reconnecting struct {
	transport.Link
	s *reconnecting
}

// NewReconnecting makes a link that has no connection yet.
func NewReconnecting(o Options) *Reconnecting {
	if o.SuspectAfter <= 0 {
		o.SuspectAfter = defaultSuspectAfter
	}
	if o.Heartbeat <= 0 {
		o.Heartbeat = defaultHeartbeat
	}
	l := newLink()
	s := &reconnecting{link: l, options: o, started: make(chan struct{}), connected: make(chan struct{}), offered: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	l.reconnecting, l.sums = s, o.Sums
	go s.run()
	return &Reconnecting{l, s}
}

// Connected is closed when the link has had its first connection.
func (l *Reconnecting) Connected() <-chan struct{} { return l.s.connected }

// reconnecting is the additional state of a link that outlives its connections. The methods
// that every link calls do nothing, or return false, on a nil receiver.
type reconnecting struct {
	link    *link
	options Options
	ctx     context.Context // done when the link is over
	cancel  context.CancelFunc

	started   chan struct{}
	connected chan struct{}
	gone      bool // run has ended, so start has to make the last calls; guarded by link.mu

	received   atomic.Uint64 // number of frames delivered or lost, including the goodbye; changed under rx
	unanswered struct{ frames, bytes int }
	ackDue     atomic.Bool
	active     atomic.Bool
	sentAll    atomic.Bool // the peer has acknowledged the goodbye
	peerBye    atomic.Bool
	farewell   atomic.Bool // the farewell was sent over this connection
	peerEnd    atomic.Bool // the peer's farewell was received

	mu      sync.Mutex
	attempt uint64 // number of the last connection, as the dialling side counts them
	offer   *offer // a connection to adopt
	offered chan struct{}

	absence sync.Mutex
	timer   *time.Timer
	// Incremented by each change, so that the timer of an earlier absence has no effect.
	waiting   uint64
	suspected bool
	why       error
}

// offer is a connection on which the peer has reported its position.
type offer struct {
	conn net.Conn
	peer position
}

func (s *reconnecting) end() {
	if s != nil {
		s.cancel()
	}
}

// due reports whether the link has to send a message of its own.
func (s *reconnecting) due() bool {
	return s != nil && (s.ackDue.Load() || s.through() && !s.farewell.Load())
}

func (s *reconnecting) markActive() {
	if s != nil && !s.active.Load() {
		s.active.Store(true)
	}
}

// through reports whether both sides have sent their goodbye and received an
// acknowledgement of it.
func (s *reconnecting) through() bool { return s != nil && s.sentAll.Load() && s.peerBye.Load() }

// said reports whether the link is through and has sent its farewell over this connection.
func (s *reconnecting) said() bool { return s.through() && s.farewell.Load() }

// took counts a frame that was delivered or lost. The caller holds rx.
func (s *reconnecting) took(h *transport.Header, droppable bool) {
	if s == nil {
		return
	}
	s.received.Add(1)
	s.unanswered.frames++
	s.unanswered.bytes += transport.HeaderSize
	if !droppable {
		s.unanswered.bytes += int(min(h.Size, ackBytes))
	}
	if s.unanswered.frames >= ackFrames || s.unanswered.bytes >= ackBytes || !droppable && h.Size > copyLimit {
		s.answer()
	}
}

func (s *reconnecting) tookGoodbye() {
	if s == nil {
		return
	}
	s.received.Add(1)
	s.peerBye.Store(true)
	s.answer()
}

func (s *reconnecting) answer() {
	s.unanswered.frames, s.unanswered.bytes = 0, 0
	s.ackDue.Store(true)
}

// acknowledge begins the message with the number of frames that a link has received.
var acknowledge = [4]byte{0, 'a', 'c', 'k'}

// word returns the message that is due.
func (s *reconnecting) word() (b [transport.HeaderSize]byte) {
	if !s.ackDue.Swap(false) {
		s.farewell.Store(true)
		return farewell
	}
	copy(b[:], acknowledge[:])
	binary.LittleEndian.PutUint64(b[8:], s.received.Load())
	return b
}

// acknowledged records that the peer has the first n frames. The writer may not
// have recorded yet that the last of them are handed over: an answer can arrive
// before its system call returns.
func (l *link) acknowledged(n uint64) error {
	o := &l.outbox
	l.mu.Lock()
	if last := o.acked + uint64(o.len()); n > last {
		defer l.mu.Unlock()
		return fmt.Errorf("%w: %d frames acknowledged, of %d", transport.ErrHeader, n, last)
	}
	o.known = max(o.known, n)
	l.mu.Unlock()
	l.free()
	return nil
}

// free removes entries that are handed over and acknowledged.
func (l *link) free() {
	o := &l.outbox
	l.mu.Lock()
	for o.next > 0 && o.acked < o.known {
		e := o.pop()
		if e.bye {
			l.reconnecting.sentAll.Store(true)
			l.wakeWriter()
		}
		if e.frame != nil {
			l.mu.Unlock()
			queue.Sent(e.frame, nil)
			l.mu.Lock()
		}
	}
	l.mu.Unlock()
}

func (s *reconnecting) start() {
	l := s.link
	l.mu.Lock()
	gone := s.gone
	l.mu.Unlock()
	close(s.started)
	if gone {
		go s.last()
	}
}

// run gives the link one connection after another.
func (s *reconnecting) run() {
	l := s.link
	defer close(l.done)
	s.suspectAfter(errNever, max(firstConnection, s.options.SuspectAfter))
	for lingers := false; ; {
		c := s.reach()
		if c == nil {
			break
		}
		s.trust()
		s.serve(c)
		l.detach()
		if s.ctx.Err() != nil || s.through() && s.peerEnd.Load() {
			break
		}
		if s.through() && !lingers {
			lingers = true
			time.AfterFunc(lingerTime, s.end)
		}
		s.suspectAfter(*c.cause.Load(), s.options.SuspectAfter)
	}
	s.stopSuspecting()
	s.end()
	s.mu.Lock()
	if s.offer != nil {
		s.offer.conn.Close()
	}
	s.mu.Unlock()
	l.mu.Lock()
	s.gone = true
	started := l.receiver != nil
	l.mu.Unlock()
	l.tx.Lock()
	l.write() // returns unsent frames to their owners
	l.tx.Unlock()
	if started {
		s.last()
	}
}

// last makes the last calls of the Receiver.
func (s *reconnecting) last() {
	s.link.rx.Lock()
	defer s.link.rx.Unlock()
	var cause error
	if !s.through() {
		cause = errNever // finish replaces the cause if the link is closed or the peer is dead
	}
	s.link.finish(cause)
}

// serve uses a connection until it breaks.
func (s *reconnecting) serve(c *connection) {
	l := s.link
	select {
	case <-s.started:
	case <-c.down:
		return
	case <-s.ctx.Done():
		c.fail(transport.ErrClosed)
		return
	}
	var both sync.WaitGroup
	both.Go(func() { l.runReader(c) })
	both.Go(func() { l.runWriter(c) })
	l.wakeWriter()
	ended := make(chan struct{})
	go func() { both.Wait(); close(ended) }()
	beat := time.NewTicker(s.options.Heartbeat)
	defer beat.Stop()
	for silent := 0; ; {
		select {
		case <-ended:
			c.fail(errNoGoodbye) // an earlier cause is kept
			return
		case <-beat.C:
		}
		// Heartbeats are counted instead of time, because this process itself may have been
		// stopped.
		if silent++; s.active.Swap(false) {
			silent = 0
		}
		if silent >= silentBeats {
			c.fail(errSilent)
		}
		s.ackDue.Store(true)
		l.pump()
	}
}

// suspectAfter calls Suspect if the connection is missing for longer than after.
func (s *reconnecting) suspectAfter(why error, after time.Duration) {
	s.absence.Lock()
	defer s.absence.Unlock()
	s.why = why
	s.waiting++
	n := s.waiting
	s.timer = time.AfterFunc(after, func() {
		s.absence.Lock()
		defer s.absence.Unlock()
		if s.waiting == n && s.options.Suspect != nil {
			s.suspected = true
			s.options.Suspect(s.why)
		}
	})
}

// because records the reason why there is still no connection.
func (s *reconnecting) because(err error) {
	s.absence.Lock()
	defer s.absence.Unlock()
	s.why = err
}

// trust ends the absence of a connection, and calls Suspect with nil if it was reported.
func (s *reconnecting) trust() {
	s.absence.Lock()
	defer s.absence.Unlock()
	s.waiting++
	s.timer.Stop()
	if s.suspected {
		s.suspected = false
		s.options.Suspect(nil)
	}
}

// stopSuspecting stops the calls of Suspect, since the link is over.
func (s *reconnecting) stopSuspecting() {
	s.absence.Lock()
	defer s.absence.Unlock()
	s.waiting++
	s.timer.Stop()
}
