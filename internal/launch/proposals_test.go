package launch

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/head/decision"
)

// Decisions of the head are proposed in order. An entry that cannot be proposed now is not
// lost.
func TestProposalsKeepTheirOrder(t *testing.T) {
	var log []int
	var refusal, failed error
	var again func()
	p := &proposals{
		propose: func(e decision.Entry) error {
			if refusal == nil {
				log = append(log, e.Index)
			}
			return refusal
		},
		again:  func(_ time.Duration, f func()) { again = f },
		failed: func(err error) { failed = err },
	}
	p.add(decision.Entry{Index: 1})
	refusal = fmt.Errorf("busy: %w", arbiter.ErrNotHead)
	p.add(decision.Entry{Index: 2})
	refusal = nil
	p.add(decision.Entry{Index: 3})
	require.Equal(t, []int{1}, log, "the second entry is proposed before the first")
	again()
	require.Equal(t, []int{1, 2, 3}, log)
	refusal = errors.New("full")
	p.add(decision.Entry{Index: 4})
	require.Equal(t, refusal, failed)
	require.Empty(t, p.queue, "another head may have decided differently")
}
