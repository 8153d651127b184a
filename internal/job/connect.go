package job

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/lazy"
	"github.com/intrahpc/intra/transport/limit"
	"github.com/intrahpc/intra/transport/tcp"
)

// Connect waits until every process has joined, and returns a link to each other process,
// not yet started. It returns no link to a process that was declared dead before the link
// was made; Next still returns the verdict on it. A joiner gets its links from Next.
func (s *Session) Connect(ctx context.Context) (map[Process]transport.Link, error) {
	if s.setup.Joiner {
		return nil, nil
	}
	links, err := s.connect(ctx)
	if err == nil {
		for p, l := range links {
			if _, later := l.(*lazy.Link); !later { // a lazy link wraps one that is limited
				links[p] = s.limited(l)
			}
		}
	}
	return links, err
}

// Arena returns the memory that the replicas of this rank share, for the given Life. It
// returns nil if there is none, or if an earlier call has returned it.
func (s *Session) Arena(life arena.Life) (*arena.Arena, error) {
	s.mu.Lock()
	f, why := s.arena, s.noArena
	s.arena, s.noArena = nil, ""
	s.mu.Unlock()
	switch {
	case why != "":
		return nil, errors.New(why)
	case f == nil:
		return nil, nil
	}
	return arena.Open(f, life)
}

// limited bounds the bandwidth of a link, if the job has a limit.
func (s *Session) limited(l transport.Link) transport.Link {
	if s.setup.Limit > 0 {
		return limit.New(l, limit.Rate(s.setup.Limit))
	}
	return l
}

func (s *Session) connect(ctx context.Context) (map[Process]transport.Link, error) {
	peers, err := s.awaitStart(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait until all processes have joined: %w", err)
	}
	links := make(map[Process]transport.Link, len(peers))
	far := make(map[Endpoint]*tcp.Reconnecting)
	for _, p := range peers {
		end := Endpoint{p.Process, p.Incarnation}
		s.mu.Lock()
		f := s.files[end]
		delete(s.files, end)
		l, err := s.open(p, f)
		s.mu.Unlock()
		if err != nil {
			return nil, closeAll(links, fmt.Errorf("link to %v: %w", p.Process, err))
		}
		links[p.Process] = l
		if l, ok := l.(*tcp.Reconnecting); ok {
			far[end] = l
		}
	}
	s.mu.Lock()
	s.connected = true
	s.mu.Unlock()
	for p, l := range far {
		ok, err := s.awaitLink(ctx, p, l)
		if err != nil {
			return nil, closeAll(links, fmt.Errorf("connect the link to %v: %w", p.Process, err))
		}
		if !ok {
			l.Close()
			delete(links, p.Process)
		}
	}
	return links, nil
}

// open makes the link to a peer: over TCP, over MPI, or from the descriptor f on the same
// host. The caller holds mu.
func (s *Session) open(p Peer, f *os.File) (transport.Link, error) {
	switch {
	case p.Link == LinkTCP:
		return s.openTCP(p)
	case p.Link == LinkMPI && s.world == nil:
		return nil, errors.New("this process was not told to join MPI")
	case p.Link == LinkMPI:
		end := Endpoint{p.Process, p.Incarnation}
		// Channel 0: there is no other link between these two processes.
		return s.world.Link(p.World, 0, func(err error) { s.doubt(end, err) })
	case p.OnUse:
		return s.onFirstUse(p, f)
	}
	if f == nil {
		return nil, errors.New("the launcher sent no descriptor")
	}
	return s.links.Open(p.Link, f, s.self().Compare(Endpoint{p.Process, p.Incarnation}) > 0)
}

// meet makes the link between a joiner and another process; either may be this one. Over
// TCP the link has no connection yet, and messages wait for it. The caller holds mu.
func (s *Session) meet(p Peer, files []*os.File) {
	end := Endpoint{p.Process, p.Incarnation}
	f := s.files[end]
	delete(s.files, end)
	if len(files) > 0 {
		f = files[0]
	}
	l, err := s.open(p, f)
	if err != nil {
		// The head then ends one of the two processes, as it does when a link breaks.
		go s.doubt(end, fmt.Errorf("make the link: %w", err))
		return
	}
	if _, later := l.(*lazy.Link); !later { // a lazy link wraps one that is limited
		l = s.limited(l)
	}
	s.events = append(s.events, Connected{p.Process, p.Incarnation, l})
}

