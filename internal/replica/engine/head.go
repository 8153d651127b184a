package engine

import (
	"context"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Head is the interface of a process to the head of its job. A job.Session implements
// it.
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

// statsEvery is how often a process reports its counts and its activity. It is short, so
// that the counts of a process that dies are almost complete. The cost of reports, in the
// process and in intrarun, grows with the number of processes: docs/see.md gives figures.
const statsEvery = 250 * time.Millisecond

// A blocked process reports restEvery times less often. That is still often enough for
// intrarun to treat a report as the current activity.
const restEvery = 3

// traceEvery is how often events are sent. The buffer between two reports has a fixed
// size.
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
			e.tellActivity()
			if m := e.messages.Load(); m != nil {
				m.SendSums()
			}
		case <-trace:
			e.trace.memory(e.messages.Load())
			e.trace.flush(e.head)
		case <-e.ctx.Done():
			return
		}
	}
}
