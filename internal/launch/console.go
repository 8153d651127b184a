package launch

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// console writes to the user: the program's output, the head's own lines and
// the progress line, never one inside the other.
type console struct {
	mu       sync.Mutex // one lock: the progress line may share a terminal with both
	w        [2]io.Writer
	open     [2]bool // the last line written there has no end yet
	failed   [2]bool
	progress string // what stands on the last line of the terminal now

	notes struct {
		sync.Mutex
		some   *sync.Cond
		queue  [][]byte
		closed bool
	}
	written chan struct{} // closed when all notes are
}

func newConsole(out, err io.Writer) *console {
	c := &console{w: [2]io.Writer{out, err}, written: make(chan struct{})}
	c.notes.some = sync.NewCond(&c.notes)
	go c.writeNotes()
	return c
}

// emit writes output of the program. It blocks as long as the user's end does.
// Output that does not continue a line begins a new one.
func (c *console) emit(kind stream, b []byte, continues bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
	if c.open[kind] && !continues {
		c.write(kind, []byte{'\n'})
	}
	c.write(kind, b)
	c.open[kind] = b[len(b)-1] != '\n'
}

// write drops output nobody can take any more: the job goes on without it.
func (c *console) write(kind stream, b []byte) {
	if c.failed[kind] {
		return
	}
	if _, err := c.w[kind].Write(b); err != nil {
		c.failed[kind] = true
		c.notef("intrarun: the program's output is lost from here: %v", err)
	}
}

// notef queues a line for standard error. It never blocks, as the head calls
// it.
func (c *console) notef(format string, args ...any) {
	c.notes.Lock()
	defer c.notes.Unlock()
	c.notes.queue = append(c.notes.queue, fmt.Appendf(nil, format+"\n", args...))
	c.notes.some.Signal()
}

func (c *console) writeNotes() {
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
		for _, b := range queue {
			c.emit(stderr, b, false)
		}
	}
}

// setProgress shows a line that the next output replaces.
func (c *console) setProgress(line string) {
	if !c.mu.TryLock() {
		return // output is under way, or the terminal is stopped
	}
	defer c.mu.Unlock()
	if c.open[stdout] || c.open[stderr] {
		return
	}
	c.clear()
	c.progress = line
	c.write(stderr, []byte(line))
}

func (c *console) clear() {
	if c.progress != "" {
		c.progress = ""
		c.write(stderr, []byte("\r\x1b[K"))
	}
}

// close writes what is queued and removes the progress line.
func (c *console) close() {
	c.notes.Lock()
	c.notes.closed = true
	c.notes.some.Signal()
	c.notes.Unlock()
	select {
	case <-c.written:
	case <-time.After(drainTime): // nobody reads it
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clear()
}
