package supervise

import (
	"time"

	"github.com/intrahpc/intra/internal/base/proc"
	"github.com/intrahpc/intra/internal/job"
)

// StopPoll is how often the agent looks for stopped processes.
const StopPoll = 100 * time.Millisecond

// watchStops reports processes that are stopped by a signal, not by a debugger.
// It does not report slow processes.
func (a *Agent) watchStops(paused func() bool) {
	tick := time.NewTicker(StopPoll)
	defer tick.Stop()
	last := time.Now()
	aged := last
	for {
		select {
		case <-a.quit:
			return
		case <-tick.C:
		}
		now := time.Now()
		pause := now.Sub(last) > 5*StopPoll || paused() // this agent was stopped itself, or the watchdog stopped the processes with the host's lease
		last = now
		if now.Sub(aged) > memoryWindow {
			a.memory.age()
			aged = now
		}
		for p, d := range a.findStopped(now, pause) {
			a.observer.Stopped(p, d)
		}
	}
}

func (a *Agent) findStopped(now time.Time, pause bool) map[job.Process]time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	var found map[job.Process]time.Duration
	for p, c := range a.children {
		if !proc.Stopped(c.cmd.Process.Pid) && (c.program == 0 || !proc.Stopped(c.program)) {
			c.since = time.Time{}
			continue
		}
		if c.since.IsZero() || pause {
			c.since = now
		}
		if found == nil {
			found = make(map[job.Process]time.Duration)
		}
		found[p] = now.Sub(c.since)
	}
	return found
}
