package job

import (
	"crypto/hmac"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The handshake on a data connection between two processes, bound to who they
// are and to their incarnations:
//
//	dialler:  magic, version, from, to, nonce
//	listener: nonce, MAC
//	dialler:  MAC
//
// A listener says nothing to who does not name a process that it expects.

// Endpoint is one life of a process.
type Endpoint struct {
	Process     Process
	Incarnation uint32
}

const (
	linkMagic    = "intralnk"
	endpointSize = 12
	callSize     = len(linkMagic) + 4 + 2*endpointSize + secretSize
)

// call is the dialler's first word.
type call struct {
	from, to Endpoint
	nonce    [secretSize]byte
}

func (e Endpoint) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Process.Rank))
	b = binary.LittleEndian.AppendUint32(b, uint32(e.Process.Replica))
	return binary.LittleEndian.AppendUint32(b, e.Incarnation)
}

func (c *call) encode() []byte {
	b := append(make([]byte, 0, callSize), linkMagic...)
	b = binary.LittleEndian.AppendUint32(b, Version)
	b = c.to.append(c.from.append(b))
	return append(b, c.nonce[:]...)
}

// bound is what both MACs are bound to.
func (c *call) bound() []byte { return c.to.append(c.from.append(nil)) }

func decodeCall(b []byte) (c call, err error) {
	if len(b) != callSize || string(b[:len(linkMagic)]) != linkMagic {
		return c, errors.New("not a process of a job")
	}
	b = b[len(linkMagic):]
	if v := binary.LittleEndian.Uint32(b); v != Version {
		return c, fmt.Errorf("protocol version %d, want %d", v, Version)
	}
	b = b[4:]
	for _, e := range []*Endpoint{&c.from, &c.to} {
		rank, replica := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
		if rank>>31 != 0 || replica>>31 != 0 {
			return c, errors.New("not the name of a process")
		}
		*e = Endpoint{Process{int(rank), int(replica)}, binary.LittleEndian.Uint32(b[8:])}
		b = b[endpointSize:]
	}
	copy(c.nonce[:], b)
	return c, nil
}

func dialHandshake(rw io.ReadWriter, secret *Secret, self, to Endpoint) error {
	c := call{from: self, to: to, nonce: newNonce()}
	if _, err := rw.Write(c.encode()); err != nil {
		return err
	}
	var answer [2 * secretSize]byte
	if _, err := io.ReadFull(rw, answer[:]); err != nil {
		return err
	}
	theirs := [secretSize]byte(answer[:secretSize])
	if !hmac.Equal(answer[secretSize:], secret.mac("listener", c.nonce, theirs, c.bound())) {
		return ErrSecret
	}
	_, err := rw.Write(secret.mac("dialler", c.nonce, theirs, c.bound()))
	return err
}

// acceptHandshake returns who dialled, one of those that expected accepts.
func acceptHandshake(rw io.ReadWriter, secret *Secret, self Endpoint, expected func(Endpoint) bool) (Endpoint, error) {
	var b [callSize]byte
	if _, err := io.ReadFull(rw, b[:]); err != nil {
		return Endpoint{}, err
	}
	c, err := decodeCall(b[:])
	if err != nil {
		return Endpoint{}, err
	}
	if c.to != self || !expected(c.from) {
		return Endpoint{}, fmt.Errorf("unexpected link from %v to %v", c.from.Process, c.to.Process)
	}
	mine := newNonce()
	if _, err := rw.Write(append(mine[:len(mine):len(mine)], secret.mac("listener", c.nonce, mine, c.bound())...)); err != nil {
		return Endpoint{}, err
	}
	var proof [secretSize]byte
	if _, err := io.ReadFull(rw, proof[:]); err != nil {
		return Endpoint{}, err
	}
	if !hmac.Equal(proof[:], secret.mac("dialler", c.nonce, mine, c.bound())) {
		return Endpoint{}, ErrSecret
	}
	return c.from, nil
}
