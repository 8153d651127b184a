package intra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// localProc is one process of a job that runs in this process, and its head.
type localProc struct {
	job    *local
	setup  job.Setup
	links  map[job.Process]transport.Link
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by local.mu. A doomed process has passed its kill point.
	doomed, dead, finished, dismissed bool
	joiner                            bool      // not admitted yet
	final                             job.Stats // once finished

	mu     sync.Mutex
	former []transport.Link // to processes that were replaced
	some   *sync.Cond
	events []job.Event
	gone   bool
}

func newLocalProc(l *local, setup job.Setup, links map[job.Process]transport.Link) *localProc {
	s := &localProc{job: l, setup: setup, links: links}
	s.some = sync.NewCond(&s.mu)
	s.ctx, s.cancel = context.WithCancelCause(l.ctx)
	return s
}

var errKilled = errors.New("killed on request")

// live runs the program as this process, from joining to the end.
func (s *localProc) live(run func(*Process) error) {
	released := make(chan struct{})
	var e *engine
	links := s.links
	if s.setup.Joiner {
		links = nil // they come with events
	}
	e = newEngine(s.ctx, s, links, func(k job.Kill) { s.die(k, e) })
	e.receive, e.decisions.never = s.job.want.Receive, s.job.want.Share
	began := e.begin()
	var follower sync.WaitGroup
	follower.Go(func() { e.follow(s.cancel, released) })
	ended := make(chan struct{})
	go func() {
		// A kill point ends the goroutine of the program wherever it is.
		defer close(ended)
		err := began
		if err == nil {
			err = e.live(run, released)
		}
		if err != nil {
			s.failed(err)
		}
	}()
	<-ended
	select {
	case <-released:
		e.shutdown()
	case <-s.ctx.Done():
	}
	s.hangUp()
	follower.Wait()
	s.cancel(nil)
	s.job.mu.Lock()
	if s.job.procs[s.setup.Self] == s {
		s.job.want.Stats[s.setup.Self] = e.snapshot()
	} else {
		s.job.want.Former = append(s.job.want.Former, e.snapshot())
	}
	s.job.mu.Unlock()
}

// hangUp breaks all links and ends the conversation with the head.
func (s *localProc) hangUp() {
	s.mu.Lock()
	links := slices.AppendSeq(slices.Clone(s.former), maps.Values(s.links))
	s.mu.Unlock()
	for _, l := range links {
		_ = l.Close()
	}
	s.mu.Lock()
	s.gone = true
	s.some.Broadcast()
	s.mu.Unlock()
}

// die is the death of a process in this process: nothing that it sends
// leaves it any more, and its program gets no further than to the next call.
func (s *localProc) die(k job.Kill, e *engine) {
	s.Fired(k, e.snapshot())
	s.cancel(errKilled)
	s.job.dead(s, job.CauseInjected, errors.New(k.String()))
	go s.hangUp() // not from inside a link
	if k.Point == job.KillSection || k.Point == job.KillTask {
		runtime.Goexit()
	}
}

func (s *localProc) tell(e job.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, e)
	s.some.Broadcast()
}

// Setup implements head.
func (s *localProc) Setup() job.Setup { return s.setup }

// Next implements head.
func (s *localProc) Next() (job.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.gone:
			return nil, io.EOF
		case len(s.events) > 0:
			e := s.events[0]
			s.events = s.events[1:]
			return e, nil
		}
		s.some.Wait()
	}
}

// Stats implements head. The counts are taken at the end.
func (s *localProc) Stats(func() job.Stats) {}

// Trace implements head. Nothing here asks for a trace.
func (s *localProc) Trace([]job.TraceEvent) {}

// Reply implements head.
func (s *localProc) Reply(r job.Reply) {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	if !s.dead && !s.doomed {
		s.job.apply(s.job.recovery.Reply(s.setup.Self, s.setup.Incarnation, r, s.job.now()))
	}
}

// Handled implements head. Nothing here asks for a report.
func (s *localProc) Handled(uint64) {}

// Suspect implements head. Nobody dies here without the head's knowledge.
func (s *localProc) Suspect(job.Endpoint, error) {}

// Fired implements head.
func (s *localProc) Fired(k job.Kill, _ job.Stats) {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	s.job.want.Fired[slices.Index(s.job.want.Kills, k)] = true
	s.doomed = true
}

// Leased implements head. There is one host.
func (s *localProc) Leased(context.Context) error { return nil }

// Finish implements head.
func (s *localProc) Finish(st job.Stats) error {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	if s.dead || s.doomed {
		return nil
	}
	if s.job.recovery != nil {
		if s.job.recovery.State(s.setup.Self) != recovery.Running {
			return nil // it will hear that the job goes back
		}
		s.job.apply(s.job.recovery.Finished(s.setup.Self, s.setup.Incarnation, s.job.now()))
	}
	s.finished, s.final = true, st
	for p, other := range s.job.procs {
		if p.Rank == s.setup.Self.Rank && other.finished {
			if how := s.final.Diverged(&other.final); how != "" {
				s.job.endLocked(fmt.Errorf("%w: %v and %v: %s", ErrDiverged, s.setup.Self, p, how))
				return nil
			}
		}
	}
	s.job.release()
	return nil
}

// Drained implements head.
func (s *localProc) Drained() error {
	s.job.mu.Lock()
	defer s.job.mu.Unlock()
	if s.finished && !s.dead && !s.doomed {
		s.job.through[s.setup.Self.Rank] = true
		if s.job.recovery != nil {
			s.job.apply(s.job.recovery.Through(s.setup.Self, s.setup.Incarnation, s.job.now()))
		}
	}
	return nil
}

// Fail implements head, for what is found after the program has returned;
// before, failed is told the error itself.
func (s *localProc) Fail(f job.Failure, _ job.Stats) error {
	s.job.end(fmt.Errorf("%w: %s", ErrDiverged, f.Text))
	return nil
}

// failed ends this process because its program failed.
func (s *localProc) failed(err error) {
	s.job.mu.Lock()
	doomed := s.doomed
	s.job.mu.Unlock()
	if doomed { // err is what its death looks like from inside, die says the rest
		return
	}
	f := failure(err)
	if f.Kind == job.FailDivergence || f.Kind == job.FailFinding {
		s.job.end(err)
		return
	}
	cause := job.CauseExit
	if f.Kind == job.FailPanic {
		cause = job.CausePanic
	}
	s.cancel(err)
	s.hangUp()
	s.job.dead(s, cause, err)
}
