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

// countingHead counts under a lock, as a session does. While the process reports a flip, it also
// reports its activity.
type countingHead struct {
	setUp
	engine   *Engine
	counting sync.Mutex
	counted  sync.WaitGroup
	told     int
}

func (h *countingHead) Stats(count func() job.Stats) {
	h.counting.Lock()
	defer h.counting.Unlock()
	count()
}

func (h *countingHead) Tell(count func() job.Stats) {
	h.counted.Go(h.engine.tellActivity)
	time.Sleep(10 * time.Millisecond) // for tellActivity to come to its first lock
	h.counting.Lock()
	defer h.counting.Unlock()
	count()
	h.told++
}

// atOnce takes every frame at once, while the sender holds the lock of the messages.
type atOnce struct{ transport.Link }

func (atOnce) SendNow(*transport.Header, []byte, []byte) bool { return true }

// A message is flipped, and the flip is reported, under the lock of the messages. The report of
// the activity, which takes that lock, does not hold up the other one meanwhile.
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
		err := comm.Send(world, []float64{1}, 1, 0) // the engine gets to know its links; two transmissions
		sent <- errors.Join(err, comm.Send(world, []float64{1}, 1, 0))
	}()
	select {
	case err := <-sent:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		require.FailNow(t, "the two reports wait for each other")
	}
	h.counted.Wait()
	require.Equal(t, 1, h.told)
}
