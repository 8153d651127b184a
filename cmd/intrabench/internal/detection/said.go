package detection

import (
	"context"
	"fmt"
	"strings"
	"sync"
)

// said collects the output of a launcher while it runs.
type said struct {
	mu   sync.Mutex
	text strings.Builder
	more chan struct{} // closed and replaced when more output has arrived
}

func newSaid() *said { return &said{more: make(chan struct{})} }

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(b)
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await waits until the output contains part. It fails if the output ends first.
func (s *said) await(ctx context.Context, part string, ended <-chan struct{}) error {
	for last := false; ; {
		s.mu.Lock()
		found, more := strings.Contains(s.text.String(), part), s.more
		s.mu.Unlock()
		switch {
		case found:
			return nil
		case last:
			return fmt.Errorf("%w: the job has ended", errRun)
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

// pid returns the process ID of a process of the job that has joined.
func (s *said) pid(process string) (int, error) {
	for line := range strings.Lines(s.String()) {
		var at float64
		var pid int
		if n, _ := fmt.Sscanf(line, "intrarun: %f "+process+" has joined: process %d on", &at, &pid); n == 2 {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("%w: no line names the process %s:\n%s", errRun, process, s)
}
