package output

import "bytes"

// Piece is output that is written in one piece.
type Piece struct {
	Stream    Stream
	Rank      int     // -1: a line of intrarun, in no rank's output
	From      Written // where the piece begins in the stream of the rank
	Continues bool    // it continues a line
	Text      []byte  // empty: the output after From will be written again
}

// End returns the position of the rank's stream after the piece.
func (p *Piece) End() Written { return p.From.after(p.Text) }

// split returns the first n bytes of the piece, and the rest.
func (p Piece) split(n int) (part, rest Piece) {
	part, rest = p, Piece{}
	if len(p.Text) > n {
		part.Text, rest = p.Text[:n], p
		rest.From, rest.Continues, rest.Text = part.End(), part.Text[n-1] != '\n', p.Text[n:]
	}
	return part, rest
}

// after returns the position after a text that begins at w.
func (w Written) after(text []byte) Written {
	if n := bytes.Count(text, []byte{'\n'}); n > 0 {
		w.Lines, w.Cut, text = w.Lines+n, 0, text[bytes.LastIndexByte(text, '\n')+1:]
	}
	w.Cut += len(text)
	return w
}

// Carrier carries the output of a job to another process, which writes it.
type Carrier interface {
	// Carry blocks until the fate of a piece is known. It is not called again before that.
	Carry(p Piece) Fate
}

// Fate is the outcome of carrying a piece.
type Fate int

// The fates.
const (
	Carried   Fate = iota // the other process has written it
	Returned              // the other process has ended; if it was killed, it may have written the piece
	Abandoned             // this process must not write from now on; the next head learns whether the piece was written
)
