package notice

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/intrahpc/intra/cmd/intrabench/internal/trial"
)

// stamped records when each line of the output of a job arrived.
type stamped struct {
	mu   sync.Mutex
	all  []line
	rest []byte        // the beginning of a line
	more chan struct{} // closed and replaced when more lines have arrived
}

// line is one line of output.
type line struct {
	at   time.Time
	text string
}

func newStamped() *stamped { return &stamped{more: make(chan struct{})} }

// Write implements io.Writer.
func (s *stamped) Write(b []byte) (int, error) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = append(s.rest, b...)
	for {
		i := bytes.IndexByte(s.rest, '\n')
		if i < 0 {
			break
		}
		s.all = append(s.all, line{now, string(s.rest[:i])})
		s.rest = s.rest[i+1:]
	}
	close(s.more)
	s.more = make(chan struct{})
	return len(b), nil
}

// lines returns the lines so far.
func (s *stamped) lines() []line {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[:len(s.all):len(s.all)]
}

// await waits for n lines. It fails if the output ends first.
func (s *stamped) await(ctx context.Context, n int, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, runTime)
	defer cancel()
	for {
		s.mu.Lock()
		have, more := len(s.all), s.more
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-more:
		case <-ended:
			return fmt.Errorf("%w: the job has ended after %d lines", trial.ErrOutput, have)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passes returns when each pass was reported. Every pass has to be reported once, in order.
func passes(lines []line) (all []time.Time, err error) {
	for i, l := range lines {
		if n, err := strconv.Atoi(l.text); err != nil || n != i {
			return nil, fmt.Errorf("%w: after %d passes it printed %q", trial.ErrOutput, i, l.text)
		}
		all = append(all, l.at)
	}
	return all, nil
}
