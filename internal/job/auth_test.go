package job

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	dialler  = "0.1#3"
	listener = "1.0#1"
)

func isDialler(name string) bool { return name == dialler }

func TestHandshakeIsBoundToBothEnds(t *testing.T) {
	secret, other := NewSecret(), NewSecret()
	for _, c := range []struct {
		name     string
		from, to string
		flags    byte
		secret   Secret
		ok       bool
	}{
		{"right", dialler, listener, 0, secret, true},
		{"another secret", dialler, listener, 0, other, false},
		{"meant for another process", dialler, "1.1#1", 0, secret, false},
		{"meant for an earlier incarnation", dialler, "1.0#2", 0, secret, false},
		{"from an earlier incarnation", "0.1#2", listener, 0, secret, false},
		{"from an unexpected member", "0.2#3", listener, 0, secret, false},
		{"encrypted on one side only", dialler, listener, flagTLS, secret, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := net.Pipe()
			dialled := make(chan error, 1)
			go func() {
				_, err := dialHandshake(a, &c.secret, c.from, c.to, c.flags)
				a.Close()
				dialled <- err
			}()
			s, err := acceptHandshake(b, &secret, listener, 0, isDialler)
			b.Close()
			if c.ok {
				require.NoError(t, err)
				require.NoError(t, <-dialled)
				require.Equal(t, dialler, s.call.from)
				return
			}
			require.Error(t, err)
			require.Error(t, <-dialled)
		})
	}
}

// recorder is a connection that records the bytes it has sent.
type recorder struct {
	io.ReadWriter
	sent bytes.Buffer
}

func (t *recorder) Write(b []byte) (int, error) {
	t.sent.Write(b)
	return t.ReadWriter.Write(b)
}

// The messages of either side in a valid handshake prove nothing in a second handshake.
// They prove nothing in the role of the other side either.
func TestHandshakeCannotBeReplayed(t *testing.T) {
	secret := NewSecret()
	a, b := net.Pipe()
	dial, answer := &recorder{ReadWriter: a}, &recorder{ReadWriter: b}
	dialled := make(chan error, 1)
	go func() {
		_, err := dialHandshake(dial, &secret, dialler, listener, 0)
		dialled <- err
	}()
	_, err := acceptHandshake(answer, &secret, listener, 0, isDialler)
	require.NoError(t, err)
	require.NoError(t, <-dialled)

	replay := &stranger{Reader: bytes.NewReader(dial.sent.Bytes())}
	_, err = acceptHandshake(replay, &secret, listener, 0, isDialler)
	require.ErrorIs(t, err, ErrSecret, "the dialler's messages of another connection")
	_, err = dialHandshake(&stranger{Reader: bytes.NewReader(answer.sent.Bytes())}, &secret, dialler, listener, 0)
	require.ErrorIs(t, err, ErrSecret, "the listener's messages of another connection")

	// A listener must not use the proof of a dialler as its own, even if both have the
	// same name.
	c, d := net.Pipe()
	go func() {
		call := call{from: dialler, to: dialler, nonce: newNonce()}
		d.Write(call.encode(&secret))
		var proof [2 * secretSize]byte
		io.ReadFull(d, proof[:])
		d.Write(proof[secretSize:])
	}()
	_, err = acceptHandshake(c, &secret, dialler, 0, isDialler)
	require.ErrorIs(t, err, ErrSecret, "a reflected proof")
}

// stranger sends its messages, and records those that it receives.
type stranger struct {
	io.Reader
	received bytes.Buffer
}

func (s *stranger) Write(b []byte) (int, error) { return s.received.Write(b) }

func FuzzAcceptHandshake(f *testing.F) {
	other := NewSecret()
	good := call{from: dialler, to: listener}
	f.Add(good.encode(&other))
	f.Add(append(good.encode(&other), make([]byte, secretSize)...))
	f.Add(append([]byte(callMagic), 1, 0, 0, 0, 0, 255, 255))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		s := &stranger{Reader: in}
		secret := NewSecret()
		_, err := acceptHandshake(s, &secret, listener, 0, isDialler)
		require.Error(t, err, "a stranger cannot produce a proof")
		require.Empty(t, s.received.Bytes(), "strangers are not answered")
		require.LessOrEqual(t, len(b)-in.Len(), maxCall, "no more than a call is read")
	})
}

// FuzzDialHandshake: no message of a listener that does not know the secret
// counts as a proof.
func FuzzDialHandshake(f *testing.F) {
	f.Add(make([]byte, 2*secretSize))
	f.Add([]byte("SSH-2.0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		secret := NewSecret()
		_, err := dialHandshake(&stranger{Reader: bytes.NewReader(b)}, &secret, dialler, listener, 0)
		require.Error(t, err)
	})
}

func FuzzReadCall(f *testing.F) {
	var secret Secret
	good := call{from: dialler, to: listener, flags: flagTLS, nonce: newNonce()}
	f.Add(good.encode(&secret))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := readCall(bytes.NewReader(b), &secret); err == nil {
			again := c.encode(&secret)
			require.Equal(t, b[:len(again)], again)
		}
	})
}
