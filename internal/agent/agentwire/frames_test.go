package agentwire

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestFramesArriveUnchanged(t *testing.T) {
	a, b := net.Pipe()
	from, to := NewConn(a), NewConn(b)
	want := []Frame{
		{KindStart, Name{job.Process{Rank: 3, Replica: 1}, 7}, []byte{}},
		{KindOutput, Name{ID: job.Process{Rank: 1<<31 - 1}}, bytes.Repeat([]byte("x"), 1<<20)},
		{KindBye, Name{}, []byte{}},
	}
	for _, f := range want {
		from.Send(f.Kind, f.Of, f.Body)
	}
	go func() {
		from.Finish()
		from.Close()
	}()
	for _, w := range want {
		f, err := to.Read()
		require.NoError(t, err)
		require.Equal(t, w, f)
	}
	_, err := to.Read()
	require.ErrorIs(t, err, io.EOF)
	from.Send(KindBye, Name{}, nil) // the frame is dropped, and the sender does not block
	to.Close()
}

// Agents continue to send while a head that takes over is not ready yet. If that head did not
// read, the agents' kernels would end the connections.
func TestReadAhead(t *testing.T) {
	l, err := ListenConfig().Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	a, err := Dialer().DialContext(t.Context(), "tcp", l.Addr().String())
	require.NoError(t, err)
	b, err := l.Accept()
	require.NoError(t, err)
	from, to := NewConn(a), NewConn(b)
	defer to.Close()
	to.ReadAhead()
	const frames = 200
	for i := range frames {
		from.Send(KindOutput, Name{Incarnation: uint32(i)}, make([]byte, 1<<17)) // more than the kernel's buffers hold
	}
	from.Finish()
	from.Close()
	for i := range frames {
		f, err := to.Read()
		require.NoError(t, err)
		require.EqualValues(t, i, f.Of.Incarnation)
	}
	_, err = to.Read()
	require.ErrorIs(t, err, io.EOF)
}

// A connection may end in the middle of a frame when the head dies. That counts as the end of
// the connection, not as a malformed frame.
func TestConnectionThatEndsInAFrame(t *testing.T) {
	b := (&Frame{KindOutput, Name{ID: job.Process{Rank: 1}, Incarnation: 2}, []byte("output")}).append(nil)
	for n := range b {
		_, err := readFrame(bytes.NewReader(b[:n]))
		require.NotErrorIs(t, err, ErrFrame, n)
		if n == 0 {
			require.Equal(t, io.EOF, err)
			continue
		}
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
	}
}

func TestWindow(t *testing.T) {
	w := NewWindow()
	require.True(t, w.Take(2*MaxWindow), "a piece that is too large is sent alone")
	taken := make(chan bool)
	go func() { taken <- w.Take(1) }()
	select {
	case <-taken:
		require.Fail(t, "there is no room")
	default:
	}
	w.Give(2 * MaxWindow)
	require.True(t, <-taken)
	go func() { taken <- w.Take(MaxWindow) }()
	w.Close()
	require.False(t, <-taken)
}

func FuzzReadFrame(f *testing.F) {
	f.Add((&Frame{KindOutput, Name{ID: job.Process{Rank: 1}, Incarnation: 2}, []byte("x")}).append(nil))
	f.Add((&Frame{KindStopped, Name{}, Encode(3)}).append(nil))
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4 && b[0] != 0 {
			b[0], b[1] = 0, b[1]&7 // no room for the announced size
		}
		got, err := readFrame(bytes.NewReader(b))
		if err == nil {
			require.Equal(t, b[:frameHeader+len(got.Body)], got.append(nil))
		}
	})
}

// A frame that is too large ends the connection with a reason at both ends.
func TestTooLargeFrame(t *testing.T) {
	a, b := net.Pipe()
	from, to := NewConn(a), NewConn(b)
	from.Send(KindStarted, Name{ID: job.Process{Rank: 3}}, make([]byte, maxFrame+1))
	_, err := from.Read()
	require.ErrorContains(t, err, fmt.Sprintf("a frame of kind %d about 3.0 has %d bytes, at most %d are allowed", KindStarted, maxFrame+1, maxFrame))
	_, err = to.Read()
	require.Equal(t, io.EOF, err)
}
