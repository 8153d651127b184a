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

// The environment of an indexed job. A cluster manager, such as Kubernetes, starts the same
// intrarun command on every host. The first host runs the head, the others run its agents.
const (
	EnvIndex  = "JOB_COMPLETION_INDEX" // the index of this host, from 0
	EnvHosts  = "INTRA_HOSTS"          // all hosts, as for -hosts
	EnvHead   = "INTRA_HEAD"           // NAME:PORT of the first host
	EnvSecret = "INTRA_SECRET_FILE"    // a file with the same random bytes on all hosts
)

// minSecret is the minimal size of the secret's file, in bytes.
const minSecret = 32

// Indexed is the place of this process in an indexed job.
type Indexed struct {
	Index  int
	Hosts  []job.Host
	Heads  []string // addresses of the first host; one of them is reachable
	Secret job.Secret

	Listener net.Listener // at the addresses of Heads, on the first host; nil: not listening yet
	Idle     bool         // another process is the agent of this host
	Agent    int          // PID of the process that is the agent of this host, if a launcher has started that process
	launched bool         // mpirun or srun has started this process
}

// Spare reports whether the agent of a host that the job does not need ends without an error.
// A launcher would take its error for a failure of the job.
func (x *Indexed) Spare() bool { return x.launched }

// IndexedPatience bounds how long the hosts of an indexed job wait for each other. The manager
// starts them one by one, when there is room.
const IndexedPatience = 5 * time.Minute

// silence is the time of refused connections after which a head that was listening counts as
// ended.
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
	if x.Secret, err = ReadSecret(getenv(EnvSecret)); err != nil {
		return nil, fmt.Errorf("%s: %w", EnvSecret, err)
	}
	return x, nil
}

// ReadSecret makes the secret of a job from the bytes of a file.
func ReadSecret(file string) (s job.Secret, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return s, err
	}
	if len(b) < minSecret {
		return s, fmt.Errorf("%s has %d bytes, want at least %d random ones", file, len(b), minSecret)
	}
	return sha256.Sum256(b), nil
}

// Bootstrap returns the bootstrap of the agent of this host.
func (x *Indexed) Bootstrap(tls bool) *Bootstrap {
	b := &Bootstrap{Secret: x.Secret, Name: x.Hosts[x.Index].Name, Addresses: x.Heads, TLS: tls, Patience: IndexedPatience}
	if x.launched {
		b.Silence = silence
	}
	return b
}
