package agentd

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/agent/agentwire"
	"github.com/intrahpc/intra/internal/agent/launcher"
	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/agent/spawn"
	"github.com/intrahpc/intra/internal/agent/supervise"
	"github.com/intrahpc/intra/internal/base/lease"
	"github.com/intrahpc/intra/internal/job"
)

// server is an agent's end of its connection to the head. It passes the head's
// orders to the supervise.Agent of this host, and that agent's observations to
// the head.
type server struct {
	node     *node
	local    *supervise.Agent
	starter  *spawn.Starter
	leave    <-chan os.Signal   // receives when this host is to leave
	joined   func()             // called when this host has joined a running job, nil: never
	borrower *launcher.Borrower // borrows a launcher's identities; nil: the processes have none

	mu      sync.Mutex
	keeps   bool            // the log keeps the messages to the head, since the job survives its head
	conn    *agentwire.Conn // the connection to the head that the agent obeys
	term    uint64          // term of that head, 0 for the first head
	log     hostLog
	leaving bool // this host is to leave; the agent reports that to each head
	code    int  // exit code of the job
}

// run serves until the head reports the end of the job, or the connection to the last head is
// lost.
func (s *server) run() error {
	quit := make(chan struct{})
	defer close(quit)
	ended := make(chan error, 4)
	go func() { s.awaitLeave(ended, quit) }()
	go func() { ended <- s.obey() }()
	go func() {
		select {
		case err := <-s.node.evicted:
			if s.node.end() == 0 { // the head still waits for this host, so it receives the reason
				s.Failed(err)
				s.out().Finish()
			}
			ended <- err
		case <-quit:
		}
	}()
	go func() {
		select {
		case <-s.node.watchdog.Gone():
			ended <- errors.New("its watchdog is gone")
		case <-quit:
		}
	}()
	err := s.node.outcome(<-ended)
	s.out().Drop()
	s.local.KillAll()
	if err == nil && s.code != 0 {
		return &JobError{Code: s.code}
	}
	return err
}

// close releases the resources of the agent, once its processes have ended.
func (s *server) close() {
	s.local.Close()
	if s.borrower != nil {
		s.borrower.Close()
	}
}

// out returns the connection to the head.
func (s *server) out() *agentwire.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

// obey executes the orders of the head and of its successors, until the job is over.
func (s *server) obey() error {
	for {
		err := s.read()
		if end, ok := errors.AsType[*stopped](err); ok {
			return end.error
		}
		if err == nil || !s.keeps || errors.Is(err, agentwire.ErrFrame) {
			return err
		}
		conn, term, err := s.node.heads.Next(s.term, err)
		if err != nil {
			return err
		}
		s.attach(conn, term)
	}
}

// read executes the orders of one head. It returns nil when the job is over.
func (s *server) read() error {
	m := s.out()
	for {
		f, err := m.Read()
		if err != nil {
			return fmt.Errorf("lost the connection to the head: %w", err)
		}
		if f.Kind == agentwire.KindBye {
			err := f.Decode(&s.code)
			s.starter.Finish()
			return err
		}
		if f.Kind == agentwire.KindFree {
			if why := string(f.Body); why != "" {
				return &stopped{fmt.Errorf("ended by SIGTERM: %s", why)}
			}
			return &stopped{ErrLeft}
		}
		if err := s.take(&f); err != nil {
			return err
		}
	}
}

func (s *server) take(f *agentwire.Frame) error {
	switch f.Kind {
	case agentwire.KindRoster:
		var at NodeConfig
		if err := f.Decode(&at); err != nil {
			return err
		}
		s.starter.Settle()
		s.mu.Lock()
		s.keeps, s.term = at.Takeover != nil, at.Term
		s.mu.Unlock()
		if err := s.node.enter(at, func() { s.out().Close() }); err != nil {
			s.Failed(err)
			s.out().Finish()
			return err
		}
		if at.Guest && s.joined != nil {
			s.joined()
		}
	case agentwire.KindStart:
		var r supervise.Role
		if err := f.Decode(&r); err != nil || r > supervise.Spare {
			return agentwire.ErrFrame
		}
		if s.node.hasLease() && s.open(f.Of, r) {
			s.local.Start(f.Of.ID, r)
		}
	case agentwire.KindLink:
		var l supervise.HostLink
		if err := f.Decode(&l); err != nil {
			return err
		}
		of := [2]agentlog.Name{{ID: l.Lower}, {ID: l.Higher}}
		if l.Meet != nil {
			of[0].Incarnation, of[1].Incarnation = l.Meet[0].Incarnation, l.Meet[1].Incarnation
		}
		s.mu.Lock()
		fresh := s.log.Link(of[0], of[1])
		s.mu.Unlock()
		if fresh {
			s.local.Link(l)
		}
	default:
		s.mu.Lock()
		at := s.log.Find(agentlog.Name(f.Of))
		s.mu.Unlock()
		if at != nil { // otherwise the process has ended
			return s.pass(at, f)
		}
	}
	return nil
}

