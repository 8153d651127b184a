package job

import (
	"context"
	"fmt"
	"maps"
	"net"
	"time"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/limit"
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

// wire is an authenticated connection to a peer.
type wire struct {
	peer Process
	conn net.Conn
}

// connectTCP dials the higher processes and is dialled by the lower ones.
func (s *Session) connectTCP(ctx context.Context, peers []Peer) (map[Process]transport.Link, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	self := Endpoint{s.setup.Self, s.setup.Incarnation}
	secure, err := NewSecure(&s.secret, self.String(), s.setup.TLS)
	if err != nil {
		return nil, err
	}
	below := make(map[string]Process)
	want := make(map[Process]bool)
	wires := make(chan wire)
	for _, p := range peers {
		want[p.Process] = true
		end := Endpoint{p.Process, p.Incarnation}
		if p.Process.Compare(self.Process) < 0 {
			below[end.String()] = p.Process
			continue
		}
		go s.dial(ctx, secure, end, p.Address, wires)
	}
	go secure.Serve(ctx, s.listener, func(peer string) bool { _, ok := below[peer]; return ok },
		func(c net.Conn, peer string) { s.hand(ctx, wire{below[peer], c}, wires) })
	links := make(map[Process]transport.Link, len(peers))
	for {
		s.mu.Lock()
		changed, ended := s.changed, s.err
		for p := range want {
			if s.dead[p] {
				delete(want, p)
			}
		}
		s.mu.Unlock()
		if ended == nil && len(want) == 0 {
			return links, nil
		}
		if ended != nil {
			return nil, closeAll(links, fmt.Errorf("connect the links: %w", ended))
		}
		select {
		case w := <-wires:
			if !want[w.peer] {
				w.conn.Close()
				continue
			}
			delete(want, w.peer)
			links[w.peer] = newStreamLink(w.conn)
		case <-changed:
		case <-ctx.Done():
			return nil, closeAll(links, fmt.Errorf("connect the links: %w", ctx.Err()))
		}
	}
}

func closeAll(links map[Process]transport.Link, err error) error {
	for _, l := range links {
		l.Close()
	}
	return err
}

// dial reaches a peer that listens, again and again until it is declared dead
// or Connect gives up: a refused connection is no verdict.
func (s *Session) dial(ctx context.Context, secure *Secure, to Endpoint, address string, wires chan<- wire) {
	for ctx.Err() == nil {
		c, err := (&net.Dialer{Timeout: handshakeTime}).DialContext(ctx, "tcp", address)
		if err == nil {
			if c, err = secure.Client(ctx, c, to.String()); err == nil {
				s.hand(ctx, wire{to.Process, c}, wires)
				return
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func (s *Session) hand(ctx context.Context, w wire, wires chan<- wire) {
	select {
	case wires <- w:
	case <-ctx.Done():
		w.conn.Close()
	}
}
