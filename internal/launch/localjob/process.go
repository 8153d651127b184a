package localjob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/transport"
)

// process is one process of the job, and its connection to the head.
type process struct {
	job    *localJob
	at     head.From
	setup  job.Setup // set before the process lives
	ctx    context.Context
	cancel context.CancelCauseFunc
	first  map[job.Process]transport.Link // links with which the process begins; set before it lives
	stats  job.Stats                      // set when the process has lived

	mu     sync.Mutex
	links  []transport.Link // all links that the process ever had
	events []job.Event      // events that the process has not received yet
	some   *sync.Cond
	gone   bool  // the process has ended: its messages are dropped, and its links are closed
	err    error // the error of its program
}

func newProcess(l *localJob, at head.From) *process {
	p := &process{job: l, at: at, first: make(map[job.Process]transport.Link)}
	p.some = sync.NewCond(&p.mu)
	p.ctx, p.cancel = context.WithCancelCause(context.WithoutCancel(l.ctx))
	return p
}

func (p *process) endpoint() job.Endpoint {
	return job.Endpoint{Process: p.at.ID, Incarnation: p.at.Incarnation}
}

// receive handles a message of the head.
func (p *process) receive(m *job.Message) {
	switch m.Kind {
	case job.KindSetup:
		if p.setup = *m.Setup; p.setup.Joiner { // a joiner's links arrive as events
			p.job.running.Go(p.live)
		}
	case job.KindStart:
		if p.job.refused == nil { // otherwise links are missing, and the job is about to end
			p.job.running.Go(p.live)
		}
	case job.KindEnd, job.KindRefuse:
		p.end(errors.New(m.Text))
	default:
		p.queue(m.Event())
	}
}

// queue queues an event for the process, which receives it once it lives.
func (p *process) queue(e job.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.events = append(p.events, e)
	p.some.Broadcast()
}

// say sends a message to the head, unless the process has ended.
func (p *process) say(m *job.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.gone {
		p.job.tell(head.Said{From: p.at, Message: m})
	}
}

// connect gives the process its end of a link, before it lives or later.
func (p *process) connect(c job.Connected, later bool) {
	p.mu.Lock()
	gone := p.gone
	if !gone {
		p.links = append(p.links, c.Link)
	}
	p.mu.Unlock()
	switch {
	case gone:
		_ = c.Link.Close()
	case later:
		p.queue(c)
	default:
		p.first[c.Process] = c.Link
	}
}

// live runs the program as this process, from its start to its end.
func (p *process) live() {
	released := make(chan struct{})
	var e *engine.Engine
	e = engine.New(p.ctx, engine.Config{Head: p, Links: p.first, Die: func(k job.Kill) { p.die(k, e) },
		Receive: p.job.want.Receive, Share: p.job.want.Share, Failure: p.job.program.Failure})
	began := e.Begin()
	var follower sync.WaitGroup
	follower.Go(func() { _, _ = e.Follow(p.cancel, released) })
	ended := make(chan struct{})
	go func() {
		// A kill point ends the goroutine of the program at any place. The program may also
		// end it by itself.
		defer close(ended)
		returned := false
		defer func() {
			if err := e.Ended(); err != nil && !returned {
				p.failed(err, e.Snapshot())
			}
		}()
		err := began
		if err == nil {
			err = e.Live(p.job.program.Run, released)
		}
		returned = true
		if err != nil {
			p.failed(err, e.Snapshot())
		}
	}()
	<-ended
	select {
	case <-released:
		e.Shutdown()
	case <-p.ctx.Done():
	}
	p.end(nil)
	follower.Wait()
	p.stats = e.Snapshot()
}

// end ends a process: its messages are dropped, its links are closed, and its
// program stops at the next call. Links may call it, too.
func (p *process) end(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gone {
		return
	}
	p.gone = true
	p.some.Broadcast()
	p.cancel(why)
	links := p.links
	p.job.running.Go(func() {
		for _, l := range links {
			_ = l.Close()
		}
		p.job.tell(head.Exited{From: p.at})
	})
}

// die kills the process at a kill point.
func (p *process) die(k job.Kill, e *engine.Engine) {
	p.Fired(k, e.LastSnapshot())
	p.end(errKilled)
	if k.Point == job.KillSection || k.Point == job.KillTask || k.Point == job.KillFile {
		runtime.Goexit()
	}
}

// failed ends the process because its program failed. If the process had ended
// before, err is only a consequence, and is not recorded.
func (p *process) failed(err error, st job.Stats) {
	f := p.job.program.Failure(err)
	if f.Kind == job.FailError || f.Kind == job.FailPanic {
		err = fmt.Errorf("%v: %w", p.at.ID, err)
	}
	p.fail(err, f, st)
	p.end(err)
}

// fail records and reports a failure of the program. The first failure counts.
func (p *process) fail(err error, f job.Failure, st job.Stats) {
	p.mu.Lock()
	if p.err == nil && !p.gone {
		p.err = err
	}
	p.mu.Unlock()
	p.say(&job.Message{Kind: job.KindFail, Failure: &f, Stats: &st})
}

// failure returns the first error that fail recorded.
func (p *process) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
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

// Stats implements engine.Head. The counts are needed only at the end.
func (p *process) Stats(func() job.Stats) {}

// Tell implements engine.Head.
func (p *process) Tell(count func() job.Stats) {
	st := count()
	p.say(&job.Message{Kind: job.KindStats, Stats: &st})
}

// Trace implements engine.Head. Jobs in one process have no timeline.
func (p *process) Trace([]byte) {}

// Reply implements engine.Head.
func (p *process) Reply(r job.Reply) { p.say(&job.Message{Kind: job.KindReply, Reply: &r}) }

// Handled implements engine.Head. Jobs in one process ignore it.
func (p *process) Handled(uint64) {}

// Suspect implements engine.Head. Links here end only with their processes.
func (p *process) Suspect(job.Endpoint, error) {}

// Fired implements engine.Head.
func (p *process) Fired(k job.Kill, st job.Stats) {
	p.say(&job.Message{Kind: job.KindFired, Kill: &k, Stats: &st})
}

// Leased implements engine.Head. On one host there is no lease.
func (p *process) Leased(context.Context) error { return nil }

// Finish implements engine.Head.
func (p *process) Finish(st job.Stats) error {
	p.say(&job.Message{Kind: job.KindFinish, Stats: &st})
	return nil
}

// Drained implements engine.Head.
func (p *process) Drained() error {
	p.say(&job.Message{Kind: job.KindDrained})
	return nil
}

// Fail implements engine.Head, for failures found after the program has returned. Earlier
// failures are passed to failed, with the error itself.
func (p *process) Fail(f job.Failure, st job.Stats) error {
	p.fail(fmt.Errorf("%w: %s", engine.ErrDiverged, f.Text), f, st)
	return nil
}
