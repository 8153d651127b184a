package agentd

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/head/arbiter"
	"github.com/intrahpc/intra/internal/job"
)

// Pursuit connects a process to one head of the job after another. The arbiter of the process
// reports the heads to it.
type Pursuit struct {
	Name     string // of the process in the handshake
	Secret   job.Secret
	TLS      bool
	Takeover *TakeoverInfo
	Roster   []arbiter.Peer
	Leased   func() time.Duration // returns the end of the lease that the present head has granted
	Over     <-chan struct{}      // closed when the process no longer needs a head

	mu      sync.Mutex
	leader  arbiter.ID
	last    arbiter.ID    // the head to which the process was connected last
	term    uint64        // of the leader; 0: the first head
	changed chan struct{} // closed and replaced when the leader changes
}

// Start makes the first head the one to follow.
func (p *Pursuit) Start() {
	p.leader, p.last, p.changed = arbiter.Head, arbiter.Head, make(chan struct{})
}

// Elect makes another head the one to follow. It returns false if the process already follows
// that head.
func (p *Pursuit) Elect(id arbiter.ID, term uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	first := p.term == 0 && id == arbiter.Head || p.term == term
	p.leader, p.term = id, term
	if !first {
		close(p.changed)
		p.changed = make(chan struct{})
	}
	return !first
}

// Last returns the head to which the process was connected last. Heads that were elected since,
// but had no time to begin, do not count.
func (p *Pursuit) Last() arbiter.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// Succeeded returns a channel that is closed once the head of that term is no longer the one to
// follow.
func (p *Pursuit) Succeeded(term uint64) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term == term {
		return p.changed
	}
	now := make(chan struct{})
	close(now)
	return now
}

// failoverTime bounds how long a head may grant leases to a process that has no connection to
// it. Until then, the old head may not know that it is replaced, or the process may not know the
// new head. After that, only the connection can be broken.
const failoverTime = 3 * time.Second

// Next connects to the head that follows the head of a term. The connection to that earlier head
// has ended for the given cause. If there never is a next head, the arbiter ends the process.
func (p *Pursuit) Next(after uint64, cause error) (conn net.Conn, term uint64, err error) {
	for since := lease.Now(); ; {
		p.mu.Lock()
		id, term, changed := p.leader, p.term, p.changed
		p.mu.Unlock()
		if term > after && p.Takeover.Addresses[id] != "" {
			conn, err := p.dial(id, changed)
			if err == nil {
				p.mu.Lock()
				p.last = id
				p.mu.Unlock()
				return conn, term, nil
			}
			cause = err
		}
		select {
		case <-changed:
			since = lease.Now()
		case <-time.After(addressDelay):
		case <-p.Over:
			return nil, 0, cause
		}
		if p.Leased() > since+arbiter.DefaultTiming.Lease+failoverTime {
			return nil, 0, fmt.Errorf("lost the connection to a head that is still alive: %w", cause)
		}
	}
}

// dial connects to a head. It gives up when the head changes.
func (p *Pursuit) dial(id arbiter.ID, changed <-chan struct{}) (net.Conn, error) {
	secure, err := job.NewSecure(&p.Secret, p.Name, p.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failoverTime)
	defer cancel()
	go func() {
		select {
		case <-changed:
		case <-p.Over:
		case <-ctx.Done():
		}
		cancel()
	}()
	c, err := agentwire.Dialer().DialContext(ctx, "tcp", p.Takeover.Addresses[id])
	if err != nil {
		return nil, fmt.Errorf("connect to the new head: %w", err)
	}
	return secure.Client(ctx, c, successorName(p.Takeover.host(id, p.Roster)))
}
