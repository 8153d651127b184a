package linktest

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !cond(); time.Sleep(200 * time.Microsecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("never came: %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// side is one end under test.
type side struct {
	transport.Link
	*recorder
	owners *owners
}

// send queues a frame and keeps track of it.
func (s *side) send(f *transport.Frame) *transport.Frame {
	s.owners.left.Add(1)
	f.Owner = s.owners
	s.Send(f)
	return f
}

// settled waits until every frame sent has been returned to its owner, and checks that each
// was returned once.
func (s *side) settled(t testing.TB) {
	t.Helper()
	eventually(t, "all frames back with their owner", func() bool { return s.owners.left.Load() <= 0 })
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	for f, n := range s.owners.sent {
		require.Equal(t, 1, n, "calls of Sent for frame %d", f.Header.Args[argNumber])
	}
}

// gone waits for Closed and checks its error.
func (s *side) gone(t testing.TB, want error) {
	t.Helper()
	eventually(t, "Closed", func() bool {
		select {
		case <-s.closed:
			return true
		default:
			return false
		}
	})
	if want == nil {
		require.NoError(t, s.closeErr)
	} else {
		require.ErrorIs(t, s.closeErr, want)
	}
}

// sound checks that the recorder has found no error.
func (s *side) sound(t testing.TB) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.faults)
}

func start(l transport.Link, r *recorder) *side {
	s := &side{Link: l, recorder: r, owners: newOwners()}
	l.Start(r)
	return s
}

func startBoth(t testing.TB, pair Pair, p place) (a, b *side) {
	la, lb := pair(t)
	return start(la, newRecorder(p)), start(lb, newRecorder(p))
}

// closeBoth ends a test and checks that no frame and no goroutine remains.
func closeBoth(t testing.TB, sides ...*side) {
	t.Helper()
	for _, s := range sides {
		require.NoError(t, s.Close())
	}
	for _, s := range sides {
		eventually(t, "Closed", func() bool {
			select {
			case <-s.closed:
				return true
			default:
				return false
			}
		})
		s.settled(t)
		s.sound(t)
	}
}

// poll attends to a link and drives it until stop is set.
func poll(l transport.Link, stop *atomic.Bool, wg *sync.WaitGroup) {
	l.Attend(true)
	wg.Go(func() {
		defer l.Attend(false)
		for !stop.Load() {
			if !l.Progress() {
				runtime.Gosched()
			}
		}
	})
}

var sizes = []int{0, 1, 7, 8, 63, 64, 65, 1000, 4095, 4096, 4097, 65471, 65472, 65536, 70001, 1 << 20, streamed}
