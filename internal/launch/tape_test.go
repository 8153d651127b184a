package launch

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// recorder is a way to a head that keeps the frames.
func recorder() *mux {
	m := &mux{conn: closed{}}
	m.some = sync.NewCond(&m.mu)
	return m
}

// frames returns what a recorder has got since the last call.
func (m *mux) frames(t *testing.T) (all []frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.queue {
		f, err := readFrame(bytes.NewReader(b))
		require.NoError(t, err)
		all = append(all, f)
	}
	m.queue = nil
	return all
}

// from returns what of a text is not out: whole lines, and bytes of the next one.
func from(text string, w written) string {
	for range w.Lines {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return text[min(w.Cut, len(line)):]
}

// TestTape: however a process writes, and a head takes and writes, every head
// gets what the one before had not written, in order and to the end.
func TestTape(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			var text strings.Builder
			m := recorder()
			tp := newTape(job.Process{Rank: 1}, stderr, m, true)
			var start written
			got, ended, flying := "", false, 0
			take := func() {
				for _, f := range m.frames(t) {
					require.Equal(t, frameOutput, f.kind)
					require.Equal(t, job.Process{Rank: 1}, f.process)
					require.Equal(t, byte(stderr), f.body[0])
					require.False(t, ended, "nothing comes after the end")
					got += string(f.body[1:])
					flying += len(f.body) - 1
					ended = len(f.body) == 1
				}
				require.LessOrEqual(t, flying, maxWindow+maxPiece)
			}
			over := false
			for step := 0; !over || !ended; step++ {
				switch n := rng.IntN(10); {
				case n < 4 && !over && len(tp.buf)-tp.sent < maxWindow/2: // else it would wait for the head
					piece := strings.Repeat("x", rng.IntN(60))
					if rng.IntN(3) > 0 {
						piece += "\n"
					}
					if rng.IntN(20) == 0 {
						piece = strings.Repeat("long ", 10<<10) + piece
					}
					if piece != "" {
						text.WriteString(piece)
						tp.write([]byte(piece))
					}
				case n < 6:
					take()
					if flying > 0 {
						tp.room(flying)
						flying = 0
					}
				case n < 8: // the head has written some of what it has, perhaps from another replica
					part := got[:rng.IntN(len(got)+1)]
					w := start
					if i := strings.LastIndexByte(part, '\n'); i >= 0 {
						w.Lines, w.Cut = w.Lines+strings.Count(part, "\n"), 0
						part = part[i+1:]
					}
					w.Cut += len(part)
					tp.confirm(w)
				case n == 8:
					take()
					m = recorder()
					start = tp.rewind()
					got, ended, flying = "", false, 0
					tp.play(m)
				case step > 300 && !over:
					over = true
					tp.write(nil)
				}
				take()
				require.True(t, strings.HasPrefix(from(text.String(), start), got), "seed %d", seed)
			}
			require.Equal(t, from(text.String(), start), got)
		})
	}
}

// A tape that nobody else will ask for keeps nothing that was sent.
func TestTapeThatIsNotKept(t *testing.T) {
	m := recorder()
	tp := newTape(job.Process{}, stdout, m, false)
	tp.write(bytes.Repeat([]byte("no end"), maxWindow/6))
	require.Zero(t, len(tp.buf))
	tp.confirm(written{Lines: 5})
	tp.write([]byte("more\n"))
	require.Len(t, tp.buf, 5, "there is no room for it")
	tp.room(maxWindow)
	require.Empty(t, tp.buf)
	tp.drain()
	tp.write(nil)
	all := m.frames(t)
	require.Equal(t, []byte{byte(stdout)}, all[len(all)-1].body)
}
