package lazy_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/lazy"
)

// A link that is made before its ends are started behaves like any other link. So does one
// that is made at the first frame.
func TestLink(t *testing.T) {
	t.Run("made before it is started", func(t *testing.T) {
		linktest.Run(t, func(testing.TB) (a, b transport.Link) {
			x, y := pair()
			ends(x, y)
			return x, y
		})
	})
	t.Run("asked for before it is started", func(t *testing.T) {
		linktest.Run(t, func(testing.TB) (a, b transport.Link) {
			x, y := pair()
			x.Send(&transport.Frame{Header: transport.Header{Channel: 0xff}})
			return skipping{x}, skipping{y}
		})
	})
}

// pair returns two ends that are made as soon as one of them asks.
func pair() (a, b *lazy.Link) {
	var once sync.Once
	ask := func() { once.Do(func() { ends(a, b) }) }
	a, b = lazy.New(ask), lazy.New(ask)
	return a, b
}

func ends(a, b *lazy.Link) {
	x, y := inproc.Pair()
	a.Made(x)
	b.Made(y)
}

// skipping drops the frame that requested the link.
type skipping struct{ *lazy.Link }

func (s skipping) Start(r transport.Receiver) { s.Link.Start(skip{r}) }

type skip struct{ transport.Receiver }

func (s skip) End(h *transport.Header, payload []byte) {
	if h.Channel != 0xff {
		s.Receiver.End(h, payload)
	}
}

// notes records the calls of a receiver and an owner.
type notes struct {
	mu     sync.Mutex
	sent   []error
	ended  []uint64
	closed []error
}

func (n *notes) Begin(*transport.Header) []byte { return nil }
func (n *notes) End(h *transport.Header, _ []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, h.Args[0])
}
func (n *notes) Torn(*transport.Header, int) {}
func (n *notes) Lost(*transport.Header)      {}
func (n *notes) Closed(err error)            { n.closed = append(n.closed, err) }
func (n *notes) Sent(_ *transport.Frame, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, err)
}

func frame(n *notes, number uint64) *transport.Frame {
	return &transport.Frame{Owner: n, Header: transport.Header{Channel: transport.ChannelMessage, Args: [6]uint64{number}}}
}

// A link is requested by its first frame, and only once. The queued frames arrive in order,
// and later frames do not wait.
func TestMadeAtFirstUse(t *testing.T) {
	asked, made := 0, 0
	a := lazy.New(func() { asked++ })
	a.WhenMade(func() { made++ })
	var at notes
	a.Start(&at)
	require.False(t, a.Progress())
	require.Zero(t, asked)
	h := frame(&at, 0).Header
	require.False(t, a.SendNow(&h, nil, nil), "the link is not made yet")
	for i := range uint64(3) {
		a.Send(frame(&at, i))
	}
	require.Equal(t, 1, asked)
	require.Empty(t, at.sent)
	x, y := inproc.Pair()
	var other notes
	y.Start(&other)
	a.Made(x)
	require.Equal(t, 1, made)
	a.Send(frame(&at, 3))
	y.Attend(true)
	for range 100 {
		y.Progress()
		a.Progress()
	}
	require.Equal(t, []uint64{0, 1, 2, 3}, other.ended)
	require.Equal(t, []error{nil, nil, nil, nil}, at.sent)
	y.Attend(false)
	require.NoError(t, a.Close())
	require.NoError(t, y.Close())
}

// A link that ends before it is made returns its frames and calls Closed once. It closes an
// end that arrives too late.
func TestEndsUnmade(t *testing.T) {
	tests := map[string]struct {
		end    func(*lazy.Link)
		sent   error
		closed error
	}{
		"the peer has died":            {(*lazy.Link).PeerDied, transport.ErrPeerGone, transport.ErrPeerGone},
		"the link cannot be made":      {func(l *lazy.Link) { l.Failed("no descriptors") }, transport.ErrPeerGone, transport.ErrPeerGone},
		"it is closed":                 {func(l *lazy.Link) { _ = l.Close() }, transport.ErrClosed, transport.ErrClosed},
		"it is shut down without time": {shutDownAtOnce, transport.ErrClosed, transport.ErrClosed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := lazy.New(func() {})
			var at notes
			l.Start(&at)
			l.Send(frame(&at, 0))
			test.end(l)
			l.Send(frame(&at, 1))
			l.PeerDied()
			_ = l.Close()
			require.Len(t, at.sent, 2)
			for _, err := range at.sent {
				require.ErrorIs(t, err, test.sent)
			}
			require.Len(t, at.closed, 1)
			require.ErrorIs(t, at.closed[0], test.closed)
			x, y := inproc.Pair()
			var other notes
			y.Start(&other)
			l.Made(x)
			for range 100 {
				y.Progress()
			}
			require.Len(t, other.closed, 1)
			require.ErrorIs(t, other.closed[0], transport.ErrPeerGone)
			require.NoError(t, y.Close())
		})
	}
}

func shutDownAtOnce(l *lazy.Link) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = l.Shutdown(ctx)
}

// An unused link delays no shutdown.
func TestShutdownUnused(t *testing.T) {
	l := lazy.New(func() { t.Error("asked for at the end") })
	var at notes
	l.Start(&at)
	require.NoError(t, l.Shutdown(t.Context()))
	require.Equal(t, []error{nil}, at.closed)
}

// A peer may be dead before this side has started its end. That end is informed.
func TestDeadBeforeStart(t *testing.T) {
	l := lazy.New(func() {})
	l.PeerDied()
	var at notes
	l.Start(&at)
	require.Equal(t, []error{transport.ErrPeerGone}, at.closed)
}

// attending counts the promises that a link has.
type attending struct {
	transport.Link
	promises int
	sending  func()
}

func (a *attending) Attend(on bool) {
	if on {
		a.promises++
	} else {
		a.promises--
	}
}

func (a *attending) Send(f *transport.Frame) {
	a.sending()
	a.Link.Send(f)
}

// If attention begins or ends while a link is made and its queued frames are sent, the made
// link gets that change, too. A link that expects polls, and is not polled, stands still.
func TestAttentionWhileItIsMade(t *testing.T) {
	for before, change := range map[bool]bool{true: false, false: true} {
		l := lazy.New(func() {})
		var at, other notes
		l.Start(&at)
		if before {
			l.Attend(true)
		}
		l.Send(frame(&at, 0))
		x, y := inproc.Pair()
		y.Start(&other)
		inner := &attending{Link: x, sending: func() { l.Attend(change) }}
		l.Made(inner)
		want := 0
		if change {
			want = 1
		}
		require.Equal(t, want, inner.promises, "%v before, then %v", before, change)
		require.NoError(t, l.Close())
		require.NoError(t, y.Close())
	}
}

// turning is a link that records its calls.
type turning struct {
	transport.Link
	turns bool
}

func (l *turning) TakeTurns() { l.turns = true }

// The made link is informed whether processes take turns.
func TestTakeTurns(t *testing.T) {
	inner, _ := inproc.Pair()
	made := &turning{Link: inner}
	l := lazy.New(func() {})
	l.WhenMade(l.TakeTurns)
	l.TakeTurns() // has no effect yet
	require.False(t, made.turns)
	l.Made(made)
	l.Start(&notes{})
	require.True(t, made.turns)
	plain := lazy.New(func() {})
	other, _ := inproc.Pair()
	plain.Made(other)
	plain.TakeTurns()
	require.NoError(t, l.Close())
	require.NoError(t, plain.Close())
	require.NoError(t, inner.Close())
}
