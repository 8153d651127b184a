package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

// placedChild returns a child without a process of the system: the test reads its messages.
func placedChild(t *testing.T, a *Agent, id job.Process, as job.Endpoint) (*child, *job.Conn) {
	t.Helper()
	mine, theirs, err := job.Pair()
	require.NoError(t, err)
	conn, err := job.NewConn(theirs)
	require.NoError(t, err)
	require.NoError(t, theirs.Close())
	c := &child{process: id, conn: mine}
	c.mail = newMailbox(mine, func(error) {})
	a.children[id] = c
	a.placed(id, &job.Setup{Self: as.Process, Incarnation: as.Incarnation})
	t.Cleanup(func() {
		c.mail.close()
		mine.Close()
		conn.Close()
	})
	return c, conn
}

// nextLink returns the next message about a link to peer.
func nextLink(t *testing.T, c *job.Conn, peer job.Endpoint) (text string, end bool) {
	t.Helper()
	c.SetDeadline(time.Now().Add(time.Minute))
	m, files, err := c.Read()
	require.NoError(t, err)
	closeFiles(files)
	require.Equal(t, job.KindLink, m.Kind)
	require.Equal(t, peer, job.Endpoint{Process: *m.Process, Incarnation: m.Incarnation})
	return m.Text, len(files) == 1
}

// nothing checks that no further message about a link waits. It sends a message, and expects
// that one next.
func nothing(t *testing.T, a *Agent, c *child, conn *job.Conn) {
	t.Helper()
	a.Send(c.process, &job.Message{Kind: job.KindRelease})
	m, _, err := conn.Read()
	require.NoError(t, err)
	require.Equal(t, job.KindRelease, m.Kind)
}

// A requested link is made once. The names under which the processes were started, and the
// number of requests, do not matter.
func TestWantedLinks(t *testing.T) {
	for _, kind := range []string{job.LinkSHM, job.LinkUnix} {
		a := &Agent{plan: Plan{Link: kind, Ring: 4096}, children: make(map[job.Process]*child)}
		x, y := job.Endpoint{Process: job.Process{Rank: 3}, Incarnation: 1}, job.Endpoint{Process: job.Process{Rank: 1, Replica: 1}, Incarnation: 2}
		cx, atX := placedChild(t, a, x.Process, x)
		cy, atY := placedChild(t, a, job.Process{Rank: -1}, y) // the process was a spare
		a.want(cx, y)
		a.want(cy, x)
		a.want(cx, y)
		_, end := nextLink(t, atX, y)
		require.True(t, end)
		_, end = nextLink(t, atY, x)
		require.True(t, end)
		nothing(t, a, cx, atX)
		nothing(t, a, cy, atY)
	}
}

// A link to a process that has ended, or to an earlier incarnation, is not made. The process
// that requested it receives the reason.
func TestWantedLinkToAnEndedProcess(t *testing.T) {
	a := &Agent{plan: Plan{Link: job.LinkUnix}, children: make(map[job.Process]*child)}
	x, y := job.Endpoint{Process: job.Process{Rank: 3}, Incarnation: 1}, job.Endpoint{Process: job.Process{Rank: 1}, Incarnation: 2}
	cx, atX := placedChild(t, a, x.Process, x)
	cy, atY := placedChild(t, a, y.Process, y)
	for _, dead := range []job.Endpoint{{Process: y.Process, Incarnation: 1}, {Process: job.Process{Rank: 2}, Incarnation: 1}} {
		a.want(cx, dead)
		text, end := nextLink(t, atX, dead)
		require.False(t, end)
		require.Contains(t, text, "has ended")
	}
	nothing(t, a, cy, atY)
	a.want(cx, y)
	_, end := nextLink(t, atX, y)
	require.True(t, end, "the live incarnation")
}

// If a link cannot be made, both ends receive the reason. The other end may request the link
// again once it knows the first.
func TestWantedLinkFails(t *testing.T) {
	a := &Agent{plan: Plan{Link: "string"}, children: make(map[job.Process]*child)}
	x, y := job.Endpoint{Process: job.Process{Rank: 3}, Incarnation: 1}, job.Endpoint{Process: job.Process{Rank: 1}, Incarnation: 1}
	cx, atX := placedChild(t, a, x.Process, x)
	cy, atY := placedChild(t, a, y.Process, y)
	for _, asks := range []struct {
		c    *child
		peer job.Endpoint
	}{{cx, y}, {cy, x}} {
		a.want(asks.c, asks.peer)
		for _, at := range []struct {
			conn *job.Conn
			peer job.Endpoint
		}{{atX, y}, {atY, x}} {
			text, end := nextLink(t, at.conn, at.peer)
			require.False(t, end)
			require.Contains(t, text, `link "string" has no descriptors`)
		}
	}
}
