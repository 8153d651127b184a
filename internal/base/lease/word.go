package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// size is the size of the file of a word, in bytes.
const size = 8

// ErrOver means that the lease has ended and was not renewed in time.
var ErrOver = errors.New("the lease of this host is over")

// Word is the agent's side of a lease: a word of memory that its processes can read and
// only the agent can write. Its methods are safe for concurrent use.
type Word struct {
	file  *os.File
	until *atomic.Int64
	page  []byte
}

// NewWord makes the word of an agent. There is no valid lease until Publish.
func NewWord() (*Word, error) {
	f, page, err := createPage()
	if err != nil {
		return nil, err
	}
	return &Word{file: f, page: page, until: word(page)}, nil
}

func word(page []byte) *atomic.Int64 { return (*atomic.Int64)(unsafe.Pointer(&page[0])) }

// File returns the file that processes inherit to open their leases. The caller must not close it.
func (w *Word) File() *os.File { return w.file }

// Publish allows the processes to act until the given time of Now. A time in the past ends
// the lease at once.
func (w *Word) Publish(until time.Duration) { w.until.Store(int64(until)) }

// Held reports whether the lease is valid now.
func (w *Word) Held() bool { return int64(Now()) < w.until.Load() }

// Close releases the memory. It first ends the lease for the processes.
func (w *Word) Close() error {
	w.until.Store(0)
	return errors.Join(unmap(w.page), w.file.Close())
}

// Lease is a process's read-only access to the word of its agent. A process without an
// agent has a nil *Lease, which is always held. Its methods are safe for concurrent use,
// except that Close must come last.
type Lease struct {
	until *atomic.Int64
	page  []byte
	close sync.Once
}

// Open maps the word in f, which may be closed afterwards.
func Open(f *os.File) (*Lease, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the lease: %w", err)
	}
	if info.Size() != size { // check the size, because reading beyond the end of a file causes a fault
		return nil, fmt.Errorf("open the lease: a file of %d bytes is not a lease", info.Size())
	}
	page, err := mapPage(f)
	if err != nil {
		return nil, fmt.Errorf("map the lease: %w", err)
	}
	return &Lease{page: page, until: word(page)}, nil
}

// Until returns when the lease ends, as a time of Now.
func (l *Lease) Until() time.Duration { return time.Duration(l.until.Load()) }

// Held reports whether the lease is valid now. It costs a load and a read of the clock,
// which is little compared to any effect on the outside world.
func (l *Lease) Held() bool { return l == nil || Now() < l.Until() }

// poll is the interval at which Await checks the lease. It is far shorter than a lease.
const poll = 2 * time.Millisecond

// Await returns nil at once if the lease is held, otherwise when it has been renewed. An
// error wraps ErrOver and the cause of ctx.
//
// Between Await and the effect that follows, a process can be stopped for any time. So a
// receiver of the effect, such as an agent that forwards output, has to check the lease
// itself.
func (l *Lease) Await(ctx context.Context) error {
	if l.Held() {
		return nil
	}
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !l.Held() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrOver, context.Cause(ctx))
		}
	}
	return nil
}

// Close releases the memory.
func (l *Lease) Close() error {
	if l == nil {
		return nil
	}
	var err error
	l.close.Do(func() { err = unmap(l.page) })
	return err
}
