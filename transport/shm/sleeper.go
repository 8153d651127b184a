//go:build linux

package shm

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
)

// Sleeper waits for all links of one process in one call of futex_waitv. So any number of
// links needs one thread and one periodic check. While no goroutine polls, one goroutine
// delivers the frames of all links, so a Receiver that blocks delays all of them.
type Sleeper struct {
	mu     sync.Mutex
	groups []*group
}

// NewSleeper returns nil if the kernel has no futex_waitv, which came with Linux
// 5.16. Then each link waits by itself, on a thread of its own.
func NewSleeper() *Sleeper {
	// A kernel that has the call rejects an empty list of futexes with EINVAL.
	if _, _, err := unix.Syscall6(unix.SYS_FUTEX_WAITV, 0, 0, 0, 0, 0, 0); err != unix.EINVAL {
		return nil
	}
	return new(Sleeper)
}

// Open is like the function Open, for a link that this Sleeper waits for. The Sleeper may
// be nil.
func (s *Sleeper) Open(f *os.File, side int) (transport.Link, error) {
	l, err := open(f, side)
	if err != nil {
		return nil, err
	}
	l.sleeper = s
	return l, nil
}

// add adds a started link to a group.
func (s *Sleeper) add(l *link) {
	if s == nil {
		(&group{alone: true}).add(l)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if g.add(l) {
			return
		}
	}
	g := &group{net: l.own.net}
	g.add(l)
	s.groups = append(s.groups, g)
}
