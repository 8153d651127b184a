package engine

import (
	"context"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Head is what a process needs of the head of its job. A job.Session is one.
type Head interface {
	Setup() job.Setup
	Next() (job.Event, error)
	Stats(count func() job.Stats)
	Tell(count func() job.Stats)
	Trace(block []byte)
	Fired(job.Kill, job.Stats)
	Leased(context.Context) error
	Finish(job.Stats) error
	Drained() error
	Fail(job.Failure, job.Stats) error
	Suspect(job.Endpoint, error)
	Reply(job.Reply)
	Handled(epoch uint64)
}

// statsEvery is how often a process reports what it has counted and what it does, so
// that a dead one counts almost to its end. What that costs, there and in intrarun, grows
// with the number of processes: docs/see.md says how much it is.
const statsEvery = 250 * time.Millisecond

// restEvery is how many times as long a process waits that is blocked: still less than
// intrarun takes what a process has said for what it does now.
const restEvery = 3

// traceEvery is how often events leave, which are kept in a buffer of one size.
const traceEvery = 100 * time.Millisecond

// report sends the counts, and the events if there is a timeline, until the job ends.
func (e *Engine) report() {
	stats := time.NewTicker(statsEvery)
	defer stats.Stop()
	var trace <-chan time.Time
	if e.trace != nil {
		tick := time.NewTicker(traceEvery)
		defer tick.Stop()
		trace = tick.C
	}
	for rested := 0; ; {
		select {
		case <-stats.C:
			if rested++; rested < restEvery && e.atRest() {
				continue
			}
			rested = 0
			e.watch.late()
			e.head.Stats(e.told)
			if m := e.messages.Load(); m != nil {
				m.TellSums()
			}
		case <-trace:
			e.trace.memory(e.messages.Load())
			e.trace.flush(e.head)
		case <-e.ctx.Done():
			return
		}
	}
}
