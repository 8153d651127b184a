package launch

import (
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// member is what the head knows of one process.
type member struct {
	process job.Process
	pid     int
	conn    *job.Conn
	silent  chan struct{} // closed when nothing more comes from it
	mail    *mailbox
	outputs *outputs

	hello   *job.Hello // once it has joined
	address string     // where it listens for links over TCP
	stats   job.Stats
	ending  *ending   // why it is going to die, if the head knows
	stopped time.Time // when it was last seen stopped

	gone  bool             // it is no more, and all it said is known
	state *os.ProcessState // set when it is no more
	end   string           // for the report: how it ended
}

// ending is a cause of death that is known before the death.
type ending struct {
	cause  job.Cause
	detail string
}

// ready: the process can get its links.
func (m *member) ready(link string) bool {
	return m.hello != nil && (link != job.LinkTCP || m.address != "")
}

// cause finds out, after the death, why the process died.
func (m *member) cause(crashed bool) ending {
	if m.ending != nil {
		return *m.ending
	}
	ws := m.state.Sys().(syscall.WaitStatus)
	wrapped := m.hello != nil && m.hello.PID != m.pid
	e := ending{job.CauseExit, m.state.String()}
	switch {
	case crashed:
		e = ending{job.CausePanic, "crashed, " + m.state.String()}
	case ws.Signaled():
		e = ending{job.CauseSignal, "killed by " + signalName(ws.Signal())}
	case wrapped && ws.ExitStatus() > 128 && ws.ExitStatus() < 128+65: // a shell's way to say it
		e = ending{job.CauseSignal, "killed by " + signalName(syscall.Signal(ws.ExitStatus()-128)) + " under its wrapper"}
	}
	if m.hello == nil && e.cause == job.CauseExit {
		e.detail += "; it never joined the job: is it a program that calls intra.Main?"
	}
	return e
}

// mailbox sends messages to one process. The head never waits for a process:
// one that is stopped does not read.
type mailbox struct {
	mu     sync.Mutex
	some   *sync.Cond
	queue  []letter
	closed bool
}

type letter struct {
	m     *job.Message
	files []*os.File // closed once sent
}

func newMailbox(c *job.Conn) *mailbox {
	b := new(mailbox)
	b.some = sync.NewCond(&b.mu)
	go b.run(c)
	return b
}

func (b *mailbox) send(m *job.Message, files ...*os.File) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := letter{m, files}
	if b.closed {
		l.close()
		return
	}
	b.queue = append(b.queue, l)
	b.some.Signal()
}

func (b *mailbox) run(c *job.Conn) {
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.closed {
			b.some.Wait()
		}
		queue, closed := b.queue, b.closed
		b.queue = nil
		b.mu.Unlock()
		for _, l := range queue {
			if !closed {
				// A process that is gone is seen by its agent.
				_ = c.Write(l.m, l.files...)
			}
			l.close()
		}
		if closed {
			return
		}
	}
}

// close drops what is not sent yet.
func (b *mailbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.some.Signal()
}

func (l letter) close() {
	for _, f := range l.files {
		f.Close()
	}
}
