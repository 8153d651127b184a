package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A folder belongs to one job at a time: jobs would remove each other's sets. The job is
// named in the file lock of the folder. Every process of the job that writes there holds a
// shared lock on that file, the head from the beginning. The kernel takes a lock back when
// its process dies, so the folder of a dead job is free, and that of a living one is not,
// whichever of its processes has died. On a file system that several hosts share, NFS of
// version 4 for one, its server keeps the locks of all hosts; those of a host that is lost
// are free after the server's own lease, for NFS 90 seconds.
//
// Where a file system has no locks, a file owner is created in their place, which names the
// job and stays if the job is killed. Whether that job lives can be known on its own host
// only; elsewhere the user has to say so, by removing the file.
const (
	lockName  = "lock"
	ownerName = "owner"
)

var (
	// ErrHeld: another job has the folder.
	ErrHeld = errors.New("two jobs with one folder would remove each other's checkpoints")
	// ErrElsewhere: the folder is not the one that the head has.
	ErrElsewhere = errors.New("it is not the folder that intrarun has")

	errHeld    = errors.New("another process holds the lock")
	errNoLocks = errors.New("the file system has no locks")
)

// Lock is what a process holds on the folder of its job.
type Lock struct {
	dir  string
	f    *os.File // nil where there are no locks
	head bool
}

// handover is how long Take waits for the processes of a job whose intrarun is dead: they
// are being killed.
const handover = 5 * time.Second

// locker locks a file, for this process alone or shared; or returns errHeld or errNoLocks.
type locker func(f *os.File, alone bool) error

// Take makes the folder, which is created if it is not there, that of a job. It is the call
// of the head. It fails with ErrHeld if another job has the folder, and if nothing can be
// written there.
func Take(dir string, o Owner) (*Lock, error) { return take(dir, o, lockFile, handover) }

func take(dir string, o Owner, lock locker, patience time.Duration) (*Lock, error) {
	if err := writable(dir); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		l, other, err := tryTake(dir, o, lock)
		switch {
		case l != nil || err != nil:
			return l, err
		case other == nil && time.Now().Before(deadline): // it is being taken, or given back
		case other != nil && other.ID == o.ID: // by the head before this one
			return share(dir, o.ID, lock)
		case other != nil && other.gone() && time.Now().Before(deadline):
		default:
			return nil, held(other)
		}
	}
}

// held says whose folder it is.
func held(o *Owner) error {
	switch {
	case o == nil:
		return fmt.Errorf("another job, which has not said its name, writes there: %w; choose another one", ErrHeld)
	case o.gone():
		return fmt.Errorf("%v writes there, although its intrarun is gone: %w; choose another one, or wait until its processes have ended on all hosts", o, ErrHeld)
	}
	return fmt.Errorf("%v writes there: %w; choose another one, or wait for its end", o, ErrHeld)
}

// tryTake takes the folder unless another job has it, which it returns: nil if it does not
// say its name yet.
func tryTake(dir string, o Owner, lock locker) (*Lock, *Owner, error) {
	f, err := openLock(dir)
	if err != nil {
		return nil, nil, err
	}
	l := &Lock{dir: dir, f: f, head: true}
	switch err = lock(f, true); {
	case errors.Is(err, errHeld):
		defer f.Close()
		other, err := readOwner(f)
		return nil, other, err
	case errors.Is(err, errNoLocks):
		f.Close()
		return takeByName(dir, o)
	case err == nil && !l.current(): // it was given back meanwhile, and removed
		f.Close()
		return nil, nil, nil
	}
	if err == nil {
		err = o.write(f)
	}
	if err == nil {
		err = lock(f, false)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // while it is locked
		f.Close()
		return nil, nil, err
	}
	return l, nil, nil
}

// takeByName takes a folder on a file system without locks.
func takeByName(dir string, o Owner) (*Lock, *Owner, error) {
	path := filepath.Join(dir, ownerName)
	f, err := openRegular(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		defer f.Close()
		if err := o.write(f); err != nil {
			_ = os.Remove(path)
			return nil, nil, err
		}
		return &Lock{dir: dir, head: true}, nil, nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return nil, nil, err
	}
	if f, err = openRegular(path, os.O_RDONLY, 0); err != nil {
		return nil, nil, err
	}
	defer f.Close()
	other, err := readOwner(f)
	switch {
	case err != nil || other == nil || other.ID == o.ID:
		return nil, other, err
	case other.gone() && other.Alone:
		return nil, nil, os.Remove(path) // and try again
	case !other.known() || other.gone():
		return nil, nil, fmt.Errorf("%v has not given the folder back: %w; the file system has no locks that would show whether it lives: if it does not, remove %s", other, ErrHeld, path)
	}
	return nil, other, nil
}

// Share has a process hold the folder that the head of its job has taken.
func Share(dir, id string) (*Lock, error) { return share(dir, id, lockFile) }

func share(dir, id string, lock locker) (*Lock, error) {
	if err := writable(dir); err != nil {
		return nil, err
	}
	f, err := openLock(dir)
	if err != nil {
		return nil, err
	}
	l := &Lock{dir: dir, f: f}
	switch err = lock(f, false); {
	case errors.Is(err, errNoLocks):
		f.Close()
		l.f = nil
		if f, err = openRegular(filepath.Join(dir, ownerName), os.O_RDONLY, 0); errors.Is(err, fs.ErrNotExist) {
			return nil, elsewhere(dir)
		}
		if err != nil {
			return nil, err
		}
		defer f.Close()
	case errors.Is(err, errHeld): // another job is taking it
	case err != nil:
		f.Close()
		return nil, err
	}
	o, err := readOwner(f)
	switch {
	case err != nil:
	case o == nil:
		err = elsewhere(dir)
	case o.ID != id:
		err = held(o)
	default:
		return l, nil
	}
	l.drop()
	return nil, err
}

func elsewhere(dir string) error {
	return fmt.Errorf("%w: is %s on a file system that all hosts share?", ErrElsewhere, dir)
}

// Renew makes sure, before a set is made complete, that the folder is still the job's: the
// user may have emptied it.
func (l *Lock) Renew(o Owner) error {
	if l.f == nil || l.current() {
		return nil
	}
	n, err := Take(l.dir, o)
	if err != nil {
		return err
	}
	l.drop()
	*l = *n
	return nil
}

// Release gives the folder back. The head removes the file if it is the last one.
func (l *Lock) Release() {
	if l == nil {
		return
	}
	switch {
	case !l.head:
	case l.f == nil:
		_ = os.Remove(filepath.Join(l.dir, ownerName)) // else its contents say whose it was
		_ = os.Remove(filepath.Join(l.dir, lockName))
	case l.current() && lockFile(l.f, true) == nil:
		_ = os.Remove(l.f.Name())
	}
	l.drop()
}

// drop gives up what the process holds.
func (l *Lock) drop() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// current reports whether the locked file still has its name.
func (l *Lock) current() bool {
	mine, err := l.f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.f.Name())
	return err == nil && os.SameFile(mine, now)
}

// openLock opens the file to lock, and creates it if it is not there.
func openLock(dir string) (*os.File, error) {
	return openRegular(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
}

// writable makes the folder, and finds out whether files can be made there.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".try-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}
