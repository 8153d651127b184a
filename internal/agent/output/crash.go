package output

import (
	"bytes"
	"strings"
	"sync"
)

// MaxCrash bounds the part of a crash text that is kept, in bytes.
const MaxCrash = 1 << 20

// crash collects the text that the Go runtime of a dying process writes. The runtime writes
// each piece to standard error first, and then a copy here.
type crash struct {
	mu    sync.Mutex
	text  []byte
	ended chan struct{}
}

// add adds a piece; an empty piece marks the end. It reports whether the piece is the first
// one.
func (c *crash) add(b []byte) (first bool) {
	if len(b) == 0 {
		close(c.ended)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	first = len(c.text) == 0
	c.text = append(c.text, b[:min(len(b), MaxCrash-len(c.text))]...)
	return first
}

func (c *crash) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.text)
}

// crashLike reports whether a line begins like a line that the Go runtime writes when the
// program crashes. The runtime writes the first of these lines before the copy begins.
func crashLike(line []byte) bool {
	for _, s := range []string{"panic: ", "fatal error: ", "runtime: ", "unexpected fault address ", "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGQUIT", "SIGABRT", "[signal "} {
		if strings.HasPrefix(string(line[:min(len(line), len(s))]), s) {
			return true
		}
	}
	return false
}

// splitCrash divides the remaining standard error of a dead replica into its output and its
// crash text.
func splitCrash(held, text []byte) (output, crash []byte) {
	if len(text) == 0 {
		return held, nil
	}
	at := bytes.LastIndex(held, text)
	if at < 0 { // the crash text is mixed with other output, or cut off
		first, _, _ := bytes.Cut(text, []byte{'\n'})
		if at = bytes.Index(held, first); at < 0 {
			return held, text
		}
	}
	at = bytes.LastIndexByte(held[:at], '\n') + 1
	for at > 0 {
		before := bytes.LastIndexByte(held[:at-1], '\n') + 1
		if !crashLike(held[before:at]) {
			break
		}
		at = before
	}
	return held[:at], held[at:]
}
