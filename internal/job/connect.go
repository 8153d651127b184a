package job

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/limit"
	"github.com/intrahpc/intra/transport/tcp"
)

// Connect waits until every process has joined and returns a link to each
// other one, not yet started. A process that was declared dead before its link
// was made has none; its verdict comes from Next as any other.
func (s *Session) Connect(ctx context.Context) (map[Process]transport.Link, error) {
	links, err := s.connect(ctx)
	if err == nil && s.setup.Limit > 0 {
		for p, l := range links {
			links[p] = limit.New(l, limit.Rate(s.setup.Limit))
		}
	}
	return links, err
}

func (s *Session) connect(ctx context.Context) (map[Process]transport.Link, error) {
	peers, err := s.awaitStart(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait until all processes have joined: %w", err)
	}
	var remote []Peer
	links := make(map[Process]transport.Link, len(peers))
	for _, p := range peers {
		if p.Link == LinkTCP {
			remote = append(remote, p)
			continue
		}
		s.mu.Lock()
		f := s.files[p.Process]
		delete(s.files, p.Process)
		s.mu.Unlock()
		if f == nil {
			return nil, closeAll(links, fmt.Errorf("link to %v: the launcher sent no descriptor", p.Process))
		}
		l, err := OpenLink(p.Link, f, s.setup.Self.Compare(p.Process) > 0)
		if err != nil {
			return nil, closeAll(links, fmt.Errorf("link to %v: %w", p.Process, err))
		}
		links[p.Process] = l
	}
	if len(remote) == 0 {
		return links, nil
	}
	far, err := s.connectTCP(ctx, remote)
	if err != nil {
		return nil, closeAll(links, err)
	}
	maps.Copy(links, far)
	return links, nil
}

// awaitStart waits for the head's word that all have joined.
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

// linkDoubt is how long a link may be without a connection before the head
// hears of it.
const linkDoubt = 3 * time.Second

// connectTCP makes links to other hosts, and waits until each has its first
// connection or its peer was declared dead. The higher processes are dialled,
// the lower ones dial: then, and whenever a connection is lost.
func (s *Session) connectTCP(ctx context.Context, peers []Peer) (map[Process]transport.Link, error) {
	self := Endpoint{s.setup.Self, s.setup.Incarnation}
	secure, err := NewSecure(&s.secret, self.String(), s.setup.TLS)
	if err != nil {
		return nil, err
	}
	// The address that peers reach is also the one that reaches them.
	from := &net.TCPAddr{}
	if a, ok := s.listener.Addr().(*net.TCPAddr); ok && !a.IP.IsUnspecified() {
		from = &net.TCPAddr{IP: a.IP, Zone: a.Zone}
	}
	links := make(map[Process]transport.Link, len(peers))
	lasting := make(map[Process]*tcp.Lasting, len(peers))
	below := make(map[string]Process)
	for _, p := range peers {
		end := Endpoint{p.Process, p.Incarnation}
		o := tcp.Options{SuspectAfter: linkDoubt, Suspect: func(err error) { s.doubt(p.Process, err) }}
		if p.Process.Compare(self.Process) < 0 {
			below[end.String()] = p.Process
		} else {
			o.Dial = func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, secure, from, end, p.Address) }
		}
		l := tcp.NewLasting(o)
		lasting[p.Process], links[p.Process] = l, l
	}
	expected := func(peer string) bool {
		p, ok := below[peer]
		s.mu.Lock()
		defer s.mu.Unlock()
		return ok && !s.dead[p]
	}
	go secure.Serve(s.serving, s.listener, expected, func(c net.Conn, peer string) {
		// A connection that comes to nothing is dialled again.
		_ = lasting[below[peer]].Adopt(c)
	})
	for p, l := range lasting {
		ok, err := s.awaitLink(ctx, p, l)
		if err != nil {
			return nil, closeAll(links, fmt.Errorf("connect the link to %v: %w", p, err))
		}
		if !ok {
			l.Close()
			delete(links, p)
		}
	}
	return links, nil
}

// awaitLink waits until a link has a connection, or its peer is dead: false.
func (s *Session) awaitLink(ctx context.Context, p Process, l *tcp.Lasting) (bool, error) {
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

// dialTime bounds one attempt to connect: the first packet of a lost attempt
// is sent again only after a second or more, so a new attempt is faster.
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
