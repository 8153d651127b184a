package supervise

import (
	"os"
	"sync"

	"github.com/intrahpc/intra/internal/job"
)

// mailbox sends messages to one process. Sending never waits for the process, which does not
// read while it is stopped.
type mailbox struct {
	refused func(error) // called once, with the reason why a message cannot be sent; after that nothing is sent

	mu     sync.Mutex
	some   *sync.Cond
	queue  []letter
	closed bool
}

type letter struct {
	m     *job.Message
	files []*os.File // closed once sent
}

func newMailbox(c *job.Conn, refused func(error)) *mailbox {
	b := &mailbox{refused: refused}
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
	failed := false
	for {
		b.mu.Lock()
		for len(b.queue) == 0 && !b.closed {
			b.some.Wait()
		}
		queue, closed := b.queue, b.closed
		b.queue = nil
		b.mu.Unlock()
		for _, l := range queue {
			if !closed && !failed {
				if err := c.Write(l.m, l.files...); err != nil {
					if failed = true; !job.Ended(err) { // the agent notices the end of a process in another way
						b.refused(err)
					}
				}
			}
			l.close()
		}
		if closed {
			return
		}
	}
}

// close discards the messages that are not sent yet.
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
