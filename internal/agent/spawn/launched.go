package spawn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/job"
)

// Processes that mpirun or srun has started form an indexed job. The first process of each
// host is the agent there, with a slot for each process of the host. The first process of all
// is also the head. The other processes are idle.

// meeting bounds how long the processes wait for each other.
const meeting = time.Minute

// maxAddresses is the number of addresses of the head that fit into its word.
const maxAddresses = 8

// word is the message of a process to all others.
type word struct {
	Host      string
	PID       int
	Addresses []string    `json:",omitempty"` // addresses of the head
	Secret    *job.Secret `json:",omitempty"` // secret of the head's job
}

// Launched returns the place of a process that a launcher has started. l is the listener of
// the first process for the agents, at the given addresses.
func Launched(ctx context.Context, p *launcher.Process, l net.Listener, addresses []string) (*Indexed, error) {
	ctx, cancel := context.WithTimeout(ctx, meeting)
	defer cancel()
	x := &Indexed{Listener: l}
	host, err := p.Host, error(nil)
	if host == "" {
		if host, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("find the name of this host: %w", err)
		}
	}
	mine := word{Host: host, PID: os.Getpid()}
	if p.Rank == 0 {
		secret := job.NewSecret()
		mine.Addresses, mine.Secret = addresses[:min(len(addresses), maxAddresses)], &secret
	}
	b, err := json.Marshal(mine)
	if err != nil {
		return nil, err
	}
	said, err := p.Gather(ctx, b)
	if err != nil {
		return nil, err
	}
	words := make([]word, len(said))
	for i := range said {
		if err := json.Unmarshal(said[i], &words[i]); err != nil {
			return nil, fmt.Errorf("what process %d of %s has said: %w", i, p.Launcher, err)
		}
	}
	return x, x.settle(p.Rank, words)
}

// settle determines the place of this process from all words.
func (x *Indexed) settle(rank int, words []word) error {
	if words[0].Secret == nil || len(words[0].Addresses) == 0 {
		return errors.New("process 0 is no head: do all of them run the same intrarun?")
	}
	x.Secret, x.Heads, x.launched = *words[0].Secret, words[0].Addresses, true
	index := make(map[string]int)
	var agents []int
	for i, w := range words {
		at, known := index[w.Host]
		if !known {
			at = len(x.Hosts)
			index[w.Host] = at
			x.Hosts = append(x.Hosts, job.Host{Name: w.Host})
			agents = append(agents, w.PID)
		}
		x.Hosts[at].Slots++
		if i == rank {
			x.Index, x.Idle = at, known
		}
	}
	x.Agent = agents[x.Index]
	return nil
}
