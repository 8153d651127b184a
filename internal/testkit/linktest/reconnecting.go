package linktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/transport"
)

// Dial makes a connection to the other side.
type Dial func(ctx context.Context) (net.Conn, error)

// ReconnectingLink is a link that outlives its connections.
type ReconnectingLink interface {
	transport.Link
	Connected() <-chan struct{} // closed when it has had a connection
}

// Reconnecting makes the two ends of a link that outlives its connections. a gets its
// connections from dial. b gets the other end of each connection through adopt.
type Reconnecting func(t testing.TB, dial Dial) (a, b ReconnectingLink, adopt func(net.Conn))

// RunReconnecting tests links made by pair, first as any link, then with cuts. The
// environment variable INTRA_SEED replays one run with random cuts, and INTRA_SOAK sets the
// number of such runs.
func RunReconnecting(t *testing.T, pair Reconnecting) {
	Run(t, func(t testing.TB) (a, b transport.Link) {
		h := startHub(t, pair, nil)
		h.await()
		return h.a, h.b
	})
	for _, test := range []struct {
		name string
		run  func(t *testing.T, pair Reconnecting)
	}{
		{"NoCut", testNoCut},
		{"CutInsideFrame", testCutInsideFrame},
		{"CutInsideDroppableFrame", testCutInsideDroppableFrame},
		{"SendWithoutConnection", testSendWithoutConnection},
		{"DeathWithoutConnection", testDeathWithoutConnection},
		{"ShutdownAcrossCuts", testShutdownAcrossCuts},
		{"RandomCuts", testRandomCuts},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := runtime.NumGoroutine()
			test.run(t, pair)
			eventually(t, "all goroutines ended", func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// hub is a pair of reconnecting links and their connection.
type hub struct {
	accepted atomic.Int32 // number of accepted connections
	a, b     transport.Link
	proxy    *proxy // nil: none
	listener net.Listener
	open     sync.WaitGroup

	connected [2]<-chan struct{}
}

// startHub makes a pair. If budget is set, the connections go through a proxy, and budget
// returns after how many bytes each of them is cut. The hub ends when both links are
// closed.
func startHub(t testing.TB, pair Reconnecting, budget func(connection int) int64) *hub {
	l, err := listen.Local()
	require.NoError(t, err)
	h := &hub{listener: l}
	dial := func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
	}
	if budget != nil {
		h.proxy = startProxy(t, l.Addr().String(), 1, budget)
		dial = h.proxy.dial
	}
	a, b, adopt := pair(t, dial)
	h.open.Add(2)
	ja, jb := &judged{Link: a, hub: h}, &judged{Link: b, hub: h}
	ja.other, jb.other = b, a
	h.connected = [2]<-chan struct{}{a.Connected(), b.Connected()}
	h.a, h.b = ja, jb
	go func() {
		for {
			c, err := listen.Accept(l.Accept)
			if err != nil {
				return
			}
			h.accepted.Add(1)
			go adopt(c)
		}
	}()
	go func() {
		h.open.Wait()
		l.Close()
		if h.proxy != nil {
			h.proxy.close()
		}
	}()
	return h
}

// await waits until both sides have their first connection.
func (h *hub) await() {
	<-h.connected[0]
	<-h.connected[1]
}

// judged is a link whose end is reported to the other side, as the death of a process is reported
// to its peers. The loss of a connection alone does not end a link.
type judged struct {
	transport.Link
	other transport.Link
	hub   *hub
	once  sync.Once
}

func (j *judged) Close() error {
	err := j.Link.Close()
	j.once.Do(func() {
		j.other.PeerDied()
		j.hub.open.Done()
	})
	return err
}

// PeerDied ends both links. The dead side gets no report, but its link is over, too.
func (j *judged) PeerDied() {
	j.Link.PeerDied()
	j.other.PeerDied()
}

func (j *judged) Send(f *transport.Frame) {
	if mid := f.Mid; mid != nil {
		f.Mid = func() bool {
			ok := mid()
			if !ok {
				go j.Close()
			}
			return ok
		}
	}
	j.Link.Send(f)
}

// first cuts the first connection after n bytes, and no other.
func first(n int64) func(int) int64 {
	return func(connection int) int64 {
		if connection == 0 {
			return n
		}
		return -1
	}
}

func (h *hub) start(p place) (a, b *side) {
	return start(h.a, newRecorder(p)), start(h.b, newRecorder(p))
}

// testNoCut: without cuts there is a single connection, and it loses nothing, even if an
// acknowledgement follows its frames at once.
func testNoCut(t *testing.T, pair Reconnecting) {
	const frames, round = 20_000, 50
	h := startHub(t, pair, nil)
	h.await()
	a, b := h.start(placeOwn)
	for n := 0; n < frames; n += round {
		for k := range round {
			a.send(newDroppable(1, n+k, 100, 1))
			b.send(newDroppable(2, n+k, 100, 1))
		}
		eventually(t, "the frames", func() bool {
			came, lost := a.accounted()
			theirs, gone := b.accounted()
			return min(came+lost, theirs+gone) >= n+round
		})
	}
	require.EqualValues(t, 1, h.accepted.Load(), "connections")
	for _, s := range []*side{a, b} {
		whole, lost := s.accounted()
		require.Equal(t, []int{frames, 0}, []int{whole, lost})
	}
	closeBoth(t, a, b)
}

// testCutInsideFrame: a frame that is cut in the middle continues at the same byte, even
// after several cuts.
func testCutInsideFrame(t *testing.T, pair Reconnecting) {
	for _, p := range []place{placeOwn, placeLink} {
		h := startHub(t, pair, func(connection int) int64 {
			if connection < 7 {
				return 700_000
			}
			return -1
		})
		a, b := h.start(p)
		a.send(newFrame(1, 0, 10, 1, nil))
		a.send(newFrame(1, 1, streamed, 3, nil))
		b.send(newFrame(2, 0, 10, 1, nil))
		eventually(t, "the frames", func() bool { return b.count() == 2 && a.count() == 1 })
		a.settled(t)
		require.Equal(t, 7, h.proxy.cutsSoFar(), "it takes seven connections only if nothing is sent twice")
		require.Equal(t, 1, b.began())
		require.Empty(t, b.torn)
		require.Equal(t, 2, a.owners.handedOver())
		closeBoth(t, a, b)
	}
}

// testCutInsideDroppableFrame: a droppable frame that is cut in the middle is torn and
// lost, and no other frame is. On a busy machine the reset of the connection may discard
// the beginning of the frame before it is read. Then there is nothing to tear, and the test
// tries again.
func testCutInsideDroppableFrame(t *testing.T, pair Reconnecting) {
	for range 50 {
		h := startHub(t, pair, first(1_500_000))
		h.await()
		a, b := h.start(placeOwn)
		a.send(newFrame(1, 0, 10, 1, nil))
		f := a.send(newDroppable(1, 1, streamed, 3))
		a.send(newFrame(1, 2, 20, 1, nil))
		eventually(t, "the frames", func() bool { return b.count() == 2 })
		a.settled(t)
		whole, lost := b.accounted()
		require.Equal(t, []int{2, 1}, []int{whole, lost})
		require.LessOrEqual(t, len(b.torn), 1)
		if err := a.owners.errs[f]; err != nil { // the kernel may have accepted the whole frame
			require.ErrorIs(t, err, transport.ErrLost)
		}
		closeBoth(t, a, b)
		if len(b.torn) == 1 {
			return
		}
	}
	require.Fail(t, "no frame was torn")
}

func newDroppable(sender, number, size, pieces int) *transport.Frame {
	f := newFrame(sender, number, size, pieces, nil)
	f.Header.Args[argDroppable] = 1
	f.Droppable = true
	return f
}

// testSendWithoutConnection: without a connection a droppable frame is returned at once,
// and other frames wait.
func testSendWithoutConnection(t *testing.T, pair Reconnecting) {
	var refuse sync.RWMutex
	refuse.Lock()
	h := startHub(t, func(t testing.TB, dial Dial) (a, b ReconnectingLink, adopt func(net.Conn)) {
		return pair(t, func(ctx context.Context) (net.Conn, error) {
			if !refuse.TryRLock() {
				return nil, fmt.Errorf("no connection")
			}
			defer refuse.RUnlock()
			return dial(ctx)
		})
	}, nil)
	a, b := h.start(placeOwn)
	for n := 0; n < 30; n += 3 {
		a.send(newFrame(1, n, 100*n, 1, nil))
		droppable := a.send(newDroppable(1, n+1, 100, 1))
		a.owners.mu.Lock()
		require.ErrorIs(t, a.owners.errs[droppable], transport.ErrLost)
		a.owners.mu.Unlock()
		a.send(newFrame(1, n+2, 30_000, 2, nil))
		b.send(newFrame(2, n, 50, 1, nil))
		b.send(newDroppable(2, n+1, 100, 1))
		b.send(newFrame(2, n+2, 0, 1, nil))
	}
	refuse.Unlock()
	for _, s := range []*side{a, b} {
		eventually(t, "the frames", func() bool { return s.count() == 20 })
		s.settled(t)
		_, lost := s.accounted()
		require.Equal(t, 10, lost)
		require.Equal(t, 20, s.owners.handedOver())
	}
	closeBoth(t, a, b)
}

// testDeathWithoutConnection: the death of the peer ends the link even while there is no
// connection.
func testDeathWithoutConnection(t *testing.T, pair Reconnecting) {
	h := startHub(t, pair, first(200_000))
	a, b := h.start(placeOwn)
	h.proxy.listener.Close() // the first connection may have been made
	a.send(newFrame(1, 0, streamed, 1, nil))
	b.send(newFrame(2, 0, streamed, 1, nil))
	for _, s := range []*side{a, b} {
		s.PeerDied()
		s.gone(t, transport.ErrPeerGone)
		s.settled(t)
		require.Zero(t, s.owners.handedOver())
		require.Zero(t, s.count())
		late := s.send(newFrame(1, 1, 1, 1, nil))
		require.ErrorIs(t, s.owners.errs[late], transport.ErrPeerGone)
	}
	closeBoth(t, a, b)
}

// testShutdownAcrossCuts: Shutdown hands over everything, even if the connection is cut
// repeatedly.
func testShutdownAcrossCuts(t *testing.T, pair Reconnecting) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 3))
		cuts := 6
		h := startHub(t, pair, func(connection int) int64 {
			if connection >= cuts {
				return -1
			}
			return rng.Int64N(1500)
		})
		a, b := h.start(placeEither)
		for n := range 10 {
			a.send(newFrame(1, n, n*70, 1, nil))
			b.send(newFrame(1, n, n*30, 1, nil))
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		var wg sync.WaitGroup
		for _, s := range []*side{a, b} {
			wg.Go(func() {
				if err := s.Shutdown(ctx); err != nil {
					t.Errorf("seed %d: Shutdown: %v", seed, err)
				}
			})
		}
		wg.Wait()
		cancel()
		for _, s := range []*side{a, b} {
			s.gone(t, nil)
			require.Equal(t, 10, s.count(), "seed %d", seed)
			s.settled(t)
			require.Equal(t, 10, s.owners.handedOver())
		}
		closeBoth(t, a, b)
	}
}

