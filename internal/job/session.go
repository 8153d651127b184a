package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/intrahpc/intra/internal/base/affinity"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/lease"
)

// Session is the membership of a process in a job, with its control connection. Any
// goroutine may call its methods, except Next.
type Session struct {
	conn     *Conn
	secret   Secret
	setup    Setup
	local    int // number of processes of the job that are placed on this host
	links    Links
	lease    *lease.Lease   // of this host; nil if it has none
	slot     *affinity.Slot // on the board of its host; nil if it has none
	listener net.Listener   // links over TCP only
	serving  context.Context
	stop     context.CancelFunc // ends serving
	latest   chan func() Stats  // function that takes the counts for the next report, if one is due
	// Held while counts are taken and sent, so that the counts in later reports are never
	// lower.
	counting sync.Mutex
	closed   chan struct{}
	close    sync.Once
	crash    *os.File // text written here does not count as output of the program

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when one of the following fields changes
	events  []Event
	files   map[Endpoint]*os.File // ends of links, until Connect returns them
	onUse   map[Endpoint]*wanted  // links that are made at their first use
	// connected: Connect has taken the ends of the links to the first processes. Until then
	// the ends to dead processes are kept, too, since those processes may have sent
	// something.
	connected bool
	arena     *os.File // memory until Arena returns it; nil: none
	noArena   string   // why there is no arena, if the rank should have one
	peers     []Peer
	started   bool
	dead      map[Endpoint]bool
	tcp       *network // nil until there is a link over TCP
	world     world    // membership in MPI_COMM_WORLD; nil: none, or left
	err       error    // why the connection has ended
}

// Join makes this process a member of the job of its launcher. In a process that no
// launcher has started, it returns nil, nil. It must be called only once, before the
// program starts processes of its own.
func Join(ctx context.Context, hello Hello) (*Session, error) {
	in, ok, err := inherited()
	if !ok {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("join the job: %w", err)
	}
	defer in.Close()
	hello.Args = checkpoint.EncodeArgs(os.Args[1:])
	s, err := newSession(ctx, in, hello)
	if err != nil {
		return nil, fmt.Errorf("join the job: %w", err)
	}
	return s, nil
}

func newSession(ctx context.Context, in Inheritance, hello Hello) (*Session, error) {
	s := &Session{
		local:   in.Local,
		links:   NewLinks(),
		latest:  make(chan func() Stats, 1),
		closed:  make(chan struct{}),
		changed: make(chan struct{}),
		files:   make(map[Endpoint]*os.File),
		onUse:   make(map[Endpoint]*wanted),
		dead:    make(map[Endpoint]bool),
	}
	s.serving, s.stop = context.WithCancel(context.Background())
	if err := s.join(ctx, in, hello); err != nil {
		s.stop()
		return nil, err
	}
	go s.read()
	go s.sendStats()
	return s, nil
}

