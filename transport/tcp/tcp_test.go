package tcp_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/tcp"
)

func conn(t testing.TB, f *os.File) net.Conn {
	c, err := net.FileConn(f)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return c
}

func unixConns(t testing.TB) (a, b net.Conn) {
	fa, fb, err := tcp.PairUnix()
	require.NoError(t, err)
	return conn(t, fa), conn(t, fb)
}

func unixPair(t testing.TB) (a, b transport.Link) {
	ca, cb := unixConns(t)
	return tcp.New(ca), tcp.New(cb)
}

func dialed(t testing.TB) (a, b net.Conn) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	a, err = net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	b, err = listener.Accept()
	require.NoError(t, err)
	return a, b
}

func tcpPair(t testing.TB) (a, b transport.Link) {
	ca, cb := dialed(t)
	return tcp.New(ca), tcp.New(cb)
}

func TestUnix(t *testing.T) { linktest.Run(t, unixPair) }

func TestTCP(t *testing.T) { linktest.Run(t, tcpPair) }

func reconnectingPair(t testing.TB, dial linktest.Dial) (a, b linktest.ReconnectingLink, adopt func(net.Conn)) {
	dials, dialled := tcp.NewReconnecting(tcp.Options{Dial: dial}), tcp.NewReconnecting(tcp.Options{})
	return dials, dialled, func(c net.Conn) { _ = dialled.Adopt(c) }
}

func TestReconnecting(t *testing.T) { linktest.RunReconnecting(t, reconnectingPair) }

// reconnectingTLS is reconnectingPair with every connection encrypted.
func reconnectingTLS(t testing.TB, dial linktest.Dial) (a, b linktest.ReconnectingLink, adopt func(net.Conn)) {
	cert := certificate(t)
	dials, dialled, bare := reconnectingPair(t, func(ctx context.Context) (net.Conn, error) {
		c, err := dial(ctx)
		if err != nil {
			return nil, err
		}
		return handshake(tls.Client(tcp.NewSocket(c), &tls.Config{InsecureSkipVerify: true}))
	})
	return dials, dialled, func(c net.Conn) {
		if c, err := handshake(tls.Server(tcp.NewSocket(c), &tls.Config{Certificates: []tls.Certificate{cert}})); err == nil {
			bare(c)
		}
	}
}

func handshake(c *tls.Conn) (net.Conn, error) {
	if err := c.Handshake(); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func certificate(t testing.TB) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestReconnectingTLS(t *testing.T) { linktest.RunReconnecting(t, reconnectingTLS) }

func TestMain(m *testing.M) {
	linktest.Child(func(f *os.File) (transport.Link, error) {
		c, err := net.FileConn(f)
		if err != nil {
			return nil, err
		}
		return tcp.New(c), f.Close()
	})
	os.Exit(m.Run())
}

func TestUnixCrash(t *testing.T) {
	linktest.Crash(t, func(t testing.TB) (transport.Link, *os.File) {
		a, b, err := tcp.PairUnix()
		require.NoError(t, err)
		return tcp.New(conn(t, a)), b
	})
}

func TestTCPCrash(t *testing.T) {
	linktest.Crash(t, func(t testing.TB) (transport.Link, *os.File) {
		ca, cb := dialed(t)
		f, err := cb.(*net.TCPConn).File()
		require.NoError(t, err)
		require.NoError(t, cb.Close())
		return tcp.New(ca), f
	})
}

// FuzzReader sends any bytes as a peer. The link ends without a panic or a hang, and
// delivers only frames that the bytes contain.
func FuzzReader(f *testing.F) {
	whole := func(size int) []byte {
		h := transport.Header{Channel: transport.ChannelMessage, Size: uint64(size)}
		var head [transport.HeaderSize]byte
		h.Encode(&head)
		return append(head[:], make([]byte, size)...)
	}
	bye := append([]byte("\x00bye"), make([]byte, transport.HeaderSize-4)...)
	f.Add([]byte{})
	f.Add(whole(0))
	f.Add(append(whole(100), bye...))
	f.Add(append(whole(20000), whole(70000)[:60000]...))
	f.Add(append(bye, 1))
	f.Add(append(whole(5), 9))
	huge := transport.Header{Channel: transport.ChannelSection, Size: transport.MaxPayload}
	var head [transport.HeaderSize]byte
	huge.Encode(&head)
	f.Add(append(head[:], make([]byte, 30000)...))
	f.Fuzz(func(t *testing.T, stream []byte) {
		ca, cb := unixConns(t)
		l := tcp.New(ca)
		r := &counter{closed: make(chan error, 1)}
		l.Start(r)
		_, err := cb.Write(stream)
		require.NoError(t, err)
		require.NoError(t, cb.Close())
		err = <-r.closed
		want, inside, ended := expect(stream)
		require.Equal(t, want, r.ends)
		require.False(t, r.inside && !inside)
		if ended {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, transport.ErrPeerGone)
		}
		require.NoError(t, l.Close())
	})
}

// expect is a simple reader of a stream as an oracle. It returns the number of whole
// frames, and whether the stream ends inside another one or with a goodbye.
func expect(stream []byte) (frames int, inside, ended bool) {
	for len(stream) >= transport.HeaderSize {
		if string(stream[:4]) == "\x00bye" && !slices.ContainsFunc(stream[4:transport.HeaderSize], func(b byte) bool { return b != 0 }) {
			return frames, false, len(stream) == transport.HeaderSize
		}
		var h transport.Header
		if h.Decode((*[transport.HeaderSize]byte)(stream)) != nil {
			return frames, false, false
		}
		stream = stream[transport.HeaderSize:]
		if uint64(len(stream)) < h.Size {
			return frames, true, false
		}
		frames++
		stream = stream[h.Size:]
	}
	return frames, false, false
}

// counter is a Receiver that lets the link provide the memory of payloads.
type counter struct {
	ends   int
	inside bool // Torn was called
	closed chan error
}

func (c *counter) Begin(*transport.Header) []byte { return nil }
func (c *counter) End(h *transport.Header, payload []byte) {
	if uint64(len(payload)) != h.Size {
		panic("size")
	}
	c.ends++
}
func (c *counter) Torn(*transport.Header, int) { c.inside = true }
func (c *counter) Lost(*transport.Header)      { panic("lost") }
func (c *counter) Closed(err error)            { c.closed <- err }

func BenchmarkUnix(b *testing.B) { linktest.Benchmark(b, unixPair) }

func BenchmarkTCP(b *testing.B) { linktest.Benchmark(b, tcpPair) }
