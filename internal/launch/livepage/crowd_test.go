package livepage

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/head/runreport"
)

// forever is longer than any test takes.
const forever = time.Hour

func serveLimited(t *testing.T, a Address, l limits) *Server {
	s, err := listenWithin(a, Job{Program: "heat", Degrees: []int{2, 1}}, l)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// dial opens a connection and sends a text.
func dial(t *testing.T, s *Server, text string) net.Conn {
	c, err := net.Dial("tcp", s.Address().Listen)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	_, err = io.WriteString(c, text)
	require.NoError(t, err)
	return c
}

const request = "GET /status.json HTTP/1.1\r\nHost: localhost\r\n\r\n"

// answered reads an answer, and returns its status.
func answered(t *testing.T, c net.Conn) int {
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.ReadAll(r.Body)
	require.NoError(t, err)
	return r.StatusCode
}

// requireClosed waits until the server has closed a connection.
func requireClosed(t *testing.T, c net.Conn) {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err := io.Copy(io.Discard, c)
	require.False(t, errors.Is(err, os.ErrDeadlineExceeded), "the connection stays open")
}

// A connection without activity is closed, at whatever point it stops.
func TestInactiveConnectionsAreClosed(t *testing.T) {
	for name, c := range map[string]struct {
		limit func(*limits)
		text  string
	}{
		"no request":             {func(l *limits) { l.request = 50 * time.Millisecond }, ""},
		"a part of a request":    {func(l *limits) { l.request = 50 * time.Millisecond }, request[:20]},
		"a body that never ends": {func(l *limits) { l.request = 50 * time.Millisecond }, strings.TrimSuffix(request, "\r\n") + "Content-Length: 1000\r\n\r\nx"},
		"no second request":      {func(l *limits) { l.idle = 50 * time.Millisecond }, request},
	} {
		t.Run(name, func(t *testing.T) {
			l := limits{connections: 4, streams: 2, request: forever, idle: forever, answer: forever}
			c.limit(&l)
			requireClosed(t, dial(t, serveLimited(t, here, l), c.text))
		})
	}
}

// A stream outlasts the time limit for requests, which does not apply to it.
func TestStreamsLast(t *testing.T) {
	s := serveLimited(t, here, limits{connections: 4, streams: 2, request: 50 * time.Millisecond, idle: 50 * time.Millisecond, answer: forever})
	w := watch(t, s.url("/events"))
	var x any
	w.next("job", &x)
	time.Sleep(200 * time.Millisecond)
	s.Update(runreport.Status{Degrees: []int{2, 1}, Alive: 3}, aReport(0))
	var f Frame
	w.next("frame", &f)
	require.Equal(t, 3, f.Alive)
}

// A new connection is always served: it replaces the oldest one without a request.
func TestIdleConnectionsGiveWay(t *testing.T) {
	const most = 8
	for _, a := range []Address{here, {Listen: "127.0.0.1:0", Token: secret}} {
		s := serveLimited(t, a, limits{connections: most, streams: 2, request: forever, idle: forever, answer: forever})
		var silent []net.Conn
		for range 5 * most {
			silent = append(silent, dial(t, s, ""), dial(t, s, request[:20]))
			kept := dial(t, s, request)
			answered(t, kept)
			silent = append(silent, kept)
		}
		code, _, _ := get(t, s.url("/status.json"))
		require.Equal(t, 200, code)
		for _, c := range silent[:len(silent)/2] { // an answered connection counts as new from then on, so only the older half has certainly been replaced
			requireClosed(t, c)
		}
		s.crowd.mu.Lock()
		require.LessOrEqual(t, len(s.crowd.conns), most)
		s.crowd.mu.Unlock()
	}
}

// Streams leave room for other requests. Too many streams get an error.
func TestStreamsAreLimited(t *testing.T) {
	const most, streams = 6, 4
	s := serveLimited(t, here, limits{connections: most, streams: streams, request: forever, idle: forever, answer: forever})
	var all []*stream
	for range streams {
		w := watch(t, s.url("/events"))
		var x any
		w.next("job", &x)
		all = append(all, w)
	}
	code, text, header := get(t, s.url("/events"))
	require.Equal(t, 503, code)
	require.Contains(t, text, fmt.Sprintf("%d windows show this page already", streams))
	require.NotEmpty(t, header.Get("Retry-After"))
	for range 3 * most {
		dial(t, s, "")
		code, _, _ = get(t, s.url("/status.json"))
		require.Equal(t, 200, code)
	}
	s.Update(runreport.Status{Degrees: []int{2, 1}, Alive: 3}, aReport(0))
	for _, w := range all {
		var f Frame
		w.next("frame", &f)
		require.Equal(t, 3, f.Alive)
	}
}

// Once a stream has ended, there is room for another one.
func TestStreamsEnd(t *testing.T) {
	s := serveLimited(t, here, limits{connections: 4, streams: 1, request: forever, idle: forever, answer: forever})
	for range 3 {
		var c net.Conn
		require.Eventually(t, func() bool {
			c = dial(t, s, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
			r, err := http.ReadResponse(bufio.NewReader(c), nil)
			return err == nil && r.StatusCode == 200
		}, time.Minute, 10*time.Millisecond)
		c.Close()
	}
}

// If all connections are being served, the next one is closed.
func TestConnectionsWithoutRoomAreClosed(t *testing.T) {
	s := serveLimited(t, here, limits{connections: 2, streams: 2, request: forever, idle: forever, answer: forever})
	for range 2 {
		var x any
		watch(t, s.url("/events")).next("job", &x)
	}
	requireClosed(t, dial(t, s, request))
}
