package livepage

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// limits bound the resources of the job that viewers of a page can use. The job needs its
// descriptors for processes.
type limits struct {
	connections int           // connections at the same time
	streams     int           // event streams, which also count as connections
	request     time.Duration // bounds the time until a request has been received completely
	idle        time.Duration // bounds the time until the next request begins
	answer      time.Duration // bounds the time until the viewer has received an answer or an event
}

// Connections is the number of descriptors for the connections to a page and for its listener.
const Connections = 64 + 1

var usual = limits{connections: Connections - 1, streams: 48, request: 10 * time.Second, idle: 30 * time.Second, answer: 10 * time.Second}

// crowd holds the connections to a page. If there are too many, a new connection replaces the
// oldest one that has no request in progress.
type crowd struct {
	most int

	mu    sync.Mutex
	conns []*visitor // oldest first
}

// visitor is one connection.
type visitor struct {
	net.Conn
	served bool // one of its requests is being answered
}

// visitorKey is the key under which a request's context holds its visitor.
type visitorKey struct{}

// enter admits a new connection. It is used as http.Server.ConnContext.
func (c *crowd) enter(ctx context.Context, conn net.Conn) context.Context {
	v := &visitor{Conn: conn}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conns = append(c.conns, v)
	if len(c.conns) > c.most {
		for i, old := range c.conns {
			if !old.served { // a new connection has no request yet
				old.Close()
				c.conns = append(c.conns[:i], c.conns[i+1:]...)
				break
			}
		}
	}
	return context.WithValue(ctx, visitorKey{}, v)
}

// change removes a closed connection, and moves an idle one to the end. It is used as
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

// serving marks the connection of a request as being served, until done is called.
func (c *crowd) serving(r *http.Request) (done func()) {
	v, ok := r.Context().Value(visitorKey{}).(*visitor)
	if !ok { // the request of a test has no connection
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
