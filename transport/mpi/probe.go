//go:build mpi && linux

package mpi

import (
	"fmt"
	"sync"
	"time"
)

// A process that dies may block another one for good: in the shared memory of a library, a
// sender reserves the next place in the queue of the receiver and then fills it, and the
// receiver takes the places in order. If the sender is killed in between, the receiver gets
// nothing that any process sends from then on. The library sees no error, and small messages
// still count as sent. So after each death every link sends a probe.

// probe is a synchronous packet, which completes only when the peer has received it.
type probe struct {
	memory  [1]byte
	req     request
	sent    bool  // the probe is sent and has not arrived
	deaths  int32 // value of World.deaths when the last probe was sent
	waited  time.Duration
	missing bool // the peer has been reported as suspect
}

// suspicion reports to the user of a link whether its peer receives messages.
type suspicion struct {
	report func(error) // nil: no reports

	mu   sync.Mutex
	want error // argument of the next call of report
	said error
}

// blocked is how long a probe may take. A process that runs looks for packets every few
// milliseconds.
const blocked = 10 * time.Second

// turn bounds how much of the time between two checks of a probe counts, since this process may
// have been stopped in between.
const turn = 20 * time.Millisecond

// probe sends a probe if a process has died since the last one, and checks whether the peer has
// received it. passed is the time since the last call. The caller then calls Progress, for frames
// that were queued meanwhile.
func (l *link) probe(passed time.Duration) {
	deaths := l.world.deaths.Load()
	if deaths == 0 || l.suspicion.report == nil || !l.tx.TryLock() {
		return
	}
	defer l.tx.Unlock()
	p := &l.out.probe
	switch over := l.peerDead.Load() || l.peerGone.Load() || l.closed.Load(); {
	case over:
		return
	case !p.sent && p.deaths < deaths && !l.out.ended:
		p.memory[0], p.deaths, p.waited = packetProbe, deaths, 0
		if err := l.world.send(p.memory[:], l.peer, l.sends, true, &p.req); err != nil {
			l.fail(l.broken(err))
			return
		}
		p.sent = true
	case !p.sent:
		return
	}
	ok, err := l.world.complete(&p.req)
	if err != nil {
		l.fail(l.broken(err))
		return
	}
	p.sent = !ok
	p.waited += min(passed, turn)
	switch {
	case ok && p.missing:
		p.missing = false
		l.suspicion.set(nil)
	case !ok && !p.missing && p.waited >= l.world.blocked:
		p.missing = true
		l.suspicion.set(fmt.Errorf("MPI rank %d has received no message for %v since a process died, which may have blocked the shared memory of the library: use -mpi without -link mpi, and UCX_TLS=^mm where hosts share memory", l.peer, l.world.blocked))
	}
}

// set reports err, or nil, from another goroutine, because a report may take a while.
func (s *suspicion) set(err error) {
	s.mu.Lock()
	s.want = err
	s.mu.Unlock()
	go s.tell()
}

func (s *suspicion) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said != s.want {
		s.said = s.want
		s.report(s.want)
	}
}
