package intra

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/transport"
)

// now is the time of the job, for decisions about recovery.
func (l *local) now() time.Duration { return time.Since(l.began) }

// apply does what was decided about recovery, and reports whether the job can
// go on.
func (l *local) apply(acts []recovery.Action) bool {
	for _, a := range acts {
		switch a.Kind {
		case recovery.Send:
			s := l.procs[a.To]
			if s.setup.Incarnation != a.Birth {
				continue
			}
			switch a.Order.Kind {
			case job.OrderRollback:
				s.finished = false
				delete(l.through, s.setup.Self.Rank)
				l.joined(s)
			case job.OrderAdmit:
				l.joined(s)
			case job.OrderResume:
				l.want.Rollbacks = max(l.want.Rollbacks, int(a.Order.Generation))
			}
			s.tell(a.Order)
		case recovery.Start:
			setup := l.setup(a.To, a.Birth)
			setup.Joiner, setup.Restart = true, nil
			s := newLocalProc(l, setup, make(map[job.Process]transport.Link))
			s.joiner = true
			l.procs[a.To] = s
			go l.arrive(s)
		case recovery.Connect:
			if err := l.introduce(l.procs[a.To], a.Peers); err != nil {
				l.endLocked(err)
				return false
			}
		case recovery.Dismiss:
			s := l.procs[a.To]
			s.dismissed = true
			s.tell(job.Release{})
		case recovery.Publish:
			set := &checkpoint.Set{Job: l.files.Job, Number: a.Set, Cut: a.Cut, Files: a.Files}
			l.running.Go(func() { l.publish(set) }) // the processes wait for their files, and so are still there
		case recovery.Abandon:
			l.want.Warnings = append(l.want.Warnings, fmt.Errorf("checkpoint set %d is abandoned: %s", a.Set, a.Why))
		case recovery.Lose:
			l.loss = a.Loss
			for _, s := range l.procs {
				if s.joiner && !s.dead { // it gets no state any more
					s.dismissed = true
					s.tell(job.Release{})
				}
			}
			return false
		}
	}
	return true
}

// joined notes that a process lives in the job.
func (l *local) joined(s *localProc) {
	if s.joiner {
		s.joiner = false
		l.want.Joined = append(l.want.Joined, s.setup.Self)
	}
}

// arrive says that a joiner is there.
func (l *local) arrive(s *localProc) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apply(l.recovery.Arrived(s.setup.Self, s.setup.Incarnation, l.now()))
}

// introduce links a joiner with the others, and lets it live.
func (l *local) introduce(s *localProc, peers []job.Process) error {
	for _, p := range peers {
		other := l.procs[p]
		a, b, err := l.pair(l.spec.Link)
		if err != nil {
			return fmt.Errorf("link %v and %v: %w", s.setup.Self, p, err)
		}
		s.connect(p, other.setup.Incarnation, a)
		other.connect(s.setup.Self, s.setup.Incarnation, b)
	}
	l.startProc(s)
	return nil
}

// connect gives this process a link to another one.
func (s *localProc) connect(p job.Process, incarnation uint32, link transport.Link) {
	s.mu.Lock()
	if old := s.links[p]; old != nil {
		s.former = append(s.former, old) // what it still holds is read to its end
	}
	s.links[p] = link
	gone := s.gone
	s.mu.Unlock()
	if gone {
		_ = link.Close()
		return
	}
	s.tell(job.Connected{Process: p, Incarnation: incarnation, Link: link})
}
