package localjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/engine"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// process is one process of a job that runs in this process, and its head.
type process struct {
	job    *localJob
	setup  job.Setup
	links  map[job.Process]transport.Link
	ctx    context.Context
	cancel context.CancelCauseFunc

	// Guarded by job.mu. A doomed process has passed its kill point.
	doomed, dead, finished, dismissed bool
	joiner                            bool      // not admitted yet
	final                             job.Stats // once finished

	mu     sync.Mutex
	former []transport.Link // to processes that were replaced
	some   *sync.Cond
	events []job.Event
	gone   bool
}

func newProcess(l *localJob, setup job.Setup, links map[job.Process]transport.Link) *process {
	p := &process{job: l, setup: setup, links: links}
	p.some = sync.NewCond(&p.mu)
	p.ctx, p.cancel = context.WithCancelCause(l.ctx)
	return p
}

var errKilled = errors.New("killed on request")

// live runs the program as this process, from joining to the end.
func (p *process) live(program Program) {
	released := make(chan struct{})
	links := p.links
	if p.setup.Joiner {
		links = nil // they come with events
	}
	var e *engine.Engine
	e = engine.New(p.ctx, engine.Config{Head: p, Links: links, Die: func(k job.Kill) { p.die(k, e) },
		Receive: p.job.want.Receive, Share: p.job.want.Share})
	began := e.Begin()
	var follower sync.WaitGroup
	follower.Go(func() { _, _ = e.Follow(p.cancel, released) })
	ended := make(chan struct{})
	go func() {
		// A kill point ends the goroutine of the program wherever it is.
		defer close(ended)
		err := began
		if err == nil {
			err = e.Live(program.Run, released)
		}
		if err != nil {
			p.failed(err)
		}
	}()
	<-ended
	select {
	case <-released:
		e.Shutdown()
	case <-p.ctx.Done():
	}
	p.hangUp()
	follower.Wait()
	p.cancel(nil)
	p.job.mu.Lock()
	if p.job.procs[p.setup.Self] == p {
		p.job.want.Stats[p.setup.Self] = e.Snapshot()
	} else {
		p.job.want.Former = append(p.job.want.Former, e.Snapshot())
	}
	p.job.mu.Unlock()
}

// hangUp breaks all links and ends the conversation with the head.
func (p *process) hangUp() {
	p.mu.Lock()
	links := slices.AppendSeq(slices.Clone(p.former), maps.Values(p.links))
	p.mu.Unlock()
	for _, l := range links {
		_ = l.Close()
	}
	p.mu.Lock()
	p.gone = true
	p.some.Broadcast()
	p.mu.Unlock()
}

// die is the death of a process in this process: nothing that it sends
// leaves it any more, and its program gets no further than to the next call.
func (p *process) die(k job.Kill, e *engine.Engine) {
	p.Fired(k, e.Snapshot())
	p.cancel(errKilled)
	p.job.dead(p, job.CauseInjected, errors.New(k.String()))
	go p.hangUp() // not from inside a link
	if k.Point == job.KillSection || k.Point == job.KillTask {
		runtime.Goexit()
	}
}

func (p *process) tell(e job.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
	p.some.Broadcast()
}

// Setup implements engine.Head.
func (p *process) Setup() job.Setup { return p.setup }

// Next implements engine.Head.
func (p *process) Next() (job.Event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case p.gone:
			return nil, io.EOF
		case len(p.events) > 0:
			e := p.events[0]
			p.events = p.events[1:]
			return e, nil
		}
		p.some.Wait()
	}
}

// Stats implements engine.Head. The counts are taken at the end.
func (p *process) Stats(func() job.Stats) {}

// Trace implements engine.Head. Nothing here asks for a trace.
func (p *process) Trace([]job.TraceEvent) {}

// Reply implements engine.Head.
func (p *process) Reply(r job.Reply) {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	if !p.dead && !p.doomed {
		p.job.apply(p.job.recovery.Reply(p.setup.Self, p.setup.Incarnation, r, p.job.now()))
	}
}

// Handled implements engine.Head. Nothing here asks for a report.
func (p *process) Handled(uint64) {}

// Suspect implements engine.Head. Nobody dies here without the head's knowledge.
func (p *process) Suspect(job.Endpoint, error) {}

// Fired implements engine.Head.
func (p *process) Fired(k job.Kill, _ job.Stats) {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	p.job.want.Fired[slices.Index(p.job.want.Kills, k)] = true
	p.doomed = true
}

// Leased implements engine.Head. There is one host.
func (p *process) Leased(context.Context) error { return nil }

// Finish implements engine.Head.
func (p *process) Finish(st job.Stats) error {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	p.job.finished(p, st)
	return nil
}

// Drained implements engine.Head.
func (p *process) Drained() error {
	p.job.mu.Lock()
	defer p.job.mu.Unlock()
	p.job.isDrained(p)
	return nil
}

// Fail implements engine.Head, for what is found after the program has returned;
// before, failed is told the error itself.
func (p *process) Fail(f job.Failure, _ job.Stats) error {
	p.job.end(fmt.Errorf("%w: %s", engine.ErrDiverged, f.Text))
	return nil
}

// failed ends this process because its program failed.
func (p *process) failed(err error) {
	p.job.mu.Lock()
	doomed := p.doomed
	p.job.mu.Unlock()
	if doomed { // err is what its death looks like from inside, die says the rest
		return
	}
	f := p.job.program.Failure(err)
	if f.Kind == job.FailDivergence || f.Kind == job.FailFinding {
		p.job.end(err)
		return
	}
	cause := job.CauseExit
	if f.Kind == job.FailPanic {
		cause = job.CausePanic
	}
	p.cancel(err)
	p.hangUp()
	p.job.dead(p, cause, err)
}
