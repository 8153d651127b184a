package checkpoint

import (
	"context"
	"errors"
	"sync"
)

// ErrBusy means that the previous state is still being written.
var ErrBusy = errors.New("the checkpoint before is still being written")

// Writer writes the states of one process to files while the program runs. The program
// waits only while its memory is copied.
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
	lock    *Lock // lock on the folder, held until the process ends; nil before the first Hold
}

// NewWriter returns a writer into dir. The job with the ID owner must have taken dir; if
// owner is "", dir must not be used by any other job. When a file is on disk and lacks
// only its name, the writer calls may, if it is not nil. It abandons the file if may
// returns an error. When a file is written or has failed, the writer calls done. Both
// functions run on a goroutine of the writer. When ctx is cancelled, the writer abandons
// the file being written.
func NewWriter(ctx context.Context, dir, owner string, may func(context.Context) error, done func(Header, File, error)) *Writer {
	return &Writer{ctx: ctx, dir: dir, owner: owner, may: may, done: done}
}

// Hold ensures that the folder belongs to the job as long as this process lives,
// and that files can be created there. The writer calls it before its first file.
func (w *Writer) Hold() (err error) {
	w.holding.Lock()
	defer w.holding.Unlock()
	if w.owner != "" && w.lock == nil {
		w.lock, err = Share(w.dir, w.owner)
	}
	return err
}

// Start copies the state, and returns while the file is being written. The writer owns
// position from then on.
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

// Wait waits until no file is being written.
func (w *Writer) Wait() { w.active.Wait() }
