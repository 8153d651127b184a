package engine

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// oneEventHead is a head that sends one event.
type oneEventHead struct {
	setUp
	events []job.Event
}

func (h *oneEventHead) Next() (job.Event, error) {
	if len(h.events) == 0 {
		return nil, io.EOF
	}
	e := h.events[0]
	h.events = h.events[1:]
	return e, nil
}

func (h *oneEventHead) Handled(uint64) {}

// TestFollow requires that a process that ends because the job ends does not report a
// failure of its program.
func TestFollow(t *testing.T) {
	self := job.Process{Rank: 1, Replica: 0}
	for _, c := range []struct {
		name  string
		event job.Event // nil: the head is lost
		code  int
		fails string
	}{
		{"end", job.End{Code: 3, Text: "rank 0 is lost"}, 3, ""},
		{"declared dead", job.Verdict{Process: self, Detail: "stopped"}, exitFailed, "1.0 was declared dead: stopped"},
		{"without the head", nil, exitFailed, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &oneEventHead{setUp: setUp{setup: job.Setup{Self: self, Incarnation: firstIncarnation, Degrees: []int{1, 1}}}}
			if c.event != nil {
				h.events = append(h.events, c.event)
			}
			e := New(t.Context(), Config{Head: h})
			failed := ""
			code, over := e.Follow(func(err error) { failed = err.Error() }, nil)
			require.True(t, over)
			require.Equal(t, c.code, code)
			require.Equal(t, c.fails, failed)
		})
	}
}

// A process is released only after all frames of dead processes have arrived. These may
// show that a dead process differed.
func TestReleaseWaitsForTheDead(t *testing.T) {
	peer := job.Process{Replica: 1}
	h := &oneEventHead{setUp: setUp{setup: job.Setup{Degrees: []int{2}, Incarnation: firstIncarnation}},
		events: []job.Event{job.Verdict{Epoch: 1, Process: peer}, job.Release{}}}
	e := New(t.Context(), Config{Head: h, Links: map[job.Process]transport.Link{peer: &startable{}}})
	released := make(chan struct{})
	_, over := e.Follow(func(error) {}, released)
	require.False(t, over)
	select {
	case <-released:
		t.Fatal("the link to the dead replica was not read to its end")
	default:
	}
	e.deaths.linkClosed(peer, firstIncarnation)
	<-released
	require.False(t, e.machine.Live(1))
}
