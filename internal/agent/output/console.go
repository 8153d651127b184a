package output

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Console writes to the user: the program's output, the head's own lines and the progress
// line. None of them interrupts another.
type Console struct {
	mu       sync.Mutex          // one lock: the progress line may share a terminal with both
	carrier  Carrier             // carries everything to another process; nil: it is written here
	here     func() [2]io.Writer // opens the streams once the carrier has ended
	w        [2]io.Writer
	open     [2]bool // the last line written there is not complete yet
	failed   [2]bool // a write has failed: the job continues without this stream
	lost     error   // the first error that the user has to learn of
	progress string  // the text on the last line of the terminal now

	notes struct {
		sync.Mutex
		some   *sync.Cond
		queue  []note
		closed bool
	}
	written chan struct{} // closed when all notes are written
}

// note is a line of intrarun. If written is not nil, it is a request instead, to report when
// all earlier notes are written.
type note struct {
	text    []byte
	written chan struct{} // closed when all earlier notes are written; nil: this is a line
}

// NewConsole returns a console that writes to out and err. Close ends it.
func NewConsole(out, err io.Writer) *Console {
	c := &Console{w: [2]io.Writer{out, err}, written: make(chan struct{})}
	c.notes.some = sync.NewCond(&c.notes)
	go c.writeNotes()
	return c
}

// NewCarried returns a console that writes its output through a carrier. When the carrier returns
// a piece, the console calls here once, and from then on writes to the streams that this call
// returns. The argument of the call is a function that records the loss of a stream.
func NewCarried(by Carrier, here func(lose func(Stream, error)) [2]io.Writer) *Console {
	c := NewConsole(nil, nil)
	c.carrier, c.here = by, func() [2]io.Writer { return here(c.lose) }
	return c
}

// Emit writes output. It blocks while the reader of the output blocks. Output that does not
// continue a line begins on a new one. Emit returns false if this process must not write from
// now on.
func (c *Console) Emit(p Piece) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.carrier != nil {
		rest, fate := c.carry(p)
		if fate != Returned {
			return fate == Carried
		}
		c.carrier, c.w, p = nil, c.here(), rest
	}
	if len(p.Text) == 0 {
		return true
	}
	c.clear()
	if c.open[p.Stream] && !p.Continues {
		c.write(p.Stream, []byte{'\n'})
	}
	c.write(p.Stream, p.Text)
	c.open[p.Stream] = p.Text[len(p.Text)-1] != '\n'
	return true
}

// carry passes a piece to the carrier in parts. If the carrier returns one, rest begins with it.
// The caller holds mu.
func (c *Console) carry(p Piece) (rest Piece, fate Fate) {
	for {
		part, rest := p.split(maxCarried)
		if fate := c.carrier.Carry(part); fate != Carried || len(rest.Text) == 0 {
			return p, fate
		}
		p = rest
	}
}

// maxCarried bounds the bytes of text that a carrier receives at once. Each part is sent in one
// frame and confirmed by itself, so an intrarun that is lost leaves at most one part in doubt.
const maxCarried = 256 << 10

// write discards everything after the first failed write to a stream. The job continues, and
// the output that was written has no gaps.
func (c *Console) write(kind Stream, b []byte) {
	if c.failed[kind] {
		return
	}
	if _, err := c.w[kind].Write(b); err != nil {
		c.lose(kind, err)
	}
}

// Notef queues a line for standard error. It never blocks, since the head calls
// it.
func (c *Console) Notef(format string, args ...any) {
	c.notes.Lock()
	defer c.notes.Unlock()
	c.notes.queue = append(c.notes.queue, note{text: fmt.Appendf(nil, format+"\n", args...)})
	c.notes.some.Signal()
}

// Flush waits until all queued notes are written. It does not wait long if the reader of the
// output blocks.
func (c *Console) Flush() {
	n := note{written: make(chan struct{})}
	c.notes.Lock()
	c.notes.queue = append(c.notes.queue, n)
	c.notes.some.Signal()
	c.notes.Unlock()
	select {
	case <-n.written:
	case <-c.written: // the console was closed before
	case <-time.After(DrainTime):
	}
}

func (c *Console) writeNotes() {
	defer close(c.written)
	for {
		c.notes.Lock()
		for len(c.notes.queue) == 0 && !c.notes.closed {
			c.notes.some.Wait()
		}
		queue := c.notes.queue
		c.notes.queue = nil
		c.notes.Unlock()
		if len(queue) == 0 {
			return
		}
		for _, n := range queue {
			if n.written != nil {
				close(n.written)
				continue
			}
			c.Emit(Piece{Stream: Stderr, Rank: -1, Text: n.text})
		}
	}
}

// SetProgress shows a line of ASCII characters until the next output, on a terminal with that
// number of columns. It cuts a longer line, which would wrap and could not be replaced.
func (c *Console) SetProgress(line string, columns int) {
	if !c.mu.TryLock() {
		return // output is under way, or the terminal is stopped
	}
	defer c.mu.Unlock()
	if c.open[Stdout] || c.open[Stderr] {
		return
	}
	line = line[:min(len(line), max(columns-1, 0))]
	if line == c.progress {
		return
	}
	c.progress = line
	c.write(Stderr, []byte("\r"+line+"\x1b[K")) // in one write, to avoid flicker
}

func (c *Console) clear() {
	if c.progress != "" {
		c.progress = ""
		c.write(Stderr, []byte("\r\x1b[K"))
	}
}

// Close writes the queued notes and removes the progress line.
func (c *Console) Close() {
	c.notes.Lock()
	c.notes.closed = true
	c.notes.some.Signal()
	c.notes.Unlock()
	select {
	case <-c.written:
	case <-time.After(DrainTime): // the reader of the output blocks
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}
