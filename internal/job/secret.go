package job

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// secretSize is the size of a job's secret and of every nonce, in bytes.
const secretSize = 32

// Secret authenticates the processes of one job. Only they know it. Each process inherits
// it through a descriptor.
type Secret [secretSize]byte

// ErrSecret means that the other side could not prove that it knows the secret.
var ErrSecret = errors.New("the other side does not know the secret of the job")

// NewSecret returns a fresh secret.
func NewSecret() Secret { return newNonce() }

func newNonce() (n [secretSize]byte) {
	rand.Read(n[:]) // never fails
	return n
}

// readSecret reads a secret from the start of f. It ignores the file position, which a
// process shares with all processes that its wrapper starts.
func readSecret(f *os.File) (s Secret, err error) {
	if n, err := f.ReadAt(s[:], 0); n != secretSize {
		return s, fmt.Errorf("read the secret: %w", err)
	}
	return s, nil
}

// number returns the number of the job. It follows from the secret, and does not reveal it.
func (s *Secret) number() uint32 {
	return binary.LittleEndian.Uint32(s.mac("number", [secretSize]byte{}, [secretSize]byte{}, nil))
}

// mac returns a proof that its sender knows the secret. The proof is bound to a role, to
// both nonces, and to bytes on which the two sides agree.
func (s *Secret) mac(role string, asker, answerer [secretSize]byte, bound []byte) []byte {
	h := hmac.New(sha256.New, s[:])
	fmt.Fprintf(h, "intra %s %d %d\x00", role, Version, len(bound))
	h.Write(asker[:])
	h.Write(answerer[:])
	h.Write(bound)
	return h.Sum(nil)
}
