package limit_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/limit"
)

func pairAt(rate limit.Rate) linktest.Pair {
	return func(testing.TB) (a, b transport.Link) {
		a, b = inproc.Pair()
		return limit.New(a, rate), limit.New(b, rate)
	}
}

// A limited link meets all requirements on links, whether it holds frames for long or
// hardly ever.
func TestLink(t *testing.T) {
	for _, rate := range []string{"300MB/s", "10GB/s"} {
		t.Run(rate, func(t *testing.T) {
			r, err := limit.ParseRate(rate)
			require.NoError(t, err)
			linktest.Run(t, pairAt(r))
		})
	}
}

// sink counts the bytes that arrive.
type sink struct {
	bytes int
	all   chan struct{}
	want  int
}

func (s *sink) Begin(*transport.Header) []byte { return nil }
func (s *sink) End(_ *transport.Header, p []byte) {
	if s.bytes += len(p); s.bytes == s.want {
		close(s.all)
	}
}
func (s *sink) Torn(*transport.Header, int) {}
func (s *sink) Lost(*transport.Header)      {}
func (s *sink) Closed(error)                {}

// A link never carries more than its rate and the burst. This holds on a busy machine as
// well.
func TestRateIsNotExceeded(t *testing.T) {
	const frames, size, rate = 40, 100_000, 40e6
	a, b := pairAt(rate)(t)
	s := &sink{all: make(chan struct{}), want: frames * size}
	a.Start(new(sink))
	b.Start(s)
	begun := time.Now()
	for range frames {
		a.Send(&transport.Frame{Header: transport.Header{Channel: transport.ChannelMessage}, Payload: [][]byte{make([]byte, size)}})
	}
	<-s.all
	const atLeast = (frames*size - 16<<10) * float64(time.Second) / rate
	require.GreaterOrEqual(t, float64(time.Since(begun)), atLeast)
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

// If Shutdown ends by its context while frames are held, their owners get all of them back.
func TestShutdownWhileHeld(t *testing.T) {
	a, b := pairAt(1000)(t)
	a.Start(new(sink))
	b.Start(new(sink))
	back := make(owner, 10)
	for range 10 {
		a.Send(&transport.Frame{Owner: back, Header: transport.Header{Channel: transport.ChannelMessage}, Payload: [][]byte{make([]byte, 30_000)}})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, a.Shutdown(ctx), context.DeadlineExceeded)
	for range 10 {
		require.ErrorIs(t, <-back, transport.ErrClosed)
	}
	require.NoError(t, b.Close())
}

type owner chan error

func (o owner) Sent(_ *transport.Frame, err error) { o <- err }

func TestParseRate(t *testing.T) {
	for s, want := range map[string]limit.Rate{
		"2.5GB/s": 2.5e9, "800MB/s": 8e8, "64kB/s": 64e3, "64KB": 64e3, "1GB": 1e9, "12 B/s": 12, " 3MB/s ": 3e6,
	} {
		got, err := limit.ParseRate(s)
		require.NoError(t, err, s)
		require.Equal(t, want, got, s)
		again, err := limit.ParseRate(got.String())
		require.NoError(t, err)
		require.Equal(t, want, again, got.String())
	}
	for _, s := range []string{"", "2.5", "GB/s", "-1GB/s", "0B/s", "NaNGB/s", "InfGB/s", "1e9", "1GiB/s", "1GB/h"} {
		_, err := limit.ParseRate(s)
		require.ErrorContains(t, err, "is not a bandwidth", s)
	}
}