// awaitStart waits for the head's message that all processes have joined.
func (s *Session) awaitStart(ctx context.Context) ([]Peer, error) {
	for {
		s.mu.Lock()
		changed, started, peers, err := s.changed, s.started, s.peers, s.err
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		if started {
			return peers, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// linkDoubt is the time that a link may be without a connection before this process
// reports it to the head.
const linkDoubt = 3 * time.Second

// network is a process's part in the links over TCP.
type network struct {
	secure *Secure
	// Local address of outgoing connections. Peers can reach it, so they can be reached
	// from it, too.
	from  *net.TCPAddr
	below map[string]*tcp.Reconnecting // links to earlier processes, which dial, by the name of the peer
	lower map[string]Endpoint
}

func (s *Session) self() Endpoint { return Endpoint{s.setup.Self, s.setup.Incarnation} }

// openTCP makes a link that has no connection yet. This process dials the processes that come
// later in Compare, and the earlier ones dial it: at the start, and whenever a connection is
// lost. The caller holds mu.
func (s *Session) openTCP(p Peer) (transport.Link, error) {
	self := s.self()
	if s.listener == nil {
		return nil, errors.New("this process was not told to listen")
	}
	if s.tcp == nil {
		secure, err := NewSecure(&s.secret, self.String(), s.setup.TLS)
		if err != nil {
			return nil, err
		}
		n := &network{secure: secure, from: &net.TCPAddr{}, below: make(map[string]*tcp.Reconnecting), lower: make(map[string]Endpoint)}
		if a, ok := s.listener.Addr().(*net.TCPAddr); ok && !a.IP.IsUnspecified() {
			n.from = &net.TCPAddr{IP: a.IP, Zone: a.Zone}
		}
		s.tcp = n
		go secure.Serve(s.serving, s.listener, s.expected, func(c net.Conn, peer string) {
			s.mu.Lock()
			l := n.below[peer]
			s.mu.Unlock()
			_ = l.Adopt(c) // the peer dials again if this fails
		})
	}
	n, end := s.tcp, Endpoint{p.Process, p.Incarnation}
	o := tcp.Options{SuspectAfter: linkDoubt, Suspect: func(err error) { s.doubt(end, err) }}
	o.Sums = s.setup.Verify != nil && !s.setup.TLS // TLS detects damage by itself
	if end.Compare(self) > 0 {
		o.Dial = func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, n.secure, n.from, end, p.Address) }
		return tcp.NewReconnecting(o), nil
	}
	l := tcp.NewReconnecting(o)
	n.below[end.String()], n.lower[end.String()] = l, end
	return l, nil
}

// expected reports whether a peer may dial this process.
func (s *Session) expected(peer string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	end, ok := s.tcp.lower[peer]
	return ok && !s.dead[end]
}

// awaitLink waits until a link has a connection. It returns false if the peer is dead.
func (s *Session) awaitLink(ctx context.Context, p Endpoint, l *tcp.Reconnecting) (bool, error) {
	for {
		s.mu.Lock()
		changed, ended, dead := s.changed, s.err, s.dead[p]
		s.mu.Unlock()
		if ended != nil || dead {
			return false, ended
		}
		select {
		case <-l.Connected():
			return true, nil
		case <-changed:
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

func closeAll(links map[Process]transport.Link, err error) error {
	for _, l := range links {
		l.Close()
	}
	return err
}

// dialTime bounds one attempt to connect. The kernel repeats a lost first packet only
// after a second or more, so a new attempt is faster.
const dialTime = time.Second

// dial makes one attempt to reach a peer.
func (s *Session) dial(ctx context.Context, secure *Secure, from *net.TCPAddr, to Endpoint, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTime, LocalAddr: from}
	if to, err := netip.ParseAddrPort(address); err != nil || to.Addr().Unmap().Is4() != (from.IP.To4() != nil) {
		d.LocalAddr = nil
	}
	c, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	return secure.Client(ctx, c, to.String())
}
