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

// statsEvery is how often a process reports what it has counted, so that a
// dead one counts almost to its end.
const statsEvery = 100 * time.Millisecond

// report sends the counts until the job ends.
func (e *Engine) report() {
	tick := time.NewTicker(statsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			e.head.Stats(e.told)
			e.trace.memory(e.messages.Load())
			e.trace.flush(e.head)
		case <-e.ctx.Done():
			return
		}
	}
}
