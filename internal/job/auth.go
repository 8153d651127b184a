package job

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"
)

// The handshake on a network connection between two members of a job:
//
//	dialler:  magic, version, flags, names of both, nonce, MAC
//	listener: nonce, MAC
//	dialler:  MAC
//
// Each MAC is bound to the role of its sender and to both names. Except for the first, each
// MAC is also bound to fresh nonces of both sides. So an attacker cannot replay or reflect
// captured bytes, or use them for another connection. A listener sends nothing to a dialler
// that does not know the secret, and reads no more than one call from it.

const (
	callMagic = "intralnk"
	// callHead is the part of a call with a fixed length: magic, version,
	// flags and the lengths of the names.
	callHead = len(callMagic) + 4 + 1 + 2
	maxName  = 255

	flagTLS = 1 // TLS follows
)

// maxCall bounds the bytes that are read from a dialler before it has proved anything.
const maxCall = callHead + 2*maxName + 2*secretSize

// handshakeTime bounds the handshake on one connection, so that a connection from outside
// of the job does not hold a descriptor for long.
const handshakeTime = 5 * time.Second

// ErrStranger marks a connection from outside of the job.
var ErrStranger = errors.New("not a member of the job")

// call is the dialler's first message.
type call struct {
	flags    byte
	from, to string
	nonce    [secretSize]byte
}

// bound returns the bytes to which all MACs are bound.
func (c *call) bound() []byte {
	b := []byte{c.flags, byte(len(c.from)), byte(len(c.to))}
	return append(append(b, c.from...), c.to...)
}

func (c *call) encode(secret *Secret) []byte {
	b := append(make([]byte, 0, maxCall), callMagic...)
	b = binary.LittleEndian.AppendUint32(b, Version)
	b = append(append(b, c.bound()...), c.nonce[:]...)
	return append(b, secret.mac("call", c.nonce, [secretSize]byte{}, c.bound())...)
}

// readCall reads a call, and checks that its sender knows the secret.
func readCall(r io.Reader, secret *Secret) (c call, err error) {
	var b [maxCall]byte
	if _, err := io.ReadFull(r, b[:callHead]); err != nil {
		return c, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if string(b[:len(callMagic)]) != callMagic {
		return c, fmt.Errorf("%w: its first bytes are not those of intrarun", ErrStranger)
	}
	if v := binary.LittleEndian.Uint32(b[len(callMagic):]); v != Version {
		return c, fmt.Errorf("%w: protocol version %d, want %d", ErrStranger, v, Version)
	}
	c.flags = b[callHead-3]
	from, to := int(b[callHead-2]), int(b[callHead-1])
	rest := b[callHead : callHead+from+to+2*secretSize]
	if _, err := io.ReadFull(r, rest); err != nil {
		return c, fmt.Errorf("%w: %w", ErrStranger, err)
	}
	c.from, c.to = string(rest[:from]), string(rest[from:from+to])
	copy(c.nonce[:], rest[from+to:])
	if !hmac.Equal(rest[from+to+secretSize:], secret.mac("call", c.nonce, [secretSize]byte{}, c.bound())) {
		return c, fmt.Errorf("%w: %w", ErrStranger, ErrSecret)
	}
	return c, nil
}

// session is the result of a handshake. Later proofs on the same connection are bound to
// it.
type session struct {
	call   call
	answer [secretSize]byte // the listener's nonce
}

// mac returns a proof of the secret for a role in the session, which is also bound to more.
func (s *session) mac(secret *Secret, role string, more []byte) []byte {
	return secret.mac(role, s.call.nonce, s.answer, append(s.call.bound(), more...))
}

// dialHandshake carries out the dialler's side, as member from, with member to.
func dialHandshake(rw io.ReadWriter, secret *Secret, from, to string, flags byte) (*session, error) {
	s := &session{call: call{flags: flags, from: from, to: to, nonce: newNonce()}}
	if _, err := rw.Write(s.call.encode(secret)); err != nil {
		return nil, err
	}
	var answer [2 * secretSize]byte
	if _, err := io.ReadFull(rw, answer[:]); err != nil {
		return nil, err
	}
	s.answer = [secretSize]byte(answer[:secretSize])
	if !hmac.Equal(answer[secretSize:], s.mac(secret, "listener", nil)) {
		return nil, ErrSecret
	}
	_, err := rw.Write(s.mac(secret, "dialler", nil))
	return s, err
}

// acceptHandshake carries out the listener's side, as member self. It accepts members whose
// name expected accepts and whose flags are equal.
func acceptHandshake(rw io.ReadWriter, secret *Secret, self string, flags byte, expected func(name string) bool) (*session, error) {
	c, err := readCall(rw, secret)
	if err != nil {
		return nil, err
	}
	if c.to != self || c.flags != flags || !expected(c.from) {
		return nil, fmt.Errorf("unexpected connection from %q to %q with flags %d", c.from, c.to, c.flags)
	}
	s := &session{call: c, answer: newNonce()}
	if _, err := rw.Write(append(s.answer[:len(s.answer):len(s.answer)], s.mac(secret, "listener", nil)...)); err != nil {
		return nil, err
	}
	var proof [secretSize]byte
	if _, err := io.ReadFull(rw, proof[:]); err != nil {
		return nil, err
	}
	if !hmac.Equal(proof[:], s.mac(secret, "dialler", nil)) {
		return nil, ErrSecret
	}
	return s, nil
}
