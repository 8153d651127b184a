package supervise

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra/internal/arena"
	"github.com/intrahpc/intra/internal/job"
)

// HostLink is a link between two processes of one host; lower comes first in
// Compare.
type HostLink struct {
	Lower  job.Process `json:"lower"`
	Higher job.Process `json:"higher"`
	Kind   string      `json:"kind"`
	Ring   int         `json:"ring"` // size of a shared-memory ring in bytes
	// Arena: so many replicas of the rank, all on this host, share memory,
	// these two among them. 0: none do.
	Arena int `json:"arena,omitempty"`
	// Meet describes the two if one of them comes later than the other.
	Meet *[2]job.Peer `json:"meet,omitempty"`
}

// Link gives two processes of this host the two ends of a link.
func (a *Agent) Link(l HostLink) {
	lower, higher, err := job.LinkFiles(l.Kind, l.Ring)
	if l.Meet != nil {
		a.meet(l, lower, higher, err)
		return
	}
	if err != nil {
		go a.observer.Failed(fmt.Errorf("make the link between %v and %v: %w", l.Lower, l.Higher, err))
		return
	}
	if l.Arena > 0 {
		for _, p := range []job.Process{l.Lower, l.Higher} {
			if err := a.share(p, l.Arena); err != nil {
				go a.observer.Failed(fmt.Errorf("allocate the memory that the replicas of rank %d share: %w", p.Rank, err))
			}
		}
	}
	a.mail(l.Lower, &job.Message{Kind: job.KindLink, Process: &l.Higher}, lower)
	a.mail(l.Higher, &job.Message{Kind: job.KindLink, Process: &l.Lower}, higher)
}

// share gives a process the memory that the replicas of its rank share, once.
func (a *Agent) share(p job.Process, replicas int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sharing[p] {
		return nil
	}
	f := a.arenas[p.Rank]
	if f == nil {
		var err error
		if f, err = arena.Create(replicas); err != nil {
			return err
		}
		a.arenas[p.Rank] = f
	}
	own, err := job.Duplicate(f)
	if err != nil {
		return err
	}
	a.sharing[p] = true
	if c := a.children[p]; c != nil {
		c.mail.send(&job.Message{Kind: job.KindArena}, own)
		return nil
	}
	own.Close()
	return nil
}

// meet gives two processes their link of which one comes later. Where there is
// none, one of them has to go, as when a link breaks.
func (a *Agent) meet(l HostLink, lower, higher *os.File, err error) {
	if err != nil {
		m := &job.Message{Kind: job.KindSuspect, Process: &l.Meet[1].Process, Incarnation: l.Meet[1].Incarnation, Text: fmt.Sprintf("make it: %v", err)}
		go a.observer.Message(l.Lower, m)
		return
	}
	a.mail(l.Lower, &job.Message{Kind: job.KindConnect, Peers: l.Meet[1:]}, lower)
	a.mail(l.Higher, &job.Message{Kind: job.KindConnect, Peers: l.Meet[:1]}, higher)
}
