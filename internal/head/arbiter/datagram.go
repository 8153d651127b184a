package arbiter

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/job"
)

// A datagram is a nonce, which names the sender and counts its datagrams, and
// a sealed part of a message:
//
//	nonce   sender uint32, counter uint64
//	sealed  message uint32, part uint16, parts uint16, bytes
//
// The key derives from the secret of the job, so only its nodes can read or make datagrams.
// The counter detects duplicates, which are dropped.
const (
	nonceSize = 12
	partSize  = 1200 // fits the packets of every network
	headSize  = 8
	maxParts  = maxMessage/partSize + 1
)

// errDatagram marks a datagram that a sender without the secret may have made: it cannot be
// opened.
var errDatagram = errors.New("not a datagram of the job")

// sealer seals the datagrams of one node. It is not safe for concurrent use.
type sealer struct {
	aead    cipher.AEAD
	self    ID
	counter uint64
	message uint32
}

func newAEAD(secret *job.Secret) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, secret[:], nil, "intra arbiter 1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key of the arbiter: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("make the cipher of the arbiter: %w", err)
	}
	return cipher.NewGCM(block)
}

// newSealer returns a sealer whose counter begins at the time since boot, so that even a node
// that is restarted never seals two datagrams with one nonce.
func newSealer(aead cipher.AEAD, self ID) *sealer {
	return &sealer{aead: aead, self: self, counter: uint64(lease.Now())}
}

// seal splits a message into sealed datagrams.
func (s *sealer) seal(message []byte) [][]byte {
	s.message++
	parts := max(1, (len(message)+partSize-1)/partSize)
	all := make([][]byte, 0, parts)
	for i := range parts {
		b := message[i*partSize : min((i+1)*partSize, len(message))]
		s.counter++
		nonce := binary.BigEndian.AppendUint32(make([]byte, 0, nonceSize+headSize+len(b)+s.aead.Overhead()), uint32(s.self))
		nonce = binary.BigEndian.AppendUint64(nonce, s.counter)
		plain := binary.BigEndian.AppendUint32(make([]byte, 0, headSize+len(b)), s.message)
		plain = binary.BigEndian.AppendUint16(plain, uint16(i))
		plain = binary.BigEndian.AppendUint16(plain, uint16(parts))
		all = append(all, s.aead.Seal(nonce, nonce, append(plain, b...), nil))
	}
	return all
}

// opener opens the datagrams of all nodes and reassembles messages. One goroutine opens; any
// may add nodes.
type opener struct {
	aead    cipher.AEAD
	mu      sync.Mutex
	senders map[ID]*sender
}

// sender contains the messages received from one node.
type sender struct {
	highest uint64 // counter
	window  uint64 // bit i: counter highest-i has been received
	partial [4]partial
	next    int // the oldest of partial
}

// partial is a message whose parts have not all arrived. If one part is lost, the message is
// lost.
type partial struct {
	message uint32
	parts   [][]byte
	left    int
}

func newOpener(aead cipher.AEAD, nodes []ID) *opener {
	o := &opener{aead: aead, senders: make(map[ID]*sender)}
	for _, id := range nodes {
		o.senders[id] = new(sender)
	}
	return o
}

// add makes the opener open the datagrams of one more node.
func (o *opener) add(id ID) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.senders[id] = new(sender)
}

// open opens a datagram from the given sender. It returns the message that this datagram
// completes, or nil. It does not keep b.
func (o *opener) open(b []byte) (message []byte, from ID, err error) {
	if len(b) < nonceSize+headSize+o.aead.Overhead() {
		return nil, 0, errDatagram
	}
	from = ID(binary.BigEndian.Uint32(b))
	o.mu.Lock()
	s := o.senders[from]
	o.mu.Unlock()
	if s == nil {
		return nil, 0, errDatagram
	}
	plain, err := o.aead.Open(nil, b[:nonceSize], b[nonceSize:], nil)
	if err != nil {
		return nil, 0, errDatagram
	}
	if !s.fresh(binary.BigEndian.Uint64(b[4:])) {
		return nil, from, nil
	}
	id, part, parts := binary.BigEndian.Uint32(plain), binary.BigEndian.Uint16(plain[4:]), binary.BigEndian.Uint16(plain[6:])
	if part >= parts || int(parts) > maxParts {
		return nil, 0, errDatagram
	}
	return s.put(id, int(part), int(parts), plain[headSize:]), from, nil
}

// fresh reports whether a datagram with that counter is new. A datagram older than the window
// counts as a duplicate.
func (s *sender) fresh(counter uint64) bool {
	switch {
	case counter > s.highest:
		if shift := counter - s.highest; shift < 64 {
			s.window = s.window<<shift | 1
		} else {
			s.window = 1
		}
		s.highest = counter
		return true
	case s.highest-counter >= 64 || s.window>>(s.highest-counter)&1 != 0:
		return false
	}
	s.window |= 1 << (s.highest - counter)
	return true
}

func (s *sender) put(message uint32, part, parts int, b []byte) []byte {
	if parts == 1 {
		return b
	}
	var p *partial
	for i := range s.partial {
		if q := &s.partial[i]; q.message == message && len(q.parts) == parts {
			p = q
		}
	}
	if p == nil {
		p = &s.partial[s.next]
		s.next = (s.next + 1) % len(s.partial)
		*p = partial{message: message, parts: make([][]byte, parts), left: parts}
	}
	if p.parts[part] != nil {
		return nil
	}
	p.parts[part] = b
	if p.left--; p.left > 0 {
		return nil
	}
	var whole []byte
	for _, b := range p.parts {
		whole = append(whole, b...)
	}
	*p = partial{}
	return whole
}
