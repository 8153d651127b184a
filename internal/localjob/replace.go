package localjob

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
)

// arrive says that a joiner is there.
func (l *localJob) arrive(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply(l.recovery.Arrived(p.setup.Self, p.setup.Incarnation, l.now()))
}

// introduce links a joiner with the others, and lets it live.
func (l *localJob) introduce(p *process, peers []job.Process) error {
	for _, q := range peers {
		other := l.procs[q]
		a, b, err := l.pair()
		if err != nil {
			return fmt.Errorf("link %v and %v: %w", p.setup.Self, q, err)
		}
		p.connect(q, other.setup.Incarnation, a)
		other.connect(p.setup.Self, p.setup.Incarnation, b)
	}
	l.start(p)
	return nil
}

// connect gives this process a link to another one.
func (p *process) connect(to job.Process, incarnation uint32, link transport.Link) {
	p.mu.Lock()
	if old := p.links[to]; old != nil {
		p.former = append(p.former, old) // what it still holds is read to its end
	}
	p.links[to] = link
	gone := p.gone
	p.mu.Unlock()
	if gone {
		_ = link.Close()
		return
	}
	p.tell(job.Connected{Process: to, Incarnation: incarnation, Link: link})
}
