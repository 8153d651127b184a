package output

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// The parts of a piece have the same text and the same end, wherever it is split.
func TestPartsOfAPiece(t *testing.T) {
	p := Piece{From: Written{Lines: 3, Cut: 2}, Continues: true, Text: []byte("a\nbb\n\nccc")}
	for n := 1; n <= len(p.Text); n++ {
		var text []byte
		at := p.From
		for rest := p; len(rest.Text) > 0; {
			var part Piece
			part, rest = rest.split(n)
			require.LessOrEqual(t, len(part.Text), n)
			require.Equal(t, at, part.From)
			require.Equal(t, at.Cut > 0, part.Continues)
			text, at = append(text, part.Text...), part.End()
		}
		require.Equal(t, p.Text, text)
		require.Equal(t, Written{Lines: 6, Cut: 3}, at)
		require.Equal(t, at, p.End())
	}
}

// courier is a carrier that carries some pieces.
type courier struct {
	pieces int // number of pieces that it still carries
	then   Fate
	to     *screen
}

func (c *courier) Carry(p Piece) Fate {
	if c.pieces == 0 {
		return c.then
	}
	c.pieces--
	_, _ = c.to.Write(p.Text)
	return Carried
}

// Once a carrier has ended, the console writes the pieces that the carrier has not written. If this
// process must not write any more, it writes nothing, and the position stays.
func TestCarriedOutput(t *testing.T) {
	for _, fate := range []Fate{Returned, Abandoned} {
		for pieces := range 4 {
			there, here := new(screen), new(screen)
			opened := 0
			c := NewCarried(&courier{pieces, fate, there}, func(func(Stream, error)) [2]io.Writer {
				opened++
				return [2]io.Writer{here, here}
			})
			of := NewRank(c, 0, 1)
			p := NewProcess(job.Process{}, of)
			for _, line := range []string{"a\n", "b\n", "c\n", "d\n"} {
				p.Write(Stdout, []byte(line))
			}
			require.Equal(t, "a\nb\nc\nd\n"[:2*pieces], there.String())
			written := of.Stop()[Stdout].Lines
			if fate == Returned {
				require.Equal(t, "a\nb\nc\nd\n"[2*pieces:], here.String())
				require.Equal(t, 1, opened)
				require.Equal(t, 4, written)
			} else {
				require.Empty(t, here.String())
				require.Zero(t, opened)
				require.Equal(t, pieces, written)
			}
			p.Write(Stdout, []byte("after the end\n"))
			require.NotContains(t, there.String()+here.String(), "after")
			c.Close()
		}
	}
}

// A stream that cannot be opened once the carrier has ended is lost, and the job learns of it.
func TestCarriedOutputIsLost(t *testing.T) {
	full := errors.New("no space")
	c := NewCarried(&courier{then: Returned}, func(lose func(Stream, error)) (w [2]io.Writer) {
		lose(Stdout, full)
		w[Stderr] = new(screen)
		return w
	})
	defer c.Close()
	require.True(t, c.Emit(Piece{Text: []byte("a\n")}))
	require.Equal(t, full, c.Lost())
}

// The position of a rewind is carried, too: the next head must not skip the output after it.
func TestRewindIsCarried(t *testing.T) {
	to := new(pieces)
	c := NewCarried(to, nil)
	defer c.Close()
	of := NewRank(c, 0, 1)
	p := NewProcess(job.Process{}, of)
	p.Write(Stdout, []byte("a\nb\nc\n"))
	of.Rewind(1, Position{{Written: Written{Lines: 1}}, {Written: Written{Stream: Stderr}}})
	last := (*to)[len(*to)-1]
	require.Empty(t, last.Text)
	require.Equal(t, Written{Lines: 1}, last.End())
}

// pieces is a carrier that records what it carries.
type pieces []Piece

func (p *pieces) Carry(x Piece) Fate {
	*p = append(*p, x)
	return Carried
}
