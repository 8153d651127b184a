package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/spawn"
)

// will is what the first head leaves to one that takes its place, beside what
// has been decided. Every agent has it.
type will struct {
	Config Config                `json:"config"`
	Doors  map[arbiter.ID]string `json:"doors"`  // where each agent is reached as the head
	Output string                `json:"output"` // the beginning of the names of the files for output, "" for the agent's own
}

// will is that of this head.
func (h *head) will(agents []*remote) *will {
	w := &will{Config: *h.config, Doors: make(map[arbiter.ID]string)}
	for i, r := range agents { // whoever is alive may be a member one day
		w.Doors[arbiter.ID(firstAgent+i)] = r.door
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = os.TempDir()
	}
	if h.config.Indexed == nil {
		w.Output = filepath.Join(dir, fmt.Sprintf("intrarun-%d", os.Getpid()))
	}
	if r := h.config.Report; r != "" && r != "-" && !filepath.IsAbs(r) {
		w.Config.Report = filepath.Join(dir, r)
	}
	if c := h.config.Checkpoint; c != nil && !filepath.IsAbs(c.Dir) {
		w.Config.Checkpoint = &Checkpoint{Dir: filepath.Join(dir, c.Dir), Every: c.Every}
	}
	return w
}

// standInName is the name, for its connections, of the agent of a host as the
// head.
func standInName(host string) string { return "stand-in " + host }

// door is where an agent is reached if it becomes the head.
type door struct {
	bootstrap *spawn.Bootstrap
	listener  net.Listener

	mu       sync.Mutex
	arrivals []*arrival
	closed   bool
	knock    chan struct{} // there may be more of them
}

// arrival is an agent that has come to this one as its head.
type arrival struct {
	host    string
	conn    *agentwire.Conn
	account account
}

func openDoor(s *spawn.Bootstrap) (*door, error) {
	lc := net.ListenConfig{KeepAliveConfig: keepAlive, Control: bound}
	l, err := lc.Listen(context.Background(), "tcp", ":0")
	if err != nil {
		return nil, fmt.Errorf("listen for other agents: %w", err)
	}
	return &door{bootstrap: s, listener: l, knock: make(chan struct{}, 1)}, nil
}

func (d *door) port() int { return d.listener.Addr().(*net.TCPAddr).Port }

// close ends the listening and lets nobody in any more.
func (d *door) close() {
	d.listener.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	for _, a := range d.arrivals {
		a.conn.Close()
	}
}

// enter has a wait for a head.
func (d *door) enter(a *arrival) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		a.conn.Close()
		return
	}
	d.arrivals = append(d.arrivals, a)
	select {
	case d.knock <- struct{}{}:
	default: // somebody will look anyway
	}
}

// admit returns those who have come to the head of a term. Those of earlier
// terms are sent away, for later ones it is too early.
func (d *door) admit(term uint64) (in []*arrival) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var early []*arrival
	for _, a := range d.arrivals {
		switch {
		case a.account.Term == term:
			in = append(in, a)
		case a.account.Term > term:
			early = append(early, a)
		default:
			a.conn.Close()
		}
	}
	d.arrivals = early
	return in
}

// accountTime bounds how long an agent takes to say what it has.
const accountTime = 10 * time.Second

// serve lets the agents of the given hosts in.
func (d *door) serve(hosts []job.Host) error {
	secure, err := job.NewSecure(&d.bootstrap.Secret, standInName(d.bootstrap.Name), d.bootstrap.TLS)
	if err != nil {
		return err
	}
	names := make(map[string]string)
	for _, h := range hosts {
		names[agentName(h.Name)] = h.Name
	}
	go secure.Serve(context.Background(), d.listener, func(peer string) bool { return names[peer] != "" }, func(c net.Conn, peer string) {
		m := agentwire.NewConn(c)
		c.SetDeadline(time.Now().Add(accountTime))
		f, err := m.Read()
		a := &arrival{host: names[peer], conn: m}
		if err != nil || f.Kind != agentwire.KindResync || f.Decode(&a.account) != nil {
			m.Close()
			return
		}
		c.SetDeadline(time.Time{})
		d.enter(a)
	})
	return nil
}

// heir is the part of an agent that follows the heads of the job, and becomes
// one if it is elected.
type heir struct {
	server  *server
	self    arbiter.ID
	roster  []arbiter.Peer
	will    *will
	entered time.Time
	over    chan struct{} // closed when the agent ends

	mu      sync.Mutex
	leader  arbiter.ID
	term    uint64
	changed chan struct{} // closed and replaced when the head does
	began   time.Time     // when all had joined, as far as is known here
	times   []time.Time   // of the verdicts
	stand   *standIn      // this agent as the head; nil until it is
}

// enter makes the agent a node of the arbiter.
func (s *server) enter(at place) error {
	if at.Will != nil {
		if s.heir != nil {
			return agentwire.ErrFrame
		}
		h := &heir{server: s, self: at.Self, roster: at.Roster, will: at.Will, entered: time.Now(),
			leader: arbiter.Head, changed: make(chan struct{}), over: make(chan struct{})}
		s.mu.Lock()
		s.heir = h
		s.mu.Unlock()
		if err := s.door.serve(at.Will.Config.Placement.Hosts); err != nil {
			return err
		}
	}
	s.tenant.heir = s.heir
	return s.tenant.enter(at)
}

