package output

import (
	"errors"
	"io"
	"os"
	"syscall"

	"github.com/intrahpc/intra/internal/base/cure"
)

// readerLeft reports whether a write to w failed because its reader has left: w is a pipe or a
// socket that was closed at the other end, or a closed terminal. Then no reader misses the
// output.
func readerLeft(w io.Writer, err error) bool {
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return true
	}
	f, ok := w.(*os.File)
	if !ok || !errors.Is(err, syscall.EIO) {
		return false
	}
	st, statErr := f.Stat()
	return statErr == nil && st.Mode()&os.ModeCharDevice != 0
}

// lose records that a stream can no longer be written to. The caller holds mu.
func (c *Console) lose(kind Stream, err error) {
	c.failed[kind] = true
	if readerLeft(c.w[kind], err) {
		return
	}
	if c.lost == nil {
		c.lost = err
	}
	c.Notef("intrarun: %s is lost from here on: %v", kind, cure.Write(err))
}

// Lose records that a stream could not be opened, so that all its output is lost.
func (c *Console) Lose(kind Stream, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.failed[kind] {
		c.lose(kind, err)
	}
}

// Lost returns the first error that lost output. It returns nil if all output was written or
// its reader has left.
func (c *Console) Lost() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}
