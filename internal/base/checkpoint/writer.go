package checkpoint

import (
	"context"
	"errors"
	"sync"
)

// ErrBusy: the state before is still being written.
var ErrBusy = errors.New("the checkpoint before is still being written")

// Writer writes the states of one process to files, beside the program: the
// program waits only while its memory is copied.
type Writer struct {
	ctx   context.Context
	dir   string
	owner string
	may   func(context.Context) error
	done  func(Header, File, error)

	mu     sync.Mutex
	copy   *Image
	active sync.WaitGroup
	busy   bool

	holding sync.Mutex
	lock    *Lock // on the folder, until the process ends; nil before
}

// NewWriter returns a writer into dir, which the job with the ID owner has taken, or which
// belongs to no other job if that is "". When a file is on disk and only lacks
// its name, may is called, if it is not nil: the file is given up if it returns
// an error. When a file is written, or could not be, done is called. Both are
// called on a goroutine of the writer. When ctx is cancelled, what is being
// written is given up.
func NewWriter(ctx context.Context, dir, owner string, may func(context.Context) error, done func(Header, File, error)) *Writer {
	return &Writer{ctx: ctx, dir: dir, owner: owner, may: may, done: done}
}

// Hold makes sure that the folder is the job's as long as this process lives, and that it
// can be written. The writer does that itself before its first file.
func (w *Writer) Hold() (err error) {
	w.holding.Lock()
	defer w.holding.Unlock()
	if w.owner != "" && w.lock == nil {
		w.lock, err = Share(w.dir, w.owner)
	}
	return err
}

// Start copies the state and returns while it is written. Position belongs to
// the writer from now on.
func (w *Writer) Start(h Header, position []byte, im *Image) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy {
		return ErrBusy
	}
	w.busy = true
	w.copy = im.Clone(w.copy)
	w.active.Go(func() {
		err := w.Hold()
		f := File{Rank: h.Rank}
		if err == nil {
			f, err = write(w.ctx, w.dir, h, position, w.copy, w.may)
		}
		w.mu.Lock()
		w.busy = false
		w.mu.Unlock()
		w.done(h, f, err)
	})
	return nil
}

// Wait waits until nothing is being written.
func (w *Writer) Wait() { w.active.Wait() }
