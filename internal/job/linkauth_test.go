package job

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	dialler  = Endpoint{Process{0, 1}, 3}
	listener = Endpoint{Process{1, 0}, 1}
)

func TestLinkHandshakeIsBoundToBothEnds(t *testing.T) {
	secret, other := NewSecret(), NewSecret()
	for _, c := range []struct {
		name     string
		from, to Endpoint
		secret   Secret
		ok       bool
	}{
		{"right", dialler, listener, secret, true},
		{"another secret", dialler, listener, other, false},
		{"meant for another process", dialler, Endpoint{Process{1, 1}, 1}, secret, false},
		{"meant for a life that is over", dialler, Endpoint{listener.Process, 2}, secret, false},
		{"from a life that is over", Endpoint{dialler.Process, 2}, listener, secret, false},
		{"from somebody not expected", Endpoint{Process{0, 2}, 3}, listener, secret, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := net.Pipe()
			dialled := make(chan error, 1)
			go func() {
				err := dialHandshake(a, &c.secret, c.from, c.to)
				a.Close()
				dialled <- err
			}()
			from, err := acceptHandshake(b, &secret, listener, func(e Endpoint) bool { return e == dialler })
			b.Close()
			if c.ok {
				require.NoError(t, err)
				require.NoError(t, <-dialled)
				require.Equal(t, dialler, from)
				return
			}
			require.Error(t, err)
			require.Error(t, <-dialled)
		})
	}
}

// stranger sends what it is given, and keeps what it hears.
type stranger struct {
	io.Reader
	heard bytes.Buffer
}

func (s *stranger) Write(b []byte) (int, error) { return s.heard.Write(b) }

func FuzzAcceptHandshake(f *testing.F) {
	good := call{from: dialler, to: listener}
	f.Add(good.encode())
	f.Add(append(good.encode(), make([]byte, secretSize)...))
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := &stranger{Reader: bytes.NewReader(b)}
		secret := NewSecret()
		_, err := acceptHandshake(s, &secret, listener, func(e Endpoint) bool { return e == dialler })
		require.Error(t, err, "nobody guesses a proof")
		if !bytes.HasPrefix(b, good.encode()[:callSize-secretSize]) {
			require.Empty(t, s.heard.Bytes(), "strangers are not answered")
		}
	})
}

func FuzzDecodeCall(f *testing.F) {
	good := call{from: dialler, to: listener, nonce: newNonce()}
	f.Add(good.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := decodeCall(b); err == nil {
			require.Equal(t, b, c.encode())
		}
	})
}
