package job

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync"
	"time"

	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/transport/tcp"
)

// Secure makes the network connections of one member of a job. Both ends of a connection
// prove their names and that they know the secret of the job. Any goroutine may call the
// methods.
//
// Without encryption the bytes after the handshake are plain TCP, and an attacker on the
// network can change them. With encryption TLS 1.3 protects them. Its keys are made for the
// job, without a certificate authority. Instead both ends prove with the secret that they
// see the same keys. So an attacker without the secret cannot intercept the connection.
type Secure struct {
	secret Secret
	self   string
	cert   *tls.Certificate // nil: not encrypted
}

// NewSecure returns the Secure of the member self. Names have 1 to 255 bytes and are unique
// in the job, such as "head", "agent h1" or Endpoint.String.
func NewSecure(secret *Secret, self string, encrypt bool) (*Secure, error) {
	if self == "" || len(self) > maxName {
		return nil, fmt.Errorf("name of a member of the job: %q has %d bytes, want 1 to %d", self, len(self), maxName)
	}
	s := &Secure{secret: *secret, self: self}
	if encrypt {
		var err error
		if s.cert, err = ephemeral(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *Secure) flags() byte {
	if s.cert != nil {
		return flagTLS
	}
	return 0
}

// Client secures a connection that this member has dialled to member peer. It takes over c,
// and closes it on failure.
func (s *Secure) Client(ctx context.Context, c net.Conn, peer string) (net.Conn, error) {
	if peer == "" || len(peer) > maxName {
		c.Close()
		return nil, fmt.Errorf("connect to %q: not the name of a member of the job", peer)
	}
	return s.bounded(ctx, c, func() (net.Conn, error) {
		ses, err := dialHandshake(c, &s.secret, s.self, peer, s.flags())
		if err != nil || s.cert == nil {
			return c, err
		}
		// No certificate is verified, because there is no authority. bind authenticates the
		// peer.
		t := tls.Client(tcp.NewSocket(c), &tls.Config{MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, DynamicRecordSizingDisabled: true})
		return t, s.bind(ctx, t, ses, "tls dialler", "tls listener")
	})
}

// Server secures a connection that this member has accepted. The peer must be a member
// whose name expected accepts; Server returns that name. It takes over c, and closes it on
// failure. It sends nothing to a peer that does not know the secret.
func (s *Secure) Server(ctx context.Context, c net.Conn, expected func(peer string) bool) (net.Conn, string, error) {
	var peer string
	sc, err := s.bounded(ctx, c, func() (net.Conn, error) {
		ses, err := acceptHandshake(c, &s.secret, s.self, s.flags(), expected)
		if err != nil {
			return nil, err
		}
		if peer = ses.call.from; s.cert == nil {
			return c, nil
		}
		t := tls.Server(tcp.NewSocket(c), &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{*s.cert},
			SessionTicketsDisabled: true, DynamicRecordSizingDisabled: true})
		return t, s.bind(ctx, t, ses, "tls listener", "tls dialler")
	})
	return sc, peer, err
}

// bounded runs a handshake, for at most handshakeTime and until ctx is done.
func (s *Secure) bounded(ctx context.Context, c net.Conn, handshake func() (net.Conn, error)) (net.Conn, error) {
	c.SetDeadline(time.Now().Add(handshakeTime))
	stop := context.AfterFunc(ctx, func() { c.SetDeadline(time.Unix(1, 0)) })
	sc, err := handshake()
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		c.Close()
		return nil, fmt.Errorf("handshake: %w", err)
	}
	return sc, nil
}

// bind runs the TLS handshake. It then checks that both ends know the secret and see the
// same keys.
func (s *Secure) bind(ctx context.Context, t *tls.Conn, ses *session, mine, theirs string) error {
	if err := t.HandshakeContext(ctx); err != nil {
		return err
	}
	state := t.ConnectionState()
	keys, err := state.ExportKeyingMaterial("EXPORTER-intra-job", nil, secretSize)
	if err != nil {
		return fmt.Errorf("export keying material: %w", err)
	}
	if _, err := t.Write(ses.mac(&s.secret, mine, keys)); err != nil {
		return err
	}
	var proof [secretSize]byte
	if _, err := io.ReadFull(t, proof[:]); err != nil {
		return err
	}
	if !hmac.Equal(proof[:], ses.mac(&s.secret, theirs, keys)) {
		return fmt.Errorf("%w, or the connection is being intercepted", ErrSecret)
	}
	return nil
}

// ephemeral makes a key and a self-signed certificate for the job.
func ephemeral() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for the job: %w", err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(10, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for the job: %w", err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// maxPending bounds the accepted connections whose peers have proved nothing yet.
const maxPending = 128

// Serve accepts connections until ctx is done or the listener is closed. It passes those of
// members to handle, each in a goroutine of its own. It closes the listener.
//
// At most maxPending connections without proof hold a descriptor, each for at most
// handshakeTime. To make room for another connection, Serve closes an arbitrary one of
// them. A member that loses its connection this way tries again.
func (s *Secure) Serve(ctx context.Context, l net.Listener, expected func(peer string) bool, handle func(c net.Conn, peer string)) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	defer l.Close()
	var mu sync.Mutex
	pending := make(map[net.Conn]struct{})
	for {
		c, err := listen.Accept(l.Accept)
		if err != nil {
			return ctx.Err() // the listener was closed
		}
		mu.Lock()
		if len(pending) >= maxPending {
			for other := range pending { // the order is random
				delete(pending, other)
				other.Close()
				break
			}
		}
		pending[c] = struct{}{}
		mu.Unlock()
		go func() {
			sc, peer, err := s.Server(ctx, c, expected)
			mu.Lock()
			delete(pending, c)
			mu.Unlock()
			if err == nil { // otherwise a stranger, which is ignored
				handle(sc, peer)
			}
		}()
	}
}
