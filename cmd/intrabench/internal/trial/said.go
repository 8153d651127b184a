package trial

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// Said collects the output of a command while it runs.
type Said struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed and replaced when more output has arrived
}

// NewSaid returns a Said, to be the standard output or error of a command.
func NewSaid() *Said { return &Said{more: make(chan struct{})} }

// Write implements io.Writer.
func (s *Said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

// String returns the output so far.
func (s *Said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// Await waits until the output contains part n times. It fails if the output ends first, that
// is, once ended is closed.
func (s *Said) Await(ctx context.Context, part string, n int, ended <-chan struct{}) error {
	for last := false; ; {
		s.mu.Lock()
		found, more := strings.Count(s.text.String(), part) >= n, s.more
		s.mu.Unlock()
		switch {
		case found:
			return nil
		case last:
			return fmt.Errorf("%w: the job has ended", ErrOutput)
		}
		select {
		case <-more:
		case <-ended:
			last = true
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
