package sdr

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A message that was offered for lack of room is sent without a request when there is room.
func TestOfferedComes(t *testing.T) {
	n := newNet(t, Limits{Eager: 8, Window: 10 * (frameCost + 8)}, 1, 1)
	const messages = 50
	for i := range messages {
		n.send(0, "12345678", 1, i)
	}
	sync := n.ssend(0, "after it", 1, messages)
	for i := range messages {
		r := n.recv(1, 0, i)
		n.deliverAll()
		require.Equal(t, "0:12345678", r.text(t))
	}
	frames := n.sent()
	require.Equal(t, messages, count(frames, "0.0->1.0 eager"))
	require.Zero(t, count(frames, "1.0->0.0 grant"))
	require.False(t, sync.Done())
	r := n.recv(1, 0, messages)
	n.deliverAll()
	require.Equal(t, "0:after it", r.text(t))
	require.True(t, sync.Done())
	require.Equal(t, 1, count(n.sent(), "1.0->0.0 grant"), "a synchronous send is requested")
}

func count(frames []string, frame string) (n int) {
	for _, f := range frames {
		if f == frame {
			n++
		}
	}
	return n
}

// A receive waits for a message that is to be sent without a request. Messages before it
// use up the returned room, so the receiver requests it.
func TestOfferedFindsNoRoom(t *testing.T) {
	n := newNet(t, Limits{Eager: 8, Window: 10 * (frameCost + 8)}, 1, 1)
	for range 15 {
		n.send(0, "unwanted", 1, 0)
	}
	n.send(0, "wanted", 1, 1)
	n.deliverAll()
	for range 3 {
		require.Equal(t, "0:unwanted", n.recv(1, 0, 0).text(t))
	}
	r := n.recv(1, 0, 1)
	frames := n.sent()
	require.NotZero(t, count(frames, "1.0->0.0 credit"))
	require.Zero(t, count(frames, "1.0->0.0 grant"))
	n.deliverAll()
	require.Equal(t, "0:wanted", r.text(t))
	require.Equal(t, 1, count(n.sent(), "1.0->0.0 grant"))
	for range 12 {
		r := n.recv(1, 0, 0)
		n.deliverAll()
		require.Equal(t, "0:unwanted", r.text(t))
	}
}

// A replica offers a message and dies, and another replica sends the message. The receiver
// still returns the room of that message.
func TestRoomOfOffered(t *testing.T) {
	n := newNet(t, Limits{Eager: 8, Window: 4 * (frameCost + 8)}, 2, 2)
	p00, p01, p := n.p(0, 0), n.p(0, 1), n.p(1, 0)
	n.cores[p00].job.processes[p].credit = 0
	r := n.recv(p, 0, 0)
	n.send(p00, "12345678", 1, 0)
	n.send(p01, "12345678", 1, 0)
	n.deliverAll([2]int{p, p00})
	require.False(t, r.Done())
	n.die(p00)
	n.sent()
	n.deliverAll()
	require.Equal(t, "0:12345678", r.text(t))
	require.Equal(t, 1, count(n.sent(), "1.0->0.1 credit"))
}
