package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// deaths puts events of the head and the ends of links into one order. It handles events
// in the order in which the head sent them. It handles a death only after all bytes of the
// dead process have been read.
type deaths struct {
	links *peerLinks
	do    func(job.Event) // handles an event

	mu    sync.Mutex
	queue []job.Event
	doing bool // a goroutine is handling events
}

// incarnationOf returns the incarnation in which the process of a verdict began.
func incarnationOf(v job.Verdict) uint32 { return max(v.Incarnation, firstIncarnation) }

// enqueue queues an event of the head that must stay in order with deaths.
func (d *deaths) enqueue(event job.Event) {
	d.mu.Lock()
	d.queue = append(d.queue, event)
	d.mu.Unlock()
	if v, ok := event.(job.Verdict); ok {
		d.mourn(v)
	}
	d.doDue()
}

// mourn reports a death to the link to the dead process, if that link has begun.
func (d *deaths) mourn(v job.Verdict) {
	if l := d.links.get(v.Process, incarnationOf(v)); l != nil {
		l.Link.PeerDied()
	}
}

// linkClosed records that a link was read to its end, and handles the events that waited
// for this.
func (d *deaths) linkClosed(p job.Process, incarnation uint32) {
	d.links.close(p, incarnation)
	d.doDue()
}

// doDue handles the events that are due, one after the other.
func (d *deaths) doDue() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doing {
		return // the goroutine that handles events checks the queue again
	}
	d.doing = true
	for len(d.queue) > 0 && d.isDue(d.queue[0]) {
		event := d.queue[0]
		d.queue = d.queue[1:]
		d.mu.Unlock()
		d.do(event)
		if c, ok := event.(job.Connected); ok {
			d.begun(c)
		}
		d.mu.Lock()
	}
	d.doing = false
}

// begun reports a death to a link that has just begun, if the death of its process is
// already queued. The link may have begun late, because its event waited behind another
// death. Not every link notices a death by itself.
func (d *deaths) begun(c job.Connected) {
	d.mu.Lock()
	queue := slices.Clone(d.queue)
	d.mu.Unlock()
	for _, event := range queue {
		if v, ok := event.(job.Verdict); ok && v.Process == c.Process && incarnationOf(v) == c.Incarnation {
			d.mourn(v)
		}
	}
}

// describe names, for the user, the death for which later events of the head wait.
func (d *deaths) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return ""
	}
	v, ok := d.queue[0].(job.Verdict)
	if !ok || d.doing {
		return "events of the head are being handled\n"
	}
	return fmt.Sprintf("the death of %v(%d) waits until its link has been read to the end, and behind it %d events of the head\n",
		v.Process, incarnationOf(v), len(d.queue)-1)
}

func (d *deaths) isDue(event job.Event) bool {
	v, ok := event.(job.Verdict)
	return !ok || d.links.isClosed(v.Process, incarnationOf(v))
}