// take follows what the arbiter says.
func (h *heir) take(a arbiter.Action) {
	if h == nil {
		return
	}
	h.mu.Lock()
	stand := h.stand
	switch a := a.(type) {
	case arbiter.Leader:
		h.elect(a.ID, a.Term)
	case arbiter.Lead:
		stand = nil // if it was the head before, that is over
		h.stand = newStandIn(h, a)
		h.elect(h.self, a.Term)
		go h.stand.run()
	case arbiter.Verdict:
		h.times = append(h.times, time.Now())
	case arbiter.Committed:
		if a.Entry.Kind == arbiter.Started {
			h.start()
		}
	}
	h.mu.Unlock()
	if stand != nil {
		select {
		case stand.events <- a:
		case <-stand.done:
		}
	}
}

// start notes that all have joined. It is called with mu held.
func (h *heir) start() {
	if h.began.IsZero() { // who begins to keep the decisions hears of it once more
		h.began = time.Now()
	}
}

// started: this host's processes begin, as all have joined.
func (h *heir) started() {
	if h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.start()
	}
}

// elect turns the agent to another head, unless that is the one that it has
// begun with. It is called with mu held.
func (h *heir) elect(id arbiter.ID, term uint64) {
	first := h.term == 0 && id == arbiter.Head
	h.leader, h.term = id, term
	if first {
		return
	}
	close(h.changed)
	h.changed = make(chan struct{})
	h.server.out().Close()
}

// successionTime is how long a head may grant leases to an agent that has no
// connection to it. Before that it may not know that it is the head no more, or
// the agent not yet who is; later it is only the connection that is dead.
const successionTime = 3 * time.Second

// turn connects to the next head after the connection to the last one has ended
// for that reason. That there never is one, the arbiter says.
func (s *server) turn(cause error) error {
	h, since := s.heir, lease.Now()
	for {
		h.mu.Lock()
		id, term, changed := h.leader, h.term, h.changed
		h.mu.Unlock()
		if term > s.term && h.will.Doors[id] != "" {
			conn, err := h.dial(id, changed)
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
		case <-h.over:
			return cause
		}
		if s.tenant.end() > since+arbiter.DefaultTiming.Lease+successionTime {
			return fmt.Errorf("the connection to the head has ended, which is there: %w", cause)
		}
	}
}

// dial connects to a head until there is another one.
func (h *heir) dial(id arbiter.ID, changed <-chan struct{}) (net.Conn, error) {
	d := h.server.door.bootstrap
	secure, err := job.NewSecure(&d.Secret, agentName(d.Name), d.TLS)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), successionTime)
	defer cancel()
	go func() {
		select {
		case <-changed:
		case <-h.over:
		case <-ctx.Done():
		}
		cancel()
	}()
	c, err := (&net.Dialer{KeepAliveConfig: keepAlive, Control: bound}).DialContext(ctx, "tcp", h.will.Doors[id])
	if err != nil {
		return nil, fmt.Errorf("connect to the new head: %w", err)
	}
	return secure.Client(ctx, c, standInName(h.host(id)))
}

// host names the host of an agent.
func (h *heir) host(id arbiter.ID) string {
	if i := int(id) - firstAgent; i >= 0 && i < len(h.will.Config.Placement.Hosts) {
		return h.will.Config.Placement.Hosts[i].Name
	}
	return h.roster[0].Host
}

// attach gives the connection to a new head, which is told all that it has to
// know.
func (s *server) attach(conn net.Conn, term uint64) {
	m := agentwire.NewConn(conn)
	s.mu.Lock()
	seats := make(map[job.Process]*seat, len(s.seats))
	a := account{Term: term}
	for p, at := range s.seats {
		seats[p] = at
		a.Seats = append(a.Seats, seatAccount{Process: p, Begun: at.begun})
	}
	s.mu.Unlock()
	slices.SortFunc(a.Seats, func(x, y seatAccount) int { return x.Process.Compare(y.Process) })
	for i, x := range a.Seats {
		at := seats[x.Process]
		for st, t := range at.tapes {
			a.Seats[i].From[st] = t.Rewind()
		}
		at.stdin.Put(nil) // it was the lost head's
	}
	m.SendJSON(agentwire.KindResync, job.Process{}, a)
	s.mu.Lock()
	s.conn, s.term = m, term
	for _, x := range a.Seats {
		for _, f := range seats[x.Process].history {
			m.Send(f.kind, x.Process, f.again(lease.Now()))
		}
	}
	s.mu.Unlock()
	for p, at := range seats {
		for st, t := range at.tapes {
			t.Play(outputTo(m, p, st))
		}
	}
	s.heir.mu.Lock()
	defer s.heir.mu.Unlock()
	if s.heir.term != term { // meanwhile there is another one
		m.Close()
	}
}

// JobError is the end of an agent's job that did not end well.
type JobError struct {
	Code int
	Head bool // this agent had become the head
}

func (e *JobError) Error() string {
	if e.Head {
		return fmt.Sprintf("the job, whose head this agent had become, ended with exit code %d", e.Code)
	}
	return fmt.Sprintf("the job ended with exit code %d", e.Code)
}

// outcome ends what h does, and waits for the end of this agent as the head if
// it is one. err is why the agent ends. It is called once.
func (h *heir) outcome(err error) error {
	if h == nil {
		return err
	}
	close(h.over)
	h.mu.Lock()
	stand := h.stand
	h.mu.Unlock()
	if stand == nil {
		return err
	}
	select {
	case <-stand.done:
	case <-time.After(byeTime):
		return errors.Join(err, errors.New("as the head it has not come to an end"))
	}
	if err == nil && stand.code != ExitOK {
		return &JobError{stand.code, true}
	}
	return err
}
