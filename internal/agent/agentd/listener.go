package agentd

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/job"
)

// successorName returns the name of a host's agent in the handshake when that agent is the
// head.
func successorName(host string) string { return "successor on " + host }

// takeoverListener accepts the other agents if this agent becomes the head.
type takeoverListener struct {
	bootstrap *spawn.Bootstrap
	listener  net.Listener

	mu       sync.Mutex
	incoming []*Incoming
	closed   bool
	wake     chan struct{} // receives when there may be more incoming agents
}

// Incoming is an agent, or the intrarun that the user started, that has connected to this agent as
// its head.
type Incoming struct {
	Host   string // "" if it is that intrarun
	Conn   *agentwire.Conn
	Resync Resync
}

// listenForTakeover listens, but accepts no agent before serve.
func listenForTakeover(s *spawn.Bootstrap) (*takeoverListener, error) {
	listener, err := agentwire.ListenConfig().Listen(context.Background(), listen.Everywhere("tcp"), ":0")
	if err != nil {
		return nil, fmt.Errorf("listen for other agents: %w", err)
	}
	return &takeoverListener{bootstrap: s, listener: listener, wake: make(chan struct{}, 1)}, nil
}

func (l *takeoverListener) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// close stops listening and accepts no more agents.
func (l *takeoverListener) close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, a := range l.incoming {
		a.Conn.Close()
	}
}

// enter queues an agent for a head.
func (l *takeoverListener) enter(a *Incoming) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		a.Conn.Close()
		return
	}
	l.incoming = append(l.incoming, a)
	select {
	case l.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
}

// admit returns the agents that have connected to the head of a term. It closes the
// connections of agents with an earlier term, and keeps those of agents with a later one.
func (l *takeoverListener) admit(term uint64) (in []*Incoming) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var early []*Incoming
	for _, a := range l.incoming {
		switch {
		case a.Resync.Term == term:
			in = append(in, a)
		case a.Resync.Term > term:
			early = append(early, a)
		default:
			a.Conn.Close()
		}
	}
	l.incoming = early
	return in
}

// resyncTime bounds how long an agent takes to send its Resync.
const resyncTime = 10 * time.Second

// serve accepts the agents of all hosts. Those that have joined the running job are known from
// the decisions.
func (l *takeoverListener) serve() error {
	secure, err := job.NewSecure(&l.bootstrap.Secret, successorName(l.bootstrap.Name), l.bootstrap.TLS)
	if err != nil {
		return err
	}
	follows := func(peer string) bool { _, ok := agentwire.AgentHost(peer); return ok || peer == agentwire.RelayName }
	go secure.Serve(context.Background(), l.listener, follows, func(c net.Conn, peer string) {
		m := agentwire.NewConn(c)
		c.SetDeadline(time.Now().Add(resyncTime))
		f, err := m.Read()
		host, agent := agentwire.AgentHost(peer)
		if !agent {
			host = ""
		}
		a := &Incoming{Host: host, Conn: m}
		if err != nil || f.Kind != agentwire.KindResync || f.Decode(&a.Resync) != nil {
			m.Close()
			return
		}
		c.SetDeadline(time.Time{})
		m.ReadAhead() // the election of this agent may take a while
		l.enter(a)
	})
	return nil
}
