package job

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
)

// The handshake on the control connection. Each side proves that it knows the secret by a
// MAC over fresh nonces of both sides. The MAC of the process also covers its Hello:
//
//	process: open      version, nonce
//	head:    challenge version, nonce, MAC
//	process: join      MAC, hello            (or reject)
//	head:    setup                           (or refuse)

// ask carries out the process's side. The head assigns a slot to the process in the
// returned Setup.
func ask(c *Conn, secret *Secret, hello *Hello) (*Setup, error) {
	mine := newNonce()
	if err := c.Write(&Message{Kind: KindOpen, Version: Version, Nonce: mine[:]}); err != nil {
		return nil, err
	}
	m, err := expect(c, KindChallenge)
	if err != nil {
		return nil, err
	}
	reject := func(cause error) error {
		c.Write(&Message{Kind: KindReject, Text: cause.Error()}) // the head may be gone; the process fails in any case
		return fmt.Errorf("%w: %w", ErrRefused, cause)
	}
	if m.Version != Version {
		return nil, reject(versionMismatch(Version, m.Version))
	}
	theirs := [secretSize]byte(m.Nonce)
	if !hmac.Equal(m.MAC, secret.mac("head", mine, theirs, nil)) {
		return nil, reject(ErrSecret)
	}
	bound, err := hello.digest()
	if err != nil {
		return nil, err
	}
	if err := c.Write(&Message{Kind: KindJoin, MAC: secret.mac("process", mine, theirs, bound), Hello: hello}); err != nil {
		return nil, err
	}
	if m, err = expect(c, KindSetup); err != nil {
		return nil, err
	}
	return m.Setup, nil
}

// Answer carries out the head's side: it authenticates one process. If the two are
// incompatible, it refuses the process, and the error wraps ErrRefused.
func Answer(c *Conn, secret *Secret) (*Hello, error) {
	m, err := expect(c, KindOpen)
	if err != nil {
		return nil, err
	}
	refuse := func(cause error) error {
		c.Write(&Message{Kind: KindRefuse, Text: cause.Error()}) // an error means that the process is gone, which makes no difference
		return fmt.Errorf("%w: %w", ErrRefused, cause)
	}
	if m.Version != Version {
		return nil, refuse(versionMismatch(m.Version, Version))
	}
	theirs, mine := [secretSize]byte(m.Nonce), newNonce()
	err = c.Write(&Message{Kind: KindChallenge, Version: Version, Nonce: mine[:], MAC: secret.mac("head", theirs, mine, nil)})
	if err != nil {
		return nil, err
	}
	if m, err = expect(c, KindJoin); err != nil {
		return nil, err
	}
	bound, err := m.Hello.digest()
	if err != nil {
		return nil, err
	}
	if !hmac.Equal(m.MAC, secret.mac("process", theirs, mine, bound)) {
		return nil, refuse(ErrSecret)
	}
	return m.Hello, nil
}

// expect reads a message of the given kind. If the other side sends a refusal or an End
// instead, expect returns it as an error.
func expect(c *Conn, kind Kind) (*Message, error) {
	m, files, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("wait for %q: %w", kind, err)
	}
	for _, f := range files {
		f.Close()
	}
	switch m.Kind {
	case kind:
		return m, nil
	case KindReject, KindRefuse:
		return nil, fmt.Errorf("%w: %w", ErrRefused, errors.New(m.Text))
	case KindEnd:
		return nil, End{m.Code, m.Text}
	}
	return nil, fmt.Errorf("%w: %q where %q was due", ErrMessage, m.Kind, kind)
}

func versionMismatch(process, head int) error {
	return fmt.Errorf("protocol version %d in the program, %d in the launcher: build both from one version of the module", process, head)
}

func (h *Hello) digest() ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode hello: %w", err)
	}
	sum := sha256.Sum256(b)
	return sum[:], nil
}
