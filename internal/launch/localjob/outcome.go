package localjob

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/engine"
)

// ErrLost means that a rank has lost all its replicas.
var ErrLost = errors.New("a rank has lost all its replicas")

// errKilled is the reason for the end of a process that the head has killed, or that has
// reached its kill point.
var errKilled = errors.New("killed on request")

// terminate is the signal that the head receives when the caller's context ends.
const terminate = syscall.SIGTERM

// killed returns the reason for the end of a process that the head kills.
func (l *localJob) killed() error {
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return errKilled
}

// outcome returns the error of the job, nil if it ended well. It returns the error of a
// program itself, so that callers can inspect it.
func (l *localJob) outcome(s *head.Summary) error {
	failure := l.failure(s.By)
	switch {
	case s.Code == head.ExitOK:
		return nil
	case s.Code == head.ExitLost:
		return fmt.Errorf("%w: %s", ErrLost, s.Text)
	case failure != nil:
		return failure
	case s.Code == head.ExitDiverged:
		return fmt.Errorf("%w: %s", engine.ErrDiverged, s.Text)
	case l.refused != nil:
		return fmt.Errorf("intra.Run: %w", l.refused)
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	}
	return fmt.Errorf("intra.Run: %s", s.Text)
}

// failure returns how the program of a process has failed. It returns nil if the program has
// not failed.
func (l *localJob) failure(of job.Endpoint) error {
	for _, p := range l.started {
		if p.endpoint() == of {
			return p.failure()
		}
	}
	return nil
}

// tellWhatHappened fills in the results for tests.
func (l *localJob) tellWhatHappened(s *head.Summary) {
	w := l.want
	for _, k := range s.Kills {
		w.Fired = append(w.Fired, k.Fired)
	}
	for _, r := range s.Recovery.Replacements {
		w.Joined = append(w.Joined, r.Process)
	}
	w.Rollbacks = len(s.Recovery.Rollbacks)
	if s.Restart != nil {
		w.Warnings = append(w.Warnings, s.Restart.Refused...)
	}
	if s.Files != nil {
		for _, set := range s.Files.Sets {
			w.Sets = append(w.Sets, set.Set)
		}
		for _, set := range s.Files.Abandoned {
			w.Warnings = append(w.Warnings, fmt.Sprintf("checkpoint set %d is abandoned: %s", set.Set, set.Why))
		}
	}
	w.Stats = make(map[job.Process]job.Stats)
	for _, p := range l.started {
		if before, replaced := w.Stats[p.at.ID]; replaced {
			w.Former = append(w.Former, before)
		}
		w.Stats[p.at.ID] = p.stats
	}
}
