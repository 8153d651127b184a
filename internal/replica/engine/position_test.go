package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport/sdr"
)

// position returns the position of a rank with one replica at a safe point.
func position(t *testing.T, point uint64) []byte {
	t.Helper()
	messages := sdr.NewEngine(sdr.Config{Degrees: []int{1}})
	require.NoError(t, messages.Drain(t.Context(), 1))
	at, err := messages.Position()
	require.NoError(t, err)
	b, err := (&rankPosition{Section: section.Position{Number: 7, Chain: 1 << 60, Once: 2}, Point: point,
		Live: []job.Peer{{Process: job.Process{Replica: 1}, Incarnation: 3}}, messages: at}).append(nil)
	require.NoError(t, err)
	return b
}

func TestPosition(t *testing.T) {
	b := position(t, 5)
	at, err := parsePosition(b)
	require.NoError(t, err)
	require.Equal(t, section.Position{Number: 7, Chain: 1 << 60, Once: 2}, at.Section)
	require.EqualValues(t, 5, at.Point)
	require.Equal(t, []job.Peer{{Process: job.Process{Replica: 1}, Incarnation: 3}}, at.Live)
	require.Equal(t, 1, at.messages.Size())
	again, err := at.append(nil)
	require.NoError(t, err)
	require.Equal(t, b, again)

	for name, bad := range map[string][]byte{
		"nothing": nil, "a length": b[:4], "half of the head": b[:20], "no messages": b[:len(b)-1],
		"no JSON": append([]byte{1, 0, 0, 0}, "x"...), "no safe point": position(t, 0),
	} {
		_, err := parsePosition(bad)
		require.ErrorIs(t, err, errPosition, name)
	}
}

// Any contents of a file or a frame decode to a position or an error.
func FuzzRankPosition(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, '{', '}'})
	f.Add([]byte{255, 255, 255, 255})
	f.Fuzz(func(t *testing.T, b []byte) {
		if at, err := parsePosition(b); err == nil {
			_, err = at.append(nil)
			require.NoError(t, err)
		}
	})
}

func TestTransferID(t *testing.T) {
	id := transferID{kind: transferBack, stream: 1<<32 - 1, generation: 7, rank: 1<<31 - 1, number: 1 << 40, full: 9}
	h := id.header(frameChunk, checkpoint.Key{Var: 3, Index: 4})
	require.Equal(t, id, transferIDOf(&h))
	require.Equal(t, frameChunk, h.Kind)
}
