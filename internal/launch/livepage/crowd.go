package livepage

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// limits bound what those who look at a page can take from the job, which needs its
// descriptors for processes.
type limits struct {
	connections int           // at one time
	streams     int           // of these, that are sent what is new
	request     time.Duration // until a request has come as a whole
	idle        time.Duration // until the next one begins
	answer      time.Duration // until an answer, or what is new, is taken
}

// Connections is how many descriptors the connections to a page take, and its listener.
const Connections = 64 + 1

var usual = limits{connections: Connections - 1, streams: 48, request: 10 * time.Second, idle: 30 * time.Second, answer: 10 * time.Second}

// crowd holds the connections to a page. A new one takes the place of the oldest that has
// no request to be answered, and is closed if there is none.
type crowd struct {
	most int

	mu    sync.Mutex
	conns []*visitor // the oldest first
}

// visitor is one connection.
type visitor struct {
	net.Conn
	served bool // its request is being answered
}

// visitorKey finds the visitor of a request in its context.
type visitorKey struct{}

// enter admits a new connection. It is http.Server.ConnContext.
func (c *crowd) enter(ctx context.Context, conn net.Conn) context.Context {
	v := &visitor{Conn: conn}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, v)
	if len(c.conns) > c.most {
		for i, old := range c.conns {
			if !old.served { // the new one is not, either
				old.Close()
				c.conns = append(c.conns[:i], c.conns[i+1:]...)
				break
			}
		}
	}
	return context.WithValue(ctx, visitorKey{}, v)
}

// change notes that a connection is closed, or behind all others that wait. It is
// http.Server.ConnState.
func (c *crowd) change(conn net.Conn, state http.ConnState) {
	if state != http.StateClosed && state != http.StateIdle {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, v := range c.conns {
		if v.Conn == conn {
			if c.conns = append(c.conns[:i], c.conns[i+1:]...); state == http.StateIdle {
				c.conns = append(c.conns, v)
			}
			return
		}
	}
}

// serving notes that a request is being answered, until the function returned is called.
func (c *crowd) serving(r *http.Request) (done func()) {
	v, ok := r.Context().Value(visitorKey{}).(*visitor)
	if !ok { // of a test, without a connection
		return func() {}
	}
	set := func(served bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		v.served = served
	}
	set(true)
	return func() { set(false) }
}
