package engine

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
)

// countingHead takes a lock while it calls count, as a session does. When the process
// reports a flip, the head makes it report its activity at the same time.
type countingHead struct {
	setUp
	engine   *Engine
	counting sync.Mutex
	counted  sync.WaitGroup
	reports  int
}

func (h *countingHead) Stats(count func() job.Stats) {
	h.counting.Lock()
	defer h.counting.Unlock()
	count()
}

func (h *countingHead) Tell(count func() job.Stats) {
	h.counted.Go(h.engine.tellActivity)
	time.Sleep(10 * time.Millisecond) // time for tellActivity to reach its first lock
	h.counting.Lock()
	defer h.counting.Unlock()
	count()
	h.reports++
}

// atOnce accepts every frame immediately, while the sender holds the lock of the messages.
type atOnce struct{ transport.Link }

func (atOnce) SendNow(*transport.Header, []byte, []byte) bool { return true }

// The process flips bits of a message, and reports the flip while it holds the lock of the
// messages. The concurrent report of the activity takes that lock, too. The two reports must not
// block each other.
func TestActivityIsTakenBeforeItIsCounted(t *testing.T) {
	flip, err := job.ParseFlip("0.0@message:2:0")
	require.NoError(t, err)
	links := make(map[job.Process]transport.Link)
	for replica := range 2 {
		l, _ := inproc.Pair()
		links[job.Process{Rank: 1, Replica: replica}] = atOnce{l}
	}
	h := &countingHead{setUp: setUp{setup: job.Setup{Degrees: []int{1, 2}, Incarnation: firstIncarnation, Flips: []job.Flip{flip}}}}
	e := New(t.Context(), Config{Head: h, Links: links})
	h.engine = e
	require.NoError(t, e.Begin())
	world, err := newWorld(e.Messages())
	require.NoError(t, err)
	sent := make(chan error)
	go func() {
		err := comm.Send(world, []float64{1}, 1, 0) // the engine learns its links; the message is sent twice
		sent <- errors.Join(err, comm.Send(world, []float64{1}, 1, 0))
	}()
	select {
	case err := <-sent:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.FailNow(t, "deadlock of the two reports")
	}
	h.counted.Wait()
	require.Equal(t, 1, h.reports)
}
