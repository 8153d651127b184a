package launcher

import (
	"crypto/sha256"
	"encoding/hex"
	"net"

	"github.com/intrahpc/intra/internal/job"
)

// Place is where the processes of a host lend their identities. Its name is not secret, since
// the kernel lists it. So both ends check the user of the other, and prove that they know the
// secret of the job.
type Place struct {
	secret job.Secret
	host   string
}

// Lender returns the place of a host.
func Lender(secret job.Secret, host string) Place { return Place{secret, host} }

func (p Place) address() *net.UnixAddr {
	sum := sha256.Sum256(append([]byte("lender "+p.host+" "), p.secret[:]...))
	return &net.UnixAddr{Name: "@intrarun/mpi/" + hex.EncodeToString(sum[:16]), Net: "unix"}
}

// Names of the two ends in the handshake.
const lenderName, borrowerName = "lender", "borrower"

// end returns the credentials of one end.
func (p Place) end(name string) (*job.Secure, error) { return job.NewSecure(&p.secret, name, false) }