func (s *Session) join(ctx context.Context, in Inheritance, hello Hello) (err error) {
	if s.secret, err = readSecret(in.Secret); err != nil {
		return err
	}
	if s.conn, err = NewConn(in.Control); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			s.conn.Close()
		}
	}()
	if in.Lease != nil {
		if s.lease, err = lease.Open(in.Lease); err != nil {
			return err
		}
	}
	if in.Board != nil {
		if s.slot, err = affinity.OpenSlot(in.Board, in.Slot); err != nil {
			return err
		}
	}
	stop := context.AfterFunc(ctx, func() { s.conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := hello.describe(); err != nil {
		return err
	}
	setup, err := ask(s.conn, &s.secret, &hello)
	if err != nil {
		return errors.Join(err, ctx.Err())
	}
	s.setup = *setup
	s.setup.Job = s.secret.number()
	if s.crash, err = reportCrashes(in.Crash); err != nil {
		return err
	}
	if s.setup.MPI {
		if err := s.joinWorld(); err != nil {
			return err
		}
	}
	if s.setup.Listen != "" {
		if s.listener, err = listenOn(s.setup.Listen); err != nil {
			return err
		}
		return s.conn.Write(&Message{Kind: KindListen, Address: s.listener.Addr().String()})
	}
	return nil
}

// Setup returns the slot of the process in the job, and the options of the job.
func (s *Session) Setup() Setup { return s.setup }

// Local returns the number of processes of the job that are placed on this host.
func (s *Session) Local() int { return s.local }

// Slot returns this process's slot on the board of its host, or nil if it has none.
func (s *Session) Slot() *affinity.Slot { return s.slot }

// read handles the messages of the head until the connection ends.
func (s *Session) read() {
	for {
		m, files, err := s.conn.Read()
		if err != nil {
			s.update(func() { s.err = headGone(err) })
			return
		}
		if m.Kind == KindLink {
			s.linkCame(m, files)
			continue
		}
		s.update(func() { s.take(m, files) })
	}
}

// headGone wraps every error of the control connection in ErrHeadGone and io.EOF. Without
// the connection the process is not part of the job.
func headGone(err error) error {
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: %w", ErrHeadGone, err)
	}
	return fmt.Errorf("%w: %w: %w", ErrHeadGone, err, io.EOF)
}

// take handles one message. The caller holds mu.
func (s *Session) take(m *Message, files []*os.File) {
	switch m.Kind {
	case KindArena:
		if s.arena != nil {
			s.arena.Close()
		}
		if s.arena, s.noArena = nil, m.Text; len(files) > 0 {
			s.arena = files[0]
		}
	case KindStart:
		s.peers, s.started = m.Peers, true
	case KindVerdict:
		if s.world != nil {
			s.world.Mourn()
		}
		end := Endpoint{m.Verdict.Process, max(m.Verdict.Incarnation, 1)}
		s.dead[end] = true
		delete(s.onUse, end)
		if f := s.files[end]; f != nil && s.connected { // the peer died before this process knew it
			f.Close()
			delete(s.files, end)
		}
	case KindConnect:
		s.meet(m.Peers[0], files)
	case KindRefuse:
		s.err = fmt.Errorf("%w: %s", ErrRefused, m.Text)
	}
	if e := m.Event(); e != nil {
		s.events = append(s.events, e)
	}
}

