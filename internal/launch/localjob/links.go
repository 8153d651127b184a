package localjob

import (
	"fmt"
	"net"

	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/inproc"
	"github.com/intrahpc/intra/transport/tcp"
)

// anyLink is the kind of all links in the head's configuration. With it, the head orders the
// links from this package, and pair chooses the actual kind.
const anyLink = "any"

// link makes a link between two processes. Either the two begin with the link, or one of them
// is a later joiner.
func (l *localJob) link(a head.Link) error {
	ends, later := [2]job.Peer{{Process: a.Lower, Incarnation: firstIncarnation}, {Process: a.Higher, Incarnation: firstIncarnation}}, a.Meet != nil
	if later {
		ends = *a.Meet
	}
	lower, higher, err := l.pair()
	if err != nil {
		return fmt.Errorf("link %v and %v: %w", a.Lower, a.Higher, err)
	}
	for i, link := range []transport.Link{lower, higher} {
		self, other := ends[i], ends[1-i]
		l.procs[head.From{Node: a.Node, ID: self.Process, Incarnation: self.Incarnation}].connect(
			job.Connected{Process: other.Process, Incarnation: other.Incarnation, Link: link}, later)
	}
	return nil
}

// firstIncarnation is the incarnation of a process that replaces no other.
const firstIncarnation = 1

// pair makes one link.
func (l *localJob) pair() (a, b transport.Link, err error) {
	switch kind := l.spec.Link; kind {
	case "", "inproc":
		var opts []inproc.Option
		if l.want.Capacity > 0 {
			opts = append(opts, inproc.Capacity(l.want.Capacity))
		}
		a, b = inproc.Pair(opts...)
		return a, b, nil
	case job.LinkSHM, job.LinkUnix:
		ring := l.want.Capacity
		if ring == 0 {
			ring = job.DefaultRing
		}
		lower, higher, err := job.LinkFiles(kind, ring)
		if err != nil {
			return nil, nil, err
		}
		if a, err = (job.Links{}).Open(kind, lower, false); err != nil {
			higher.Close()
			return nil, nil, err
		}
		b, err = job.Links{}.Open(kind, higher, true)
		return a, b, err
	case job.LinkTCP:
		return pairTCP()
	}
	return nil, nil, fmt.Errorf("unknown kind of link %q: want inproc, shm, unix or tcp", l.spec.Link)
}

// pairTCP connects two ends over the loopback interface. Any user of the host may connect to
// the listener, too. So pairTCP accepts only the connection from its own end.
func pairTCP() (a, b transport.Link, err error) {
	listener, err := listen.Local()
	if err != nil {
		return nil, nil, err
	}
	return pairAt(listener)
}

// pairAt connects two ends through a listener, which it closes.
func pairAt(listener net.Listener) (a, b transport.Link, err error) {
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		return nil, nil, err
	}
	for {
		other, err := listen.Accept(listener.Accept)
		if err != nil {
			conn.Close()
			return nil, nil, err
		}
		if other.RemoteAddr().String() == conn.LocalAddr().String() {
			return tcp.New(conn), tcp.New(other), nil
		}
		other.Close() // another user's connection
	}
}
