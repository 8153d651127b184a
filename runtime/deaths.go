package intra

import (
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// deaths brings the verdicts of the head and the ends of links together: a
// death is handled in the head's order, and only when the bytes of the dead
// process have been read to the end.
type deaths struct {
	mu     sync.Mutex
	closed map[job.Process]bool
	queue  []job.Verdict
}

func newDeaths() deaths { return deaths{closed: make(map[job.Process]bool)} }

// verdict takes in that the head has declared a process dead.
func (e *engine) verdict(v job.Verdict) {
	link := e.links[v.Process]
	e.deaths.mu.Lock()
	e.deaths.queue = append(e.deaths.queue, v)
	if link == nil { // it died before it had joined
		e.deaths.closed[v.Process] = true
	}
	e.deaths.mu.Unlock()
	if link != nil {
		link.PeerDied()
	}
	e.settle()
}

func (e *engine) linkClosed(p job.Process) {
	e.deaths.mu.Lock()
	e.deaths.closed[p] = true
	e.deaths.mu.Unlock()
	e.settle()
}

// settle handles the deaths that are due.
func (e *engine) settle() {
	e.deaths.mu.Lock()
	defer e.deaths.mu.Unlock()
	for len(e.deaths.queue) > 0 && e.deaths.closed[e.deaths.queue[0].Process] {
		p := e.deaths.queue[0].Process
		e.deaths.queue = e.deaths.queue[1:]
		if p.Rank == e.setup.Self.Rank {
			e.mu.Lock()
			e.machine.Dead(p.Replica)
			e.performOnce(e.once.Dead(p.Replica))
			e.mu.Unlock()
			e.changed()
		}
		e.msgs.Dead(p.Rank, p.Replica)
	}
}
