package agentd

import (
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/lease"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/spawn"
	"github.com/intrahpc/intra/internal/supervise"
	"github.com/intrahpc/intra/internal/watchdog"
)

// server is an agent's end of its connection to the head. It passes on what the
// head says to the agent of this host, and what that sees to the head.
type server struct {
	holder   *leaseHolder
	local    *supervise.Agent
	watchdog *watchdog.Watchdog
	starter  *spawn.Starter

	listener *takeoverListener
	follower *follower       // nil if the job ends with the head
	takeover func(*Lead) int // as in Config

	mu    sync.Mutex
	conn  *agentwire.Conn // of the head that it obeys
	term  uint64          // in which that became the head, 0 for the first
	logs  map[job.Process]*processLog
	links map[[2]job.Process]bool // between processes that begin together, which are made once
	code  int                     // how the job has ended
}

// run serves until the head says that the job is over, or is gone.
func (s *server) run() error {
	quit := make(chan struct{})
	defer close(quit)
	ended := make(chan error, 3)
	go func() { ended <- s.obey() }()
	go func() {
		select {
		case <-s.holder.leased: // before that, enter hears of it and tells the head
		case <-quit:
			return
		}
		select {
		case err := <-s.holder.evicted:
			ended <- err
		case <-quit:
		}
	}()
	go func() {
		select {
		case <-s.watchdog.Gone():
			ended <- errors.New("its watchdog is gone")
		case <-quit:
		}
	}()
	err := <-ended
	s.mu.Lock()
	h := s.follower
	s.mu.Unlock()
	err = h.outcome(err)
	s.out().Drop()
	s.local.KillAll()
	s.holder.close()
	if err == nil && s.code != 0 {
		return &JobError{Code: s.code}
	}
	return err
}

// out returns the way to the head.
func (s *server) out() *agentwire.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// obey does what the head says, and the heads after it, until the job is over.
func (s *server) obey() error {
	for {
		err := s.read()
		if err == nil || s.follower == nil || errors.Is(err, agentwire.ErrFrame) {
			return err
		}
		if err = s.turn(err); err != nil {
			return err
		}
	}
}

// read does what the head says. It returns nil when the job is over.
func (s *server) read() error {
	m := s.out()
	for {
		f, err := m.Read()
		if err != nil {
			return fmt.Errorf("lost the connection to the head: %w", err)
		}
		if f.Kind == agentwire.KindBye {
			code, err := f.Number()
			s.code = int(code)
			s.starter.Finish()
			return err
		}
		if err := s.take(&f); err != nil {
			return err
		}
	}
}

func (s *server) take(f *agentwire.Frame) error {
	p := f.Process
	switch f.Kind {
	case agentwire.KindRoster:
		var at NodeConfig
		if err := f.Decode(&at); err != nil {
			return err
		}
		s.starter.Settle()
		if err := s.enter(at); err != nil { // nothing is started before there is a lease
			s.Failed(err)
			s.out().Finish()
			return err
		}
	case agentwire.KindStart:
		r, err := f.Number()
		if err != nil || supervise.Role(r) > supervise.Spare {
			return agentwire.ErrFrame
		}
		s.mu.Lock()
		keep := s.follower != nil
		at := new(processLog)
		for st := range at.buffers {
			at.buffers[st] = output.NewReplayBuffer(agentwire.MaxWindow, keep, outputTo(s.conn, p, st))
		}
		if before := s.logs[p]; before != nil {
			at.stdin = before.stdin
		} else {
			at.stdin = agentwire.NewInbox(func(b []byte) {
				s.local.Feed(p, b)
				s.out().Send(agentwire.KindRoom, p, agentwire.RoomBody(0, len(b)))
			})
		}
		s.logs[p] = at
		s.mu.Unlock()
		s.local.Start(p, supervise.Role(r))
	case agentwire.KindQuiet:
		n, err := f.Number()
		if err != nil {
			return err
		}
		s.local.Quiet(p, n)
	case agentwire.KindMessage:
		m, err := job.DecodeMessage(f.Body)
		if err != nil {
			return err
		}
		if m.Kind == job.KindStart {
			s.follower.started()
		}
		if at := s.log(p); at != nil && at.pass(m) {
			s.local.Send(p, m)
		}
	case agentwire.KindLink:
		var l supervise.HostLink
		if err := f.Decode(&l); err != nil {
			return err
		}
		if pair := [2]job.Process{l.Lower, l.Higher}; l.Meet == nil {
			if s.links[pair] {
				break
			}
			s.links[pair] = true
		}
		s.local.Link(l)
	case agentwire.KindSignal:
		n, err := f.Number()
		if err != nil {
			return err
		}
		s.local.Signal(p, syscall.Signal(n))
	case agentwire.KindInput:
		if at := s.log(p); at != nil {
			at.stdin.Put(f.Body)
		}
	case agentwire.KindRoom:
		st, n, err := f.Room()
		if err != nil || st >= int(output.Crashes) {
			return agentwire.ErrFrame
		}
		if at := s.log(p); at != nil {
			at.buffers[st].Taken(n)
		}
	case agentwire.KindWritten:
		var w output.Written
		if err := f.Decode(&w); err != nil || w.Stream < 0 || w.Stream >= output.Crashes {
			return agentwire.ErrFrame
		}
		if at := s.log(p); at != nil {
			at.buffers[w.Stream].Confirm(w)
		}
	default:
		return agentwire.ErrFrame
	}
	return nil
}

