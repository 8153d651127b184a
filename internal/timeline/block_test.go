package timeline

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var samples = []Event{
	{Kind: Task, At: 100, Lasted: 5, Name: "a.f", Worker: 3, Number: 7, Tag: 9},
	{Kind: Call, At: 90, Name: "Recv", Place: "main.go:7", Rank: None, Tag: None, Bytes: 8},
	{Kind: Match, At: math.MaxInt64, Rank: 4, Replica: 2, Context: math.MaxUint64, Number: 1 << 40, Tag: 1 << 30, Bytes: 1 << 33},
	{Kind: Note, At: -5, Name: strings.Repeat("é", 1000)},
	{Kind: Memory},
}

// A decoded block contains the encoded events.
func TestBlock(t *testing.T) {
	var e encoder
	for n := range len(samples) + 1 {
		want := &block{clock: "c", host: "h", stamp: 1234, lost: uint64(n), events: samples[:n:n]}
		b := e.encode(nil, want)
		got, err := decode(b)
		require.NoError(t, err)
		require.Equal(t, want, got)
		clock, stamp, ok := stamped(b)
		require.True(t, ok)
		require.Equal(t, "c", clock)
		require.EqualValues(t, 1234, stamp)
		for i := range b { // a truncated block is malformed
			_, err := decode(b[:i])
			require.Error(t, err)
		}
	}
}

// An encoded event takes some twenty bytes, several times less than in the file.
func TestBlocksAreCompact(t *testing.T) {
	var e encoder
	b := &block{stamp: 1e15}
	for i := range blockEvents {
		b.events = append(b.events, Event{Kind: Match, At: 1e15 + int64(i)*50_000, Rank: 1, Context: 0x1234567890abcdef, Number: uint64(i), Tag: 7, Bytes: 4096})
	}
	require.Less(t, len(e.encode(nil, b)), 25*blockEvents)
}

// The decoder skips events of unknown kinds, and returns an error for malformed input.
func FuzzBlock(f *testing.F) {
	var e encoder
	f.Add(e.encode(nil, &block{clock: "c", events: samples}))
	f.Fuzz(func(t *testing.T, in []byte) {
		b, err := decode(in)
		if err != nil {
			return
		}
		var e encoder
		again, err := decode(e.encode(nil, b))
		require.NoError(t, err)
		require.Equal(t, b, again)
	})
}