// update changes the state and wakes all waiting calls.
func (s *Session) update(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil { // the first error is the cause
		f()
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// Next waits for the next event. Events arrive in the head's order. After the last one Next
// returns an error that wraps io.EOF, or ErrRefused if the head has refused the job. Only
// one goroutine may call Next.
func (s *Session) Next() (Event, error) {
	for {
		s.mu.Lock()
		changed, err := s.changed, s.err
		if len(s.events) > 0 {
			e := s.events[0]
			s.events = s.events[1:]
			s.mu.Unlock()
			return e, nil
		}
		s.mu.Unlock()
		if err != nil {
			return nil, err
		}
		<-changed
	}
}

// Stats makes the session send the head a report of the counts. The session calls count
// right before it sends. Stats never blocks. If a report is already pending, it does
// nothing.
func (s *Session) Stats(count func() Stats) {
	select {
	case s.latest <- count:
	default:
	}
}

// Tell sends a report of the counts at once. When it returns, the kernel has the report.
func (s *Session) Tell(count func() Stats) {
	_ = s.tell(count) // Next reports the end of the connection
}

func (s *Session) sendStats() {
	for {
		select {
		case count := <-s.latest:
			if s.tell(count) != nil {
				return // Next reports the end of the connection
			}
		case <-s.closed:
			return
		}
	}
}

func (s *Session) tell(count func() Stats) error {
	s.counting.Lock()
	defer s.counting.Unlock()
	st := count()
	return s.say(&Message{Kind: KindStats, Stats: &st})
}

// say sends a message that the head needs. If it cannot be sent, Next returns the error.
// Otherwise the process would continue, and the head would wait forever.
func (s *Session) say(m *Message) error {
	err := s.conn.Write(m)
	if err != nil && !Ended(err) { // the reader reports an ended connection
		s.update(func() { s.err = fmt.Errorf("tell the launcher: %w", err) })
	}
	return err
}

// Fired reports that this process has reached the kill point k. When it returns, the kernel
// has the report. The caller must then kill its own process; if it does not, the head does
// so after a while.
func (s *Session) Fired(k Kill, st Stats) {
	// An error makes no difference: the process ends in any case.
	_ = s.say(&Message{Kind: KindFired, Kill: &k, Stats: &st})
}

// Leased waits until the processes of this host may act on the outside world. The head does
// not declare the host lost while its lease is valid, so no other process acts in its
// place. Leased returns at once unless the host may be lost. The caller must act
// immediately, because the lease may end. The error is that of ctx.
func (s *Session) Leased(ctx context.Context) error { return s.lease.Await(ctx) }

// Finish reports that run returned nil. The process serves its peers until Release.
func (s *Session) Finish(st Stats) error {
	s.counting.Lock() // a count from before must not be sent after this one
	defer s.counting.Unlock()
	return s.say(&Message{Kind: KindFinish, Stats: &st})
}

// Drained reports, after Finish, that all messages of this process have been received. From
// then on the job does not need this rank.
func (s *Session) Drained() error {
	return s.say(&Message{Kind: KindDrained})
}

// Handled reports that this process has handled the verdict with that epoch.
func (s *Session) Handled(epoch uint64) {
	// An error makes no difference: without a head nothing waits for this report.
	_ = s.say(&Message{Kind: KindHandled, Epoch: epoch})
}

// maxText bounds the text of a failure, in bytes before it is encoded.
const maxText = 64 << 10

// Fail reports that the run of this process has failed. The process exits next.
func (s *Session) Fail(f Failure, st Stats) error {
	f.Text = clip(f.Text)
	return s.say(&Message{Kind: KindFail, Failure: &f, Stats: &st})
}

// Suspect reports that the link to a process has ended with err, without a verdict on the
// process.
func (s *Session) Suspect(p Endpoint, err error) {
	text := "ended"
	if err != nil {
		text = clip(err.Error())
	}
	// An error makes no difference: Next reports the loss of the head.
	_ = s.say(&Message{Kind: KindSuspect, Process: &p.Process, Incarnation: p.Incarnation, Text: text})
}

// doubt reports that a link has had no connection for a while. A nil err reports that the
// link is connected again.
func (s *Session) doubt(p Endpoint, err error) {
	if err != nil {
		s.Suspect(p, err)
		return
	}
	_ = s.say(&Message{Kind: KindMended, Process: &p.Process, Incarnation: p.Incarnation})
}

// Reply sends a reply about recovery to the head.
func (s *Session) Reply(r Reply) {
	r.Text = clip(r.Text)
	// An error makes no difference: Next reports the loss of the head.
	_ = s.say(&Message{Kind: KindReply, Reply: &r})
}

// clip shortens a text to maxText bytes, without splitting a character.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	n := maxText
	for n > maxText-utf8.UTFMax && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + " …"
}

// Close ends the membership. It does not affect the links.
func (s *Session) Close() error {
	err := net.ErrClosed
	s.close.Do(func() {
		close(s.closed)
		s.stop()
		if s.listener != nil {
			s.listener.Close()
		}
		s.crash.Close()
		err = s.conn.Close()
	})
	return err
}

// LastWords sends the beginning of this process's final message on standard error to the
// launcher. The launcher shows it with the name of the process.
func (s *Session) LastWords(text []byte) {
	const atOnce = 4096                                 // fits into an empty pipe, so Write does not block
	_, _ = s.crash.Write(text[:min(len(text), atOnce)]) // an error only means that the launcher is gone
}
