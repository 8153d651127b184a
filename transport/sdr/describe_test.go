package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDescribeKept: the text lists replicas that may lack a message. It does
// not list them when only a link still holds it.
func TestDescribeKept(t *testing.T) {
	e := NewEngine(Config{Degrees: []int{1, 3}})
	ctx, err := e.Join(testContext, testContext, false, nil)
	require.NoError(t, err)
	e.mu.Lock()
	e.core.Send(ctx, new(Request), []byte("hello"), 1, 9, false)
	m := ctx.out[1].find(0)
	const message = "context 2a: message 0 to rank 1 (5 bytes, tag 9): "
	for _, c := range []struct {
		lacking  uint64
		inflight int
		text     string
	}{
		{0b101, 0, "replicas [0 2] may lack it"},
		{0b111, 2, "replicas [0 1 2] may lack it, links hold 2 frames of it"},
		{0, 1, "links hold 1 frames of it"},
	} {
		m.lacking, m.inflight = c.lacking, c.inflight
		require.Equal(t, message+c.text+"\n", e.core.describe())
	}
	e.mu.Unlock()
}
