package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A folder belongs to one job at a time, because two jobs would remove each other's sets.
// The file named lock in the folder contains the name of the job. Every process of the job
// that writes to the folder holds a shared lock on that file; the head holds one from the
// beginning. The kernel releases the lock of a process that dies. So the folder is free
// once all processes of the job are dead, and is held while any of them lives. On a file
// system that several hosts share, such as NFS version 4, the server keeps the locks of
// all hosts. It releases the locks of a lost host after its own lease has ended, with NFS
// after 90 seconds.
//
// On a file system without locks a file owner is created instead. It contains the name of
// the job, and remains if the job is killed. Only on the host of the job can a process
// find out whether the job lives. On other hosts the user has to decide, by removing the
// file.
const (
	lockName  = "lock"
	ownerName = "owner"
)

var (
	// ErrHeld means that another job holds the folder.
	ErrHeld = errors.New("two jobs with one folder would remove each other's checkpoints")
	// ErrElsewhere means that this process sees another folder than the one that the head holds.
	ErrElsewhere = errors.New("it is not the folder that intrarun has")

	errHeld    = errors.New("another process holds the lock")
	errNoLocks = errors.New("the file system has no locks")
)

// Lock is the hold of one process on the folder of its job.
type Lock struct {
	dir  string
	f    *os.File // nil on a file system without locks
	head bool
}

// handover is how long Take waits for the processes of a job whose intrarun is dead. These
// processes are being killed.
const handover = 5 * time.Second

// locker locks a file, exclusively if alone is set, otherwise shared. It returns errHeld
// or errNoLocks if it cannot.
type locker func(f *os.File, alone bool) error

// Take takes the folder for a job, and creates it if it does not exist. The head calls it.
// Take fails with ErrHeld if another job holds the folder, and also if files cannot be
// created there.
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
		case other == nil && time.Now().Before(deadline): // another job is taking or releasing it
		case other != nil && other.ID == o.ID: // an earlier head of this job has taken it
			return share(dir, o.ID, lock)
		case other != nil && other.gone() && time.Now().Before(deadline):
		default:
			return nil, held(other)
		}
	}
}

// held returns an error that names the holder of the folder.
func held(o *Owner) error {
	switch {
	case o == nil:
		return fmt.Errorf("another job, which has not said its name, writes there: %w; choose another one", ErrHeld)
	case o.gone():
		return fmt.Errorf("%v writes there, although its intrarun is gone: %w; choose another one, or wait until its processes have ended on all hosts", o, ErrHeld)
	}
	return fmt.Errorf("%v writes there: %w; choose another one, or wait for its end", o, ErrHeld)
}

// tryTake takes the folder unless another job holds it. In that case it returns the owner,
// or nil if the owner has not been written yet.
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
	case err == nil && !l.current(): // the lock file was released and removed meanwhile
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
		_ = os.Remove(f.Name()) // remove the file while holding the lock
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
		return nil, nil, os.Remove(path) // the owner is dead; the caller tries again
	case !other.known() || other.gone():
		return nil, nil, fmt.Errorf("%v has not given the folder back: %w; the file system has no locks that would show whether it lives: if it does not, remove %s", other, ErrHeld, path)
	}
	return nil, other, nil
}

// Share makes this process hold the folder that the head of its job has taken.
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
	case errors.Is(err, errHeld): // another job is taking the folder
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

// Renew ensures, before a set is completed, that the folder still belongs to the job. The
// user may have emptied the folder.
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

// Release releases the folder. The head removes the lock file if no other process
// holds it.
func (l *Lock) Release() {
	if l == nil {
		return
	}
	switch {
	case !l.head:
	case l.f == nil:
		_ = os.Remove(filepath.Join(l.dir, ownerName)) // if this fails, the file still names the former owner
		_ = os.Remove(filepath.Join(l.dir, lockName))
	case l.current() && lockFile(l.f, true) == nil:
		_ = os.Remove(l.f.Name())
	}
	l.drop()
}

// Leave ends the hold of this process. The folder still belongs to the job, whose other
// processes and next head use it.
func (l *Lock) Leave() {
	if l != nil {
		l.drop()
	}
}

// drop releases this process's lock.
func (l *Lock) drop() {
	if l.f != nil {
		l.f.Close()
		l.f = nil
	}
}

// current reports whether the locked file still exists under its name.
func (l *Lock) current() bool {
	mine, err := l.f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(l.f.Name())
	return err == nil && os.SameFile(mine, now)
}

// openLock opens the lock file, and creates it if it does not exist.
func openLock(dir string) (*os.File, error) {
	return openRegular(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o666)
}

// writable creates the folder, and checks that files can be created there.
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
