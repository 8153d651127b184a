package spawn

import (
	"crypto/sha256"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// The environment of an indexed job: a cluster manager, such as Kubernetes,
// starts the same intrarun command on every host. The first is the head, the
// others are its agents.
const (
	EnvIndex  = "JOB_COMPLETION_INDEX" // which of the hosts this is, from 0
	EnvHosts  = "INTRA_HOSTS"          // all of them, as for -hosts
	EnvHead   = "INTRA_HEAD"           // NAME:PORT of the first
	EnvSecret = "INTRA_SECRET_FILE"    // a file with the same random bytes on all
)

// minSecret is the least size of that file, in bytes.
const minSecret = 32

// Indexed is the place of this process in an indexed job.
type Indexed struct {
	Index  int
	Hosts  []job.Host
	Heads  []string // addresses of the first; one of them is reachable
	Secret job.Secret

	Listener net.Listener // at those addresses, on the first; nil: there is none yet
	Idle     bool         // another process is the agent of this host
	Agent    int          // the process that is, if a launcher has started it
	launched bool         // by mpirun or srun
}

// Spare reports whether a host that the job does not need simply has nothing to
// do: a launcher would take its failure for that of the job.
func (x *Indexed) Spare() bool { return x.launched }

// IndexedPatience bounds how long the hosts of an indexed job wait for each other:
// they are started one by one, when there is room.
const IndexedPatience = 5 * time.Minute

// silence is after what time without a connection a head that has listened is gone.
const silence = 10 * time.Second

// FindIndexed reads the environment. It returns nil, nil outside an indexed
// job.
func FindIndexed(getenv func(string) string) (*Indexed, error) {
	list := getenv(EnvHosts)
	if list == "" {
		return nil, nil
	}
	x := &Indexed{Heads: []string{getenv(EnvHead)}}
	var err error
	if x.Hosts, err = job.ParseHosts(list); err != nil {
		return nil, fmt.Errorf("%s: %w", EnvHosts, err)
	}
	if x.Index, err = strconv.Atoi(getenv(EnvIndex)); err != nil || x.Index < 0 || x.Index >= len(x.Hosts) {
		return nil, fmt.Errorf("%s=%q is not the index of one of the %d hosts in %s", EnvIndex, getenv(EnvIndex), len(x.Hosts), EnvHosts)
	}
	if _, port, err := net.SplitHostPort(x.Heads[0]); err != nil || port == "" {
		return nil, fmt.Errorf("%s=%q: want NAME:PORT of the first host", EnvHead, x.Heads[0])
	}
	b, err := os.ReadFile(getenv(EnvSecret))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", EnvSecret, err)
	}
	if len(b) < minSecret {
		return nil, fmt.Errorf("%s: %s has %d bytes, want at least %d random ones", EnvSecret, getenv(EnvSecret), len(b), minSecret)
	}
	x.Secret = sha256.Sum256(b)
	return x, nil
}

// Bootstrap returns what the agent of this host would be told.
func (x *Indexed) Bootstrap(tls bool) *Bootstrap {
	b := &Bootstrap{Secret: x.Secret, Name: x.Hosts[x.Index].Name, Addresses: x.Heads, TLS: tls, Patience: IndexedPatience}
	if x.launched {
		b.Silence = silence
	}
	return b
}
