package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// exitFailed is the exit code of a process that the job has ended.
const exitFailed = 1

// Follow handles the events of the head. It returns the exit code of the process if the
// job ends first, or false once the head has released the process. released is closed
// after all earlier deaths have been handled, because the last frames of a dead process
// may show that it differed.
func (e *Engine) Follow(cancel context.CancelCauseFunc, released chan<- struct{}) (code int, over bool) {
	e.released = released
	for {
		event, err := e.head.Next()
		if err != nil {
			cancel(err)
			return exitFailed, true
		}
		switch event := event.(type) {
		case job.Verdict:
			if event.Process == e.setup.Self && incarnationOf(event) == e.began {
				cancel(fmt.Errorf("%v was declared dead: %s", event.Process, event.Detail))
				return exitFailed, true
			}
			e.deaths.enqueue(event)
		case job.Connected, job.Order:
			e.deaths.enqueue(event)
		case job.Release:
			e.deaths.enqueue(event)
			return 0, false
		case job.End:
			// The program is not informed, because an error that it returned then would not be a
			// failure of its own.
			return event.Code, true
		}
	}
}

// shutdownTime bounds how long a process waits for its peers to take the frames that it
// has sent, after all of them have finished.
const shutdownTime = 2 * time.Second

// Shutdown waits until the links have handed over their frames.
func (e *Engine) Shutdown() {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTime)
	defer cancel()
	done := make(chan struct{})
	links := e.peerLinks.links()
	for _, l := range links {
		go func() {
			_ = l.Shutdown(ctx) // all processes have finished, so a lost frame does no harm
			done <- struct{}{}
		}()
	}
	for range links {
		<-done
	}
}
