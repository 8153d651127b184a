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

// successorName returns the name, for its connections, of the agent of a host as
// the head.
func successorName(host string) string { return "successor on " + host }

// takeoverListener is where an agent is reached if it becomes the head.
type takeoverListener struct {
	bootstrap *spawn.Bootstrap
	listener  net.Listener

	mu       sync.Mutex
	incoming []*Incoming
	closed   bool
	wake     chan struct{} // there may be more of them
}

// Incoming is an agent that has come to this one as its head.
type Incoming struct {
	Host   string
	Conn   *agentwire.Conn
	Resync Resync
}

// listenForTakeover listens, but lets nobody in before serve.
func listenForTakeover(s *spawn.Bootstrap) (*takeoverListener, error) {
	listener, err := agentwire.ListenConfig().Listen(context.Background(), listen.Everywhere("tcp"), ":0")
	if err != nil {
		return nil, fmt.Errorf("listen for other agents: %w", err)
	}
	return &takeoverListener{bootstrap: s, listener: listener, wake: make(chan struct{}, 1)}, nil
}

func (l *takeoverListener) port() int { return l.listener.Addr().(*net.TCPAddr).Port }

// close ends the listening and lets nobody in any more.
func (l *takeoverListener) close() {
	l.listener.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, a := range l.incoming {
		a.Conn.Close()
	}
}

// enter has a wait for a head.
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
	default: // somebody will look anyway
	}
}

// admit returns those who have come to the head of a term. Those of earlier
// terms are sent away, for later ones it is too early.
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

// resyncTime bounds how long an agent takes to say what it has.
const resyncTime = 10 * time.Second

// serve lets the agents of the given hosts in.
func (l *takeoverListener) serve(hosts []job.Host) error {
	secure, err := job.NewSecure(&l.bootstrap.Secret, successorName(l.bootstrap.Name), l.bootstrap.TLS)
	if err != nil {
		return err
	}
	names := make(map[string]string)
	for _, h := range hosts {
		names[agentwire.AgentName(h.Name)] = h.Name
	}
	go secure.Serve(context.Background(), l.listener, func(peer string) bool { return names[peer] != "" }, func(c net.Conn, peer string) {
		m := agentwire.NewConn(c)
		c.SetDeadline(time.Now().Add(resyncTime))
		f, err := m.Read()
		a := &Incoming{Host: names[peer], Conn: m}
		if err != nil || f.Kind != agentwire.KindResync || f.Decode(&a.Resync) != nil {
			m.Close()
			return
		}
		c.SetDeadline(time.Time{})
		m.ReadAhead() // it may take its time until there is a head
		l.enter(a)
	})
	return nil
}
