package supervise

import (
	"fmt"
	"os"

	"github.com/intrahpc/intra/internal/base/arena"
	"github.com/intrahpc/intra/internal/base/cure"
	"github.com/intrahpc/intra/internal/job"
)

// HostLink is a link between two processes of one host; lower comes first in
// Compare.
type HostLink struct {
	Lower  job.Process `json:"lower"`
	Higher job.Process `json:"higher"`
	Kind   string      `json:"kind"`
	Ring   int         `json:"ring"` // size of a shared-memory ring in bytes
	// Meet describes the two processes if one of them joins later than the other.
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
		go a.observer.Failed(fmt.Errorf("make the link between %v and %v: %w", l.Lower, l.Higher, cure.Write(err)))
		return
	}
	a.mail(l.Lower, &job.Message{Kind: job.KindLink, Process: &l.Higher, Incarnation: 1}, lower)
	a.mail(l.Higher, &job.Message{Kind: job.KindLink, Process: &l.Lower, Incarnation: 1}, higher)
}

// share gives a process the memory that the replicas of its rank share on this host. If that
// memory cannot be made, the process gets the reason, and works without it.
func (a *Agent) share(p job.Process, rank int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.children[p]
	if c == nil {
		return
	}
	if f, err := a.arena(rank); err != nil {
		c.mail.send(&job.Message{Kind: job.KindArena, Text: err.Error()})
	} else {
		c.mail.send(&job.Message{Kind: job.KindArena}, f)
	}
}

// arena returns a new descriptor of the memory of a rank.
func (a *Agent) arena(rank int) (*os.File, error) {
	if a.arenas[rank] == nil {
		f, err := arena.Create()
		if err != nil {
			return nil, err
		}
		a.arenas[rank] = f
	}
	return job.Duplicate(a.arenas[rank])
}

// meet gives a process and a later joiner the two ends of their link. If the link cannot be
// made, meet reports it as broken to both, and the head ends one of the two.
func (a *Agent) meet(l HostLink, lower, higher *os.File, err error) {
	if err != nil {
		m := &job.Message{Kind: job.KindSuspect, Process: &l.Meet[1].Process, Incarnation: l.Meet[1].Incarnation, Text: fmt.Sprintf("make it: %v", err)}
		go a.observer.Message(l.Lower, m)
		return
	}
	a.mail(l.Lower, &job.Message{Kind: job.KindConnect, Peers: l.Meet[1:]}, lower)
	a.mail(l.Higher, &job.Message{Kind: job.KindConnect, Peers: l.Meet[:1]}, higher)
}