// log returns what is held of a process, nil if it was never started.
func (s *server) log(p job.Process) *processLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logs[p]
}

// outputTo returns what sends a stream of a process over the connection to a
// head.
func outputTo(m *agentwire.Conn, p job.Process, stream int) func([]byte) {
	return func(b []byte) { m.Send(agentwire.KindOutput, p, agentwire.OutputBody(stream, b)) }
}

// say tells the head something about a process, and keeps it for another one.
// m is the message if it is one.
func (s *server) say(kind agentwire.Kind, p job.Process, body []byte, m *job.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.logs[p]; at != nil && s.follower != nil {
		at.note(told{kind: kind, body: body}, m, lease.Now())
	}
	s.conn.Send(kind, p, body)
}

func (s *server) close() { s.local.Close() }

// The methods below make the server the supervise.Observer of this host.

func (s *server) Started(p job.Process, pid int, err error) {
	r := StartResult{PID: pid}
	if err != nil {
		r.Error = err.Error()
	}
	s.say(agentwire.KindStarted, p, agentwire.Encode(r), nil)
}

func (s *server) Hello(p job.Process, h *job.Hello) {
	s.say(agentwire.KindHello, p, agentwire.Encode(h), nil)
}

func (s *server) Message(p job.Process, m *job.Message) {
	s.say(agentwire.KindMessage, p, agentwire.Encode(m), m)
}

func (s *server) Unheard(p job.Process, why supervise.Silence) {
	s.say(agentwire.KindUnheard, p, agentwire.Encode(why), nil)
}

func (s *server) Output(p job.Process, st output.Stream, b []byte) {
	if st < output.Crashes {
		s.log(p).buffers[st].Write(b)
		return
	}
	s.say(agentwire.KindOutput, p, agentwire.OutputBody(int(st), b), nil)
}

func (s *server) Quiet(p job.Process, n uint64) {
	for _, b := range s.log(p).buffers {
		b.Drain()
	}
	s.out().Send(agentwire.KindQuiet, p, agentwire.Number(n))
}

func (s *server) Stopped(p job.Process, d time.Duration) {
	s.out().Send(agentwire.KindStopped, p, agentwire.Number(uint64(d)))
}

func (s *server) ProgramGone(p job.Process) { s.say(agentwire.KindGone, p, nil, nil) }

func (s *server) Exited(p job.Process, e supervise.Exit) {
	s.say(agentwire.KindExited, p, agentwire.Encode(e), nil)
}

func (s *server) Failed(err error) {
	s.out().Send(agentwire.KindFailed, job.Process{}, []byte(err.Error()))
}
