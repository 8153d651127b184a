package agentd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
)

// follower is the part of an agent that follows the heads of the job, and becomes
// one if it is elected.
type follower struct {
	server  *server
	self    arbiter.ID
	roster  []arbiter.Peer
	info    *TakeoverInfo
	entered time.Time
	over    chan struct{} // closed when the agent ends

	mu      sync.Mutex
	leader  arbiter.ID
	term    uint64
	changed chan struct{} // closed and replaced when the head does
	reign   *reign        // this agent as the head; nil until it is
}

// enter makes the agent a node of the arbiter.
func (s *server) enter(at NodeConfig) error {
	if at.Takeover != nil {
		if s.follower != nil {
			return agentwire.ErrFrame
		}
		f := &follower{server: s, self: at.Self, roster: at.Roster, info: at.Takeover, entered: time.Now(),
			leader: arbiter.Head, changed: make(chan struct{}), over: make(chan struct{})}
		s.mu.Lock()
		s.follower = f
		s.mu.Unlock()
		if err := s.listener.serve(at.Takeover.Hosts); err != nil {
			return err
		}
	}
	s.holder.follower = s.follower
	return s.holder.enter(at)
}

// take follows what the arbiter says.
func (f *follower) take(a arbiter.Action) {
	if f == nil {
		return
	}
	f.mu.Lock()
	reign := f.reign
	switch a := a.(type) {
	case arbiter.Leader:
		f.elect(a.ID, a.Term)
	case arbiter.Lead:
		reign = nil // if it was the head before, that is over
		f.reign = f.begin(a)
		f.elect(f.self, a.Term)
	}
	f.mu.Unlock()
	if reign != nil {
		select {
		case reign.actions <- a:
		case <-reign.done:
		}
	}
}

// elect turns the agent to another head, unless that is the one that it has
// begun with. It is called with mu held.
func (f *follower) elect(id arbiter.ID, term uint64) {
	first := f.term == 0 && id == arbiter.Head
	f.leader, f.term = id, term
	if first {
		return
	}
	close(f.changed)
	f.changed = make(chan struct{})
	f.server.out().Close()
}

// failoverTime is how long a head may grant leases to an agent that has no
// connection to it. Before that it may not know that it is the head no more, or
// the agent not yet who is; later it is only the connection that is dead.
const failoverTime = 3 * time.Second

// turn connects to the next head after the connection to the last one has ended
// for that reason. That there never is one, the arbiter says.
func (s *server) turn(cause error) error {
	f, since := s.follower, lease.Now()
	for {
		f.mu.Lock()
		id, term, changed := f.leader, f.term, f.changed
		f.mu.Unlock()
		if term > s.term && f.info.Addresses[id] != "" {
			conn, err := f.dial(id, changed)
			if err == nil {
				s.attach(conn, term)
				return nil
			}
			cause = err
		}
		select {
		case <-changed:
			since = lease.Now()
		case <-time.After(addressDelay):
		case <-f.over:
			return cause
		}
		if s.holder.end() > since+arbiter.DefaultTiming.Lease+failoverTime {
			return fmt.Errorf("lost the connection to a head that is still alive: %w", cause)
		}
	}
}

// dial connects to a head until there is another one.
func (f *follower) dial(id arbiter.ID, changed <-chan struct{}) (net.Conn, error) {
	d := f.server.listener.bootstrap
	secure, err := job.NewSecure(&d.Secret, agentwire.AgentName(d.Name), d.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), failoverTime)
	defer cancel()
	go func() {
		select {
		case <-changed:
		case <-f.over:
		case <-ctx.Done():
		}
		cancel()
	}()
	c, err := agentwire.Dialer().DialContext(ctx, "tcp", f.info.Addresses[id])
	if err != nil {
		return nil, fmt.Errorf("connect to the new head: %w", err)
	}
	return secure.Client(ctx, c, successorName(f.info.host(id, f.roster)))
}

// attach gives the connection to a new head, which is told all that it has to
// know.
func (s *server) attach(conn net.Conn, term uint64) {
	m := agentwire.NewConn(conn)
	s.mu.Lock()
	logs := slices.SortedFunc(maps.Values(s.logs), func(a, b *processLog) int { return a.name.ID.Compare(b.name.ID) })
	a := Resync{Term: term}
	for _, at := range logs {
		a.Processes = append(a.Processes, ProcessResync{Name: at.name, PID: at.pid, Joined: at.joined, Begun: at.begun, Voiced: at.voiced, Generation: at.resumed})
	}
	s.mu.Unlock()
	for i, at := range logs {
		for st, b := range at.buffers {
			a.Processes[i].From[st], a.Processes[i].Out[st] = b.Rewind()
		}
		at.stdin.Put(nil) // it was the lost head's
	}
	m.SendJSON(agentwire.KindResync, agentwire.Name{}, a)
	s.mu.Lock()
	s.conn, s.term = m, term
	for _, at := range logs {
		for _, t := range at.history {
			m.Send(t.kind, at.name, t.again(lease.Now()))
		}
	}
	s.mu.Unlock()
	s.follower.mu.Lock()
	defer s.follower.mu.Unlock()
	if s.follower.term != term { // meanwhile there is another one
		m.Close()
	}
}

// endTime bounds how long an agent waits for its own end as the head.
const endTime = time.Second

// JobError is the end of an agent's job that did not end well.
type JobError struct {
	Code int
	Head bool // this agent had become the head
}

// Error says how the job ended.
func (e *JobError) Error() string {
	if e.Head {
		return fmt.Sprintf("the job, whose head this agent had become, ended with exit code %d", e.Code)
	}
	return fmt.Sprintf("the job ended with exit code %d", e.Code)
}

// outcome ends what f does, and waits for the end of this agent as the head if
// it is one. err is why the agent ends. It is called once.
func (f *follower) outcome(err error) error {
	if f == nil {
		return err
	}
	close(f.over)
	f.mu.Lock()
	reign := f.reign
	f.mu.Unlock()
	if reign == nil {
		return err
	}
	select {
	case <-reign.done:
	case <-time.After(endTime):
		return errors.Join(err, errors.New("as the head it did not finish"))
	}
	if err == nil && reign.code != 0 {
		return &JobError{Code: reign.code, Head: true}
	}
	return err
}
