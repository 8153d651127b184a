package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// deaths brings the words of the head and the ends of links together: what
// the head says is done in its order, and a death only when the bytes of the
// dead process have been read to the end.
type deaths struct {
	links *peerLinks
	do    func(job.Event) // does what is due

	mu    sync.Mutex
	queue []job.Event
	doing bool // somebody does what is due
}

// incarnationOf is the incarnation in which the process of a verdict began.
func incarnationOf(v job.Verdict) uint32 { return max(v.Incarnation, firstIncarnation) }

// heard takes in a word of the head that has its place among the deaths.
func (d *deaths) heard(event job.Event) {
	d.mu.Lock()
	d.queue = append(d.queue, event)
	d.mu.Unlock()
	if v, ok := event.(job.Verdict); ok {
		d.mourn(v)
	}
	d.doDue()
}

// mourn tells the link to a dead process, if it has begun.
func (d *deaths) mourn(v job.Verdict) {
	if l := d.links.get(v.Process, incarnationOf(v)); l != nil {
		l.link.PeerDied()
	}
}

// linkClosed notes that a link has been read to its end.
func (d *deaths) linkClosed(p job.Process, incarnation uint32) {
	d.links.close(p, incarnation)
	d.doDue()
}

// doDue does what is due, one thing after the other.
func (d *deaths) doDue() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.doing {
		return // it looks again
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

// begun: a link has begun, perhaps behind another death for so long that the verdict
// on its process waits too. Not every link notices a death by itself.
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

// describe says for people which death holds up what the head has said since.
func (d *deaths) describe() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.queue) == 0 {
		return ""
	}
	v, ok := d.queue[0].(job.Verdict)
	if !ok || d.doing {
		return "what the head has said is being done\n"
	}
	return fmt.Sprintf("the death of %v(%d) waits until its link has been read to the end, and behind it %d words of the head\n",
		v.Process, incarnationOf(v), len(d.queue)-1)
}

func (d *deaths) isDue(event job.Event) bool {
	v, ok := event.(job.Verdict)
	return !ok || d.links.isClosed(v.Process, incarnationOf(v))
}