func environment(t testing.TB, name string, otherwise uint64) uint64 {
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(s, 10, 64)
	require.NoError(t, err, name)
	return n
}

// testRandomCuts cuts at random bytes, also inside handshakes, with frames of all sizes
// under way in both directions. Frames that are not droppable arrive once and in order.
// Droppable ones arrive or are reported lost. Owners get every frame back once.
func testRandomCuts(t *testing.T, pair Reconnecting) {
	usual := uint64(15)
	if testing.Short() { // slow under the race detector
		usual = 5
	}
	begin, n := uint64(1), environment(t, "INTRA_SOAK", usual)
	if seed := environment(t, "INTRA_SEED", 0); seed > 0 {
		begin, n = seed, 1
	}
	for seed := begin; seed < begin+n; seed++ {
		randomCuts(t, pair, seed)
	}
}

func randomCuts(t *testing.T, pair Reconnecting, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 4))
	cuts, scale := 1+rng.IntN(12), rng.IntN(7)
	budgets := rand.New(rand.NewPCG(seed, 5))
	h := startHub(t, pair, func(connection int) int64 {
		if connection >= cuts {
			return -1
		}
		return budgets.Int64N(100 << (2 * scale))
	})
	a, b := h.start(place(rng.IntN(3)))
	frames, softEvery := 20+rng.IntN(200), rng.IntN(4)
	most := 1 << (4 + rng.IntN(16))
	var wg sync.WaitGroup
	hard := 0
	for n := range frames {
		if softEvery == 0 || n%softEvery != 0 {
			hard++
		}
	}
	for i, s := range []*side{a, b} {
		sizes := rand.New(rand.NewPCG(seed, uint64(i)))
		wg.Go(func() {
			for n := range frames {
				size, pieces := sizes.IntN(most), 1+n%3
				if softEvery != 0 && n%softEvery == 0 {
					s.send(newDroppable(1, n, size, pieces))
				} else {
					s.send(newFrame(1, n, size, pieces, nil))
				}
				if n%16 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	wg.Wait()
	for _, s := range []*side{a, b} {
		eventually(t, fmt.Sprintf("all frames, INTRA_SEED=%d", seed), func() bool {
			whole, lost := s.accounted()
			return whole+lost == frames
		})
		whole, _ := s.accounted()
		require.GreaterOrEqual(t, whole, hard, "INTRA_SEED=%d", seed)
		s.settled(t)
		for f, err := range s.owners.errs {
			if !f.Droppable {
				require.NoError(t, err, "INTRA_SEED=%d", seed)
			} else if err != nil {
				require.ErrorIs(t, err, transport.ErrLost)
			}
		}
		s.sound(t)
	}
	closeBoth(t, a, b)
}
