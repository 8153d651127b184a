package job

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// serve runs a member that echoes the messages of other members.
func serve(t *testing.T, secret *Secret, name string, encrypt bool) (address string) {
	s, err := NewSecure(secret, name, encrypt)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(ctx, l, isDialler, func(c net.Conn, peer string) {
			defer c.Close()
			_, _ = io.Copy(c, c)
		})
	}()
	t.Cleanup(func() { cancel(); <-served })
	return l.Addr().String()
}

// reach connects as the dialler and checks the echo of a message.
func reach(t *testing.T, secret *Secret, address string, encrypt bool) error {
	s, err := NewSecure(secret, dialler, encrypt)
	require.NoError(t, err)
	c, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	sc, err := s.Client(t.Context(), c, listener)
	if err != nil {
		return err
	}
	defer sc.Close()
	if _, err := sc.Write([]byte("hello")); err != nil {
		return err
	}
	var b [5]byte
	if _, err := io.ReadFull(sc, b[:]); err != nil {
		return err
	}
	require.Equal(t, "hello", string(b[:]))
	return nil
}

func TestSecure(t *testing.T) {
	secret, other := NewSecret(), NewSecret()
	for _, encrypt := range []bool{false, true} {
		address := serve(t, &secret, listener, encrypt)
		require.NoError(t, reach(t, &secret, address, encrypt))
		require.Error(t, reach(t, &other, address, encrypt))
		require.Error(t, reach(t, &secret, address, !encrypt))
	}
	_, err := NewSecure(&secret, "", false)
	require.ErrorContains(t, err, "want 1 to 255")
}

// An attacker forwards the first handshake unchanged, and then makes an encrypted
// connection of its own to each side. Both sides refuse it.
func TestMiddlemanIsRefused(t *testing.T) {
	secret := NewSecret()
	address := serve(t, &secret, listener, true)
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	var received []byte
	var wg sync.WaitGroup
	wg.Go(func() {
		front, err := l.Accept()
		if err != nil {
			return
		}
		defer front.Close()
		back, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		defer back.Close()
		relay := func(to, from net.Conn, n int64) { _, _ = io.CopyN(to, from, n) }
		relay(back, front, int64(callHead+len(dialler)+len(listener)+2*secretSize))
		relay(front, back, 2*secretSize)
		relay(back, front, secretSize)
		cert, err := ephemeral()
		if err != nil {
			return
		}
		tf := tls.Server(front, &tls.Config{Certificates: []tls.Certificate{*cert}})
		tb := tls.Client(back, &tls.Config{InsecureSkipVerify: true})
		wg.Go(func() { _, _ = io.Copy(tf, tb); tf.Close() })
		b := make([]byte, 1024)
		for {
			n, err := tf.Read(b)
			if err != nil {
				return
			}
			received = append(received, b[:n]...)
			if _, err := tb.Write(b[:n]); err != nil {
				return
			}
		}
	})
	require.Error(t, reach(t, &secret, l.Addr().String(), true))
	l.Close()
	wg.Wait()
	require.LessOrEqual(t, len(received), secretSize, "not a byte after the proof")
}

// Many connections from strangers, some silent, exclude no member. None of the strangers
// receives anything.
func TestFloodOfStrangers(t *testing.T) {
	secret := NewSecret()
	address := serve(t, &secret, listener, false)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var mu sync.Mutex
	answered := 0
	var flooded atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			var open []net.Conn
			for n := 0; ctx.Err() == nil && n < 400; n++ {
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue
				}
				switch (n + i) % 3 {
				case 0:
					_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n\r\n")
				case 1:
					other := NewSecret()
					call := call{from: dialler, to: listener, nonce: newNonce()}
					_, _ = c.Write(call.encode(&other))
				}
				open = append(open, c)
				flooded.Add(1)
			}
			for _, c := range open {
				c.SetReadDeadline(time.Now().Add(time.Millisecond))
				n, _ := c.Read(make([]byte, 1))
				mu.Lock()
				answered += n
				mu.Unlock()
				c.Close()
			}
		})
	}
	for range 20 {
		// A member whose connection was closed to make room tries again.
		require.Eventually(t, func() bool { return reach(t, &secret, address, false) == nil }, time.Minute, time.Millisecond)
	}
	require.Eventually(t, func() bool { return flooded.Load() > maxPending }, time.Minute, time.Millisecond)
	cancel()
	wg.Wait()
	require.Zero(t, answered)
	require.NoError(t, reach(t, &secret, address, false))
}
