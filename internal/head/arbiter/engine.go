package arbiter

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// ErrClosed means that the engine has been closed.
var ErrClosed = errors.New("the arbiter is closed")

// Socket is the socket on which a node receives. Beats have a socket of their own: on a shared
// connection they would queue behind output. Datagrams also need no reconnection.
type Socket struct{ conn *net.UDPConn }

// Listen opens the socket of a node. The address is host:port. Without a host, the socket
// listens on every address of the machine. Without a port, the system chooses one.
func Listen(address string) (*Socket, error) {
	if address == "" {
		address = ":0"
	}
	network := "udp"
	if strings.HasPrefix(address, ":") {
		network = listen.Everywhere(network)
	}
	a, err := net.ResolveUDPAddr(network, address)
	if err != nil {
		return nil, fmt.Errorf("listen for other hosts: %w", err)
	}
	conn, err := net.ListenUDP(network, a)
	if err != nil {
		return nil, fmt.Errorf("listen for other hosts: %w", err)
	}
	// A larger buffer only helps with bursts. If the kernel allows less, it drops datagrams,
	// which the protocol repeats.
	_ = conn.SetReadBuffer(4 << 20)
	return &Socket{conn}, nil
}

// Port returns the port of the socket.
func (s *Socket) Port() int { return s.conn.LocalAddr().(*net.UDPAddr).Port }

// Close closes a socket that was not passed to Start.
func (s *Socket) Close() error { return s.conn.Close() }

// Config describes a node to Start.
type Config struct {
	Self   ID
	Roster []Peer
	Secret job.Secret
	Timing Timing
	Guest  bool        // Self is not in the roster: its host joins the running job
	Word   *lease.Word // lease of this host's processes; nil if the host has none
	// Renewed, if not nil, is called with each new end of this host's lease. It is called with
	// 0 when the lease is over forever. It must not block.
	Renewed func(until time.Duration)
}

// Engine drives a Node: it keeps the time, and sends and receives. Any goroutine may call its
// methods.
type Engine struct {
	config    Config
	node      *Node // only the loop uses it
	conn      *net.UDPConn
	addresses map[ID]netip.AddrPort // only the loop uses it
	sealer    *sealer
	opener    *opener

	received chan *Message
	asked    chan func()
	closed   chan struct{}
	close    sync.Once
	done     sync.WaitGroup

	mu     sync.Mutex
	some   *sync.Cond
	events []Action
	ended  bool
}

// Start makes this process a node and takes over the socket. Every node of the roster calls
// Start with the same roster, secret and timing.
func Start(s *Socket, c Config) (*Engine, error) {
	var node *Node
	var err error
	if c.Guest {
		node, err = NewGuest(Peer{ID: c.Self}, c.Roster, c.Timing, lease.Now())
	} else {
		node, err = NewNode(c.Self, c.Roster, c.Timing, lease.Now())
	}
	if err != nil {
		return nil, fmt.Errorf("start the arbiter: %w", err)
	}
	aead, err := newAEAD(&c.Secret)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		config: c, node: node, conn: s.conn, addresses: make(map[ID]netip.AddrPort),
		sealer:   newSealer(aead, c.Self),
		received: make(chan *Message, 1024),
		asked:    make(chan func()),
		closed:   make(chan struct{}),
	}
	e.some = sync.NewCond(&e.mu)
	for _, p := range c.Roster {
		if p.ID == c.Self {
			continue
		}
		if e.addresses[p.ID], err = resolve(p); err != nil {
			return nil, fmt.Errorf("start the arbiter: %w", err)
		}
	}
	var others []ID
	for _, p := range c.Roster {
		if p.ID != c.Self {
			others = append(others, p.ID)
		}
	}
	e.opener = newOpener(aead, others)
	e.done.Go(e.read)
	e.done.Go(e.loop)
	return e, nil
}

// resolve returns the address of the socket of a node.
func resolve(p Peer) (at netip.AddrPort, err error) {
	a, err := net.ResolveUDPAddr("udp", p.Address)
	if err == nil && (a == nil || a.Port == 0 || len(a.IP) == 0) {
		err = fmt.Errorf("%q is not host:port", p.Address)
	}
	if err != nil {
		return at, fmt.Errorf("the address of node %d on %s: %w", p.ID, p.Host, err)
	}
	return a.AddrPort(), nil
}

// read receives datagrams until the socket is closed.
func (e *Engine) read() {
	buf := make([]byte, 64<<10)
	for {
		n, _, err := e.conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // an ICMP message about a peer; its silence is noticed anyway
			continue
		}
		b, from, err := e.opener.open(buf[:n])
		if err != nil || b == nil {
			continue // from a stranger, a repetition, or a part of a message
		}
		m, err := decodeMessage(b)
		if err != nil || m.From != from && m.Via != from {
			continue // from another version of intra, which the handshake refuses elsewhere
		}
		select {
		case e.received <- m:
		case <-e.closed:
			return
		}
	}
}

