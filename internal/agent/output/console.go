package output

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Console writes to the user: the program's output, the head's own lines and
// the progress line, never one inside the other.
type Console struct {
	mu       sync.Mutex // one lock: the progress line may share a terminal with both
	w        [2]io.Writer
	open     [2]bool // the last line written there has no end yet
	failed   [2]bool // a write has failed: the job goes on without this stream
	lost     error   // the first of those that the user has to know of
	progress string  // what stands on the last line of the terminal now

	notes struct {
		sync.Mutex
		some   *sync.Cond
		queue  []note
		closed bool
	}
	written chan struct{} // closed when all notes are
}

// note is a line of intrarun, or the wish to know when all before it are written.
type note struct {
	text    []byte
	written chan struct{} // closed then; nil: it is a line
}

// NewConsole returns a console on these. It ends with Close.
func NewConsole(out, err io.Writer) *Console {
	c := &Console{w: [2]io.Writer{out, err}, written: make(chan struct{})}
	c.notes.some = sync.NewCond(&c.notes)
	go c.writeNotes()
	return c
}

// emit writes output of the program. It blocks as long as the user's end does.
// Output that does not continue a line begins a new one.
func (c *Console) emit(kind Stream, b []byte, continues bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.open[kind] && !continues {
		c.write(kind, []byte{'\n'})
	}
	c.write(kind, b)
	c.open[kind] = b[len(b)-1] != '\n'
}

// write drops what a stream does not take after its first failed write: the job goes
// on, and there are no gaps in what was written.
func (c *Console) write(kind Stream, b []byte) {
	if c.failed[kind] {
		return
	}
	if _, err := c.w[kind].Write(b); err != nil {
		c.lose(kind, err)
	}
}

// Notef queues a line for standard error. It never blocks, as the head calls it.
func (c *Console) Notef(format string, args ...any) {
	c.notes.Lock()
	defer c.notes.Unlock()
	c.notes.queue = append(c.notes.queue, note{text: fmt.Appendf(nil, format+"\n", args...)})
	c.notes.some.Signal()
}

// Flush waits until all notes are written that are queued, unless the user's end blocks.
func (c *Console) Flush() {
	n := note{written: make(chan struct{})}
	c.notes.Lock()
	c.notes.queue = append(c.notes.queue, n)
	c.notes.some.Signal()
	c.notes.Unlock()
	select {
	case <-n.written:
	case <-c.written: // it was closed before
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
			c.emit(Stderr, n.text, false)
		}
	}
}

// SetProgress shows a line of ASCII that the next output replaces, on a terminal with
// so many columns: what has no room would begin another line.
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
	c.write(Stderr, []byte("\r"+line+"\x1b[K")) // at once, so that it does not flicker
}

func (c *Console) clear() {
	if c.progress != "" {
		c.progress = ""
		c.write(Stderr, []byte("\r\x1b[K"))
	}
}

// Close writes what is queued and removes the progress line.
func (c *Console) Close() {
	c.notes.Lock()
	c.notes.closed = true
	c.notes.some.Signal()
	c.notes.Unlock()
	select {
	case <-c.written:
	case <-time.After(DrainTime): // nobody reads it
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}
