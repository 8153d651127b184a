package launch

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/job"
)

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	a, b := net.Pipe()
	from, to := newMux(a), newMux(b)
	want := []frame{
		{frameStart, job.Process{Rank: 3, Replica: 1}, []byte{}},
		{frameOutput, job.Process{Rank: 1<<31 - 1}, bytes.Repeat([]byte("x"), 1<<20)},
		{frameBye, job.Process{}, []byte{}},
	}
	for _, f := range want {
		from.send(f.kind, f.process, f.body)
	}
	go func() {
		from.finish()
		from.close()
	}()
	for _, w := range want {
		f, err := to.read()
		require.NoError(t, err)
		require.Equal(t, w, f)
	}
	_, err := to.read()
	require.ErrorIs(t, err, io.EOF)
	from.send(frameBye, job.Process{}, nil) // goes nowhere, and blocks nobody
	to.close()
}

func TestWindow(t *testing.T) {
	w := newWindow()
	require.True(t, w.take(2*maxWindow), "a piece that is too large goes alone")
	taken := make(chan bool)
	go func() { taken <- w.take(1) }()
	select {
	case <-taken:
		require.Fail(t, "there is no room")
	default:
	}
	w.give(2 * maxWindow)
	require.True(t, <-taken)
	go func() { taken <- w.take(maxWindow) }()
	w.close()
	require.False(t, <-taken)
}

func FuzzReadFrame(f *testing.F) {
	f.Add((&frame{frameOutput, job.Process{Rank: 1}, []byte("x")}).append(nil))
	f.Add((&frame{frameStopped, job.Process{}, number(3)}).append(nil))
	f.Add(bytes.Repeat([]byte{0xff}, 20))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4 && b[0] != 0 {
			b[0], b[1] = 0, b[1]&7 // no room for what it announces
		}
		got, err := readFrame(bytes.NewReader(b))
		if err == nil {
			require.Equal(t, b[:frameHeader+len(got.body)], got.append(nil))
		}
	})
}

// Whatever an agent says, the head does not panic.
func FuzzRemote(f *testing.F) {
	for k := framePlan; k <= frameNews; k++ {
		f.Add(byte(k), 0, 0, []byte(`{}`))
		f.Add(byte(k), 0, 0, number(1))
		f.Add(byte(k), 1, 0, []byte{0})
	}
	f.Add(byte(frameMessage), 0, 0, []byte(`{"kind":"finish","stats":{}}`))
	f.Fuzz(func(t *testing.T, kind byte, rank, replica int, body []byte) {
		a, b := net.Pipe()
		go io.Copy(io.Discard, b)
		r := newRemote(&job.Host{Name: "h"}, newMux(a))
		r.observer, r.lost, r.news = deafObserver{}, func(string, *evidence) {}, func(news) {}
		close(r.serving)
		r.start(job.Process{}, first)
		_ = r.take(&frame{frameKind(kind), job.Process{Rank: rank, Replica: replica}, body})
		r.declare("over", nil)
		b.Close()
	})
}