// pass passes a frame on to its process.
func (s *server) pass(at *processLog, f *agentwire.Frame) error {
	p := f.Of.ID
	switch f.Kind {
	case agentwire.KindQuiet:
		var n uint64
		if err := f.Decode(&n); err != nil {
			return err
		}
		s.local.Quiet(p, n)
	case agentwire.KindMessage:
		m, err := job.DecodeMessage(f.Body)
		if err != nil {
			return err
		}
		s.mu.Lock()
		fresh := at.Pass(m)
		s.mu.Unlock()
		if fresh {
			s.local.Send(p, m)
		}
	case agentwire.KindSignal:
		var n syscall.Signal
		if err := f.Decode(&n); err != nil {
			return err
		}
		s.local.Signal(p, n)
	case agentwire.KindInput:
		at.With.stdin.Put(f.Body)
	case agentwire.KindRoom:
		var r agentwire.Room
		if err := f.Decode(&r); err != nil || r.Stream >= uint8(output.Crashes) {
			return agentwire.ErrFrame
		}
		at.With.buffers[r.Stream].Taken(int(r.Bytes))
	case agentwire.KindWritten:
		var w output.Written
		if err := f.Decode(&w); err != nil || w.Stream < 0 || w.Stream >= output.Crashes {
			return agentwire.ErrFrame
		}
		at.With.buffers[w.Stream].Confirm(w)
	case agentwire.KindPlay:
		conn := s.out()
		for st, b := range at.With.buffers {
			b.Play(outputTo(conn, name(at), st))
		}
	case agentwire.KindResume:
		var r OutputResume
		if err := f.Decode(&r); err != nil {
			return err
		}
		s.mu.Lock()
		fresh := at.Resume(r.Generation)
		s.mu.Unlock()
		for st, b := range at.With.buffers {
			if fresh {
				b.Resume(r.Position[st].Written, r.Position[st].Text, r.Anew)
			}
		}
	default:
		return agentwire.ErrFrame
	}
	return nil
}

// open starts the log of a process that the head has ordered. It returns false if another head
// has already ordered the start.
func (s *server) open(of agentwire.Name, r supervise.Role) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.Start(agentlog.Name(of), r == supervise.First)
	if at == nil {
		return false
	}
	for st := range at.With.buffers {
		at.With.buffers[st] = output.NewReplayBuffer(agentwire.MaxWindow, s.keeps, outputTo(s.conn, of, st))
		if !at.Voiced {
			at.With.buffers[st].Mute()
		}
	}
	at.With.stdin = agentwire.NewInbox(func(b []byte) {
		s.local.Feed(of.ID, b)
		if len(b) > 0 {
			s.out().SendJSON(agentwire.KindRoom, of, agentwire.Room{Bytes: uint32(len(b))})
		}
	})
	if s.term > 0 {
		at.With.stdin.Put(nil) // standard input is lost with the first head
	}
	return true
}

// process returns the log of the latest process with that ID. It returns nil if there was
// none.
func (s *server) process(p job.Process) *processLog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Latest(p)
}

// outputTo returns a function that sends a stream of a process over the
// connection to a head.
func outputTo(m *agentwire.Conn, of agentwire.Name, stream int) func([]byte) {
	return func(b []byte) { m.Send(agentwire.KindOutput, of, agentwire.OutputBody(stream, b)) }
}

// say sends an observation of a process to the head, and logs it for the next head.
func (s *server) say(kind agentwire.Kind, p job.Process, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sayLocked(kind, s.log.Latest(p), body)
}

// sayLocked does the work of say. The caller holds mu.
func (s *server) sayLocked(kind agentwire.Kind, at *processLog, body []byte) {
	if s.keeps {
		at.Note(frame{kind, body})
	}
	s.conn.Send(kind, name(at), body)
}

// The methods below make the server the supervise.Observer of this host.

func (s *server) Started(p job.Process, pid int, err error) {
	r := StartResult{PID: pid}
	if err != nil {
		r.Error = err.Error()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.Latest(p)
	at.PID = pid
	s.sayLocked(agentwire.KindStarted, at, agentwire.Encode(r))
}

func (s *server) Hello(p job.Process, h *job.Hello) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.Latest(p)
	at.Joined = true
	s.sayLocked(agentwire.KindHello, at, agentwire.Encode(h))
}

func (s *server) Message(p job.Process, m *job.Message) {
	body := agentwire.Encode(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.log.Latest(p)
	if s.keeps {
		at.Say(m, lease.Now())
	}
	s.conn.Send(agentwire.KindMessage, name(at), body)
}

func (s *server) Unreachable(p job.Process, why supervise.Silence) {
	s.say(agentwire.KindUnreachable, p, agentwire.Encode(why))
}

func (s *server) Output(p job.Process, st output.Stream, b []byte) {
	if st < output.Crashes {
		s.process(p).With.buffers[st].Write(b)
		return
	}
	s.say(agentwire.KindOutput, p, agentwire.OutputBody(int(st), b))
}

func (s *server) Quiet(p job.Process, n uint64) {
	at := s.process(p)
	for _, b := range at.With.buffers {
		b.Drain()
	}
	s.out().SendJSON(agentwire.KindQuiet, name(at), n)
}

func (s *server) Stopped(p job.Process, d time.Duration) {
	s.out().SendJSON(agentwire.KindStopped, name(s.process(p)), d)
}

func (s *server) ProgramGone(p job.Process) { s.say(agentwire.KindGone, p, nil) }

func (s *server) Exited(p job.Process, e supervise.Exit) {
	s.say(agentwire.KindExited, p, agentwire.Encode(e))
}

func (s *server) Failed(err error) {
	s.out().Send(agentwire.KindFailed, agentwire.Name{}, []byte(err.Error()))
}
