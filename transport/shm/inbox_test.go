//go:build linux

package shm_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// inbox keeps the frames that arrive.
type inbox struct {
	headers []transport.Header
	kinds   []uint8
	bytes   [][]byte
	n       atomic.Int64
	closed  chan error
}

func (b *inbox) Begin(*transport.Header) []byte { return nil }
func (b *inbox) End(h *transport.Header, p []byte) {
	b.headers, b.kinds, b.bytes = append(b.headers, *h), append(b.kinds, h.Kind), append(b.bytes, bytes.Clone(p))
	b.n.Add(1)
}
func (b *inbox) Torn(*transport.Header, int) {}
func (b *inbox) Lost(*transport.Header)      {}
func (b *inbox) Closed(err error)            { b.closed <- err }

func frame(kind uint8, payload []byte) *transport.Frame {
	return &transport.Frame{Header: transport.Header{Channel: transport.ChannelMessage, Kind: kind}, Payload: [][]byte{payload}}
}

// started returns a link with a ring of that size, and the inbox at its other end; end
// closes both.
func started(t *testing.T, size int) (a transport.Link, in *inbox, end func()) {
	a, b := pairOf(size)(t)
	in = &inbox{closed: make(chan error, 1)}
	a.Start(&inbox{closed: make(chan error, 1)})
	b.Start(in)
	return a, in, func() {
		require.NoError(t, a.Close())
		<-in.closed
		require.NoError(t, b.Close())
	}
}
