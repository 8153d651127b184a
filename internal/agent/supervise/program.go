package supervise

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// program is the executable from which processes are started, even after the file was rebuilt
// or removed. Live processes would refuse a replacement of another build. So a copy is kept in
// memory. It is made at the start, when this host has the same file as all others. An open
// file would not be enough: its content may be changed, or it may disappear from the server of
// a network file system.
//
// A script is not copied, since the programs that it starts may change anyway.
type program struct {
	path string
	was  os.FileInfo // state of the file when it was copied; nil: there is no copy

	done chan struct{} // closed when the copy is complete or has failed
	copy *os.File
	err  error
}

// keep starts to copy an executable in the background.
func keep(path string) *program {
	p := &program{path: path}
	f, err := os.Open(path)
	if err != nil {
		return p // if the file does not exist, no process starts either; if it cannot be read, it is started without a copy
	}
	var magic [4]byte
	if _, err := f.ReadAt(magic[:], 0); err != nil || !bytes.Equal(magic[:], []byte("\x7fELF")) {
		f.Close()
		return p
	}
	if p.was, err = f.Stat(); err != nil {
		f.Close()
		return p
	}
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		defer f.Close()
		p.copy, p.err = p.inMemory(f)
	}()
	return p
}

// inMemory returns a sealed executable copy of f.
func (p *program) inMemory(f *os.File) (_ *os.File, err error) {
	const flags = unix.MFD_CLOEXEC | unix.MFD_ALLOW_SEALING
	fd, err := unix.MemfdCreate(p.was.Name(), flags|unix.MFD_EXEC)
	if errors.Is(err, unix.EINVAL) { // before Linux 6.3
		fd, err = unix.MemfdCreate(p.was.Name(), flags)
	}
	if err != nil {
		return nil, fmt.Errorf("make memory for it: %w", err)
	}
	m := os.NewFile(uintptr(fd), p.was.Name())
	defer func() {
		if err != nil {
			m.Close()
		}
	}()
	if _, err := io.Copy(m, f); err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil {
		return nil, err
	} else if !unchanged(p.was, now) {
		// A build that finds the program up to date only sets its time. (A complete file with
		// another content is another build, which the live processes refuse.)
		if same, err := alike(m, f); err != nil || !same || p.was.Size() != now.Size() {
			return nil, errors.Join(err, errors.New("it was changed meanwhile"))
		}
	}
	if _, err := unix.FcntlInt(m.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return nil, fmt.Errorf("seal it: %w", err)
	}
	return m, nil
}

// alike reports whether two files have the same content.
func alike(a, b *os.File) (bool, error) {
	var sums [2][sha256.Size]byte
	for i, f := range []*os.File{a, b} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false, err
		}
		h := sha256.New()
		if _, err := io.Copy(h, f); err != nil {
			return false, err
		}
		h.Sum(sums[i][:0])
	}
	return sums[0] == sums[1], nil
}

// unchanged reports whether a file is still the same.
func unchanged(was, now os.FileInfo) bool {
	return os.SameFile(was, now) && was.Size() == now.Size() && was.ModTime().Equal(now.ModTime())
}

// file returns the path from which to start a process. That is the file itself while it is
// unchanged, since tools know a process by the name of its file. Otherwise it is the copy.
func (p *program) file() (path string, err error) {
	if p.was == nil {
		return p.path, nil
	}
	if now, err := os.Stat(p.path); err == nil && unchanged(p.was, now) {
		return p.path, nil
	}
	<-p.done
	if p.err != nil {
		return "", fmt.Errorf("%s is not the program any more that the job began with, and that could not be copied: %w", p.path, p.err)
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.copy.Fd()), nil
}

// close releases the copy.
func (p *program) close() {
	if p.done == nil {
		return
	}
	<-p.done
	if p.copy != nil {
		p.copy.Close()
	}
}
