package engine

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// told is a head that has something to say.
type told struct {
	setUp
	events []job.Event
}

func (h *told) Next() (job.Event, error) {
	if len(h.events) == 0 {
		return nil, io.EOF
	}
	e := h.events[0]
	h.events = h.events[1:]
	return e, nil
}

// The end of the job ends a process, but is no error of its program, which
// would count as its failure.
func TestFollow(t *testing.T) {
	self := job.Process{Rank: 1, Replica: 0}
	for _, c := range []struct {
		name  string
		event job.Event // nil: the head is gone
		code  int
		fails string
	}{
		{"end", job.End{Code: 3, Text: "rank 0 is lost"}, 3, ""},
		{"declared dead", job.Verdict{Process: self, Detail: "stopped"}, exitFailed, "1.0 was declared dead: stopped"},
		{"without the head", nil, exitFailed, "EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &told{setUp: setUp{setup: job.Setup{Self: self, Incarnation: firstIncarnation, Degrees: []int{1, 1}}}}
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