// loop is the only goroutine that uses the node.
func (e *Engine) loop() {
	tick := time.NewTicker(e.config.Timing.Detect.Interval)
	defer tick.Stop()
	defer e.end()
	for {
		select {
		case m := <-e.received:
			e.do(e.node.Receive(m, lease.Now()))
		case f := <-e.asked:
			f()
		case <-tick.C:
			e.catchUp() // messages that have arrived count before the node suspects a peer
			e.do(e.node.Tick(lease.Now()))
		case <-e.closed:
			return
		}
	}
}

func (e *Engine) catchUp() {
	for range len(e.received) {
		e.do(e.node.Receive(<-e.received, lease.Now()))
	}
}

func (e *Engine) do(actions []Action) {
	var events []Action
	for _, a := range actions {
		switch a := a.(type) {
		case Send:
			e.send(a)
		case Lease:
			e.publish(a.Until)
		case Meet:
			e.meet(a.Peer)
		default:
			events = append(events, a)
		}
	}
	if len(events) == 0 {
		return
	}
	e.mu.Lock()
	e.events = append(e.events, events...)
	e.mu.Unlock()
	e.some.Broadcast()
}

// meet makes a node that has joined the running job reachable. Its address is numeric.
func (e *Engine) meet(p Peer) {
	at, err := resolve(p)
	if err != nil {
		e.do([]Action{Broken{err}})
		return
	}
	e.addresses[p.ID] = at
	e.opener.add(p.ID)
}

func (e *Engine) publish(until time.Duration) {
	if e.config.Word != nil {
		e.config.Word.Publish(until)
	}
	if e.config.Renewed != nil {
		e.config.Renewed(until)
	}
}

func (e *Engine) send(a Send) {
	to, ok := e.addresses[a.To]
	if !ok {
		return
	}
	b, err := a.Message.encode()
	if err != nil {
		e.do([]Action{Broken{err}})
		return
	}
	for _, d := range e.sealer.seal(b) {
		// If a datagram cannot be sent, it counts as lost. The protocol repeats it if it
		// matters.
		_, _ = e.conn.WriteToUDPAddrPort(d, to)
	}
}

// ask runs f in the loop, and waits until f has returned.
func (e *Engine) ask(f func()) error {
	done := make(chan struct{})
	select {
	case e.asked <- func() { f(); close(done) }:
		<-done
		return nil
	case <-e.closed:
		return ErrClosed
	}
}

// Next waits for the next event: a Lead, Yield, Leader, Committed, Deciders, Verdict,
// Handled, Suspected, Fence or Broken. ok is false after Close. No event is dropped. Only one
// goroutine may call it.
func (e *Engine) Next() (a Action, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for len(e.events) == 0 {
		if e.ended {
			return nil, false
		}
		e.some.Wait()
	}
	a = e.events[0]
	e.events = e.events[1:]
	return a, true
}

// Propose proposes a decision, and returns at once. The decision is made when Next returns it
// as Committed. The error wraps ErrNotHead if this node is not the head or has no lease at the
// moment: the caller may try again until Yield.
func (e *Engine) Propose(entry decision.Entry) error {
	var err error
	closed := e.ask(func() {
		var actions []Action
		if actions, err = e.node.Propose(entry, lease.Now()); err == nil {
			e.do(actions)
		}
	})
	return errors.Join(closed, err)
}

// Admit begins to exchange beats with a node that has joined the running job.
func (e *Engine) Admit(p Peer) {
	_ = e.ask(func() { e.do(e.node.Admit(p, lease.Now())) }) // a closed engine admits no node
}

// Resign makes this node stop acting as the head, as soon as it may: see Node.Resign.
func (e *Engine) Resign() {
	_ = e.ask(func() { e.do(e.node.Resign(lease.Now())) }) // a closed engine leads nothing
}

// Leads reports whether this node may act as the head right now.
func (e *Engine) Leads() (leads bool) {
	_ = e.ask(func() { leads = e.node.Leads(lease.Now()) }) // a closed engine does not lead
	return leads
}

// Silent returns the time since the last round trip with a node. It returns 0 for a node that
// this one does not watch.
func (e *Engine) Silent(id ID) (d time.Duration) {
	_ = e.ask(func() {
		s, _ := e.node.observer.Sighting(id, lease.Now())
		d = s.Age
	})
	return d
}

// Members lists the nodes that keep the decisions.
func (e *Engine) Members() (all []ID) {
	_ = e.ask(func() { all = slices.Clone(e.node.members) }) // a closed engine knows none
	return all
}

// Close stops the node. The other nodes will declare it lost unless they are closed too. The
// lease of its processes ends now.
func (e *Engine) Close() error {
	err := ErrClosed
	e.close.Do(func() {
		close(e.closed)
		err = e.conn.Close()
		e.done.Wait()
	})
	return err
}

func (e *Engine) end() {
	e.publish(0)
	e.mu.Lock()
	e.ended = true
	e.mu.Unlock()
	e.some.Broadcast()
}
