package job

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
)

// secretSize is the size of a job's secret and of every nonce, in bytes.
const secretSize = 32

// Secret is what the processes of one job know and nobody else does. It
// travels by inheritance of a descriptor only.
type Secret [secretSize]byte

// ErrSecret says that the other side could not prove that it knows the secret.
var ErrSecret = errors.New("the other side does not know the secret of the job")

// NewSecret returns a fresh secret.
func NewSecret() Secret { return newNonce() }

func newNonce() (n [secretSize]byte) {
	rand.Read(n[:]) // never fails
	return n
}

// readSecret reads a secret at the start of f whatever the file's position is:
// the processes of a wrapper share it.
func readSecret(f *os.File) (s Secret, err error) {
	if n, err := f.ReadAt(s[:], 0); n != secretSize {
		return s, fmt.Errorf("read the secret: %w", err)
	}
	return s, nil
}

// mac proves knowledge of the secret for one role, bound to both nonces and to
// what the two sides agree on.
func (s *Secret) mac(role string, asker, answerer [secretSize]byte, bound []byte) []byte {
	h := hmac.New(sha256.New, s[:])
	fmt.Fprintf(h, "intra %s %d %d\x00", role, Version, len(bound))
	h.Write(asker[:])
	h.Write(answerer[:])
	h.Write(bound)
	return h.Sum(nil)
}
