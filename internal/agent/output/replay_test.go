package output

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a head that keeps the pieces that it receives.
type recorder struct{ pieces [][]byte }

func (r *recorder) send(b []byte) { r.pieces = append(r.pieces, bytes.Clone(b)) }

// take returns the frames that a recorder has received since the last call.
func (r *recorder) take() [][]byte {
	all := r.pieces
	r.pieces = nil
	return all
}

// recorderWindow is the number of bytes that a recorder has room for.
const recorderWindow = 256 << 10

// from returns the part of a text after a position.
func from(text string, w Written) string {
	for range w.Lines {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return text[min(w.Cut, len(line)):]
}

// TestReplayBuffer checks that every head gets the output that the earlier head had not
// written, in order and to the end. The sizes of the pieces that a process writes, and that a
// head receives and writes, do not matter.
func TestReplayBuffer(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var text strings.Builder
			m := new(recorder)
			rb := NewReplayBuffer(recorderWindow, true, m.send)
			var start Written
			got, ended, flying := "", false, 0
			take := func() {
				for _, b := range m.take() {
					require.False(t, ended, "nothing is sent after the end")
					got += string(b)
					flying += len(b)
					ended = len(b) == 0
				}
				require.LessOrEqual(t, flying, recorderWindow+maxPiece)
			}
			over := false
			for step := 0; !over || !ended; step++ {
				switch n := rng.IntN(10); {
				case n < 4 && !over && len(rb.buf)-rb.sent < recorderWindow/2: // otherwise the write would wait for the head
					piece := strings.Repeat("x", rng.IntN(60))
					if rng.IntN(3) > 0 {
						piece += "\n"
					}
					if rng.IntN(20) == 0 {
						piece = strings.Repeat("long ", 10<<10) + piece
					}
					if piece != "" {
						text.WriteString(piece)
						rb.Write([]byte(piece))
					}
				case n < 6:
					take()
					if flying > 0 {
						rb.Taken(flying)
						flying = 0
					}
				case n < 8: // the head has written a part, perhaps as the output of another replica
					part := got[:rng.IntN(len(got)+1)]
					w := start
					if i := strings.LastIndexByte(part, '\n'); i >= 0 {
						w.Lines, w.Cut = w.Lines+strings.Count(part, "\n"), 0
						part = part[i+1:]
					}
					w.Cut += len(part)
					rb.Confirm(w)
				case n == 8:
					take()
					m = new(recorder)
					start, _ = rb.Rewind()
					got, ended, flying = "", false, 0
					rb.Play(m.send)
				case step > 300 && !over:
					over = true
					rb.Write(nil)
				}
				take()
				require.True(t, strings.HasPrefix(from(text.String(), start), got), "seed %d", seed)
			}
			require.Equal(t, from(text.String(), start), got)
		})
	}
}

// If no other head can follow, a buffer keeps nothing that was sent.
func TestReplayBufferWithoutKeep(t *testing.T) {
	m := new(recorder)
	rb := NewReplayBuffer(recorderWindow, false, m.send)
	rb.Write(bytes.Repeat([]byte("no end"), recorderWindow/6))
	require.Zero(t, len(rb.buf))
	rb.Confirm(Written{Lines: 5})
	rb.Write([]byte("more\n"))
	require.Len(t, rb.buf, 5, "there is no room for it")
	rb.Taken(recorderWindow)
	require.Empty(t, rb.buf)
	rb.Drain()
	rb.Write(nil)
	all := m.take()
	require.Empty(t, all[len(all)-1])
}
