package wholefile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// File is a file that will be written.
type File struct {
	name string
	// open is what is no regular file, nil if it is one or if nothing reads the pipe yet.
	// It stays open until it is written: the reader of a pipe takes its end for the end.
	open *os.File
}

// Open finds out whether a file can be written, and leaves it as it is until it is.
func Open(name string) (*File, error) {
	path, regular, err := find(name)
	if err != nil {
		return nil, err
	}
	f := &File{name: name}
	if regular {
		probe, err := create(path)
		if err != nil {
			return nil, err
		}
		probe.Close()
		return f, os.Remove(probe.Name())
	}
	if f.open, err = open(path); err != nil && !errors.Is(err, syscall.ENXIO) {
		return nil, err
	}
	return f, nil
}

// Close gives up a file that is not written. Of nil it does nothing.
func (f *File) Close() {
	if f != nil && f.open != nil {
		f.open.Close()
		f.open = nil
	}
}

// Write has the contents written by a function, which gets an empty file and may go back
// in it. It is called once.
func (f *File) Write(write func(*os.File) error) error {
	path, regular, err := f.find()
	if err != nil {
		return err
	}
	if regular {
		return replace(path, write)
	}
	defer f.Close()
	// The contents may need a second attempt, which a pipe would see.
	scratch, err := os.CreateTemp("", "intra-*")
	if err != nil {
		return err
	}
	defer scratch.Close()
	if err := os.Remove(scratch.Name()); err != nil {
		return err
	}
	if err := write(scratch); err != nil {
		return err
	}
	if _, err := scratch.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return f.copy(path, scratch)
}

// WriteBytes writes these contents. It is called once.
func (f *File) WriteBytes(b []byte) error {
	path, regular, err := f.find()
	if err != nil {
		return err
	}
	if regular {
		return replace(path, func(to *os.File) error {
			_, err := to.Write(b)
			return err
		})
	}
	defer f.Close()
	return f.copy(path, bytes.NewReader(b))
}

func (f *File) find() (path string, regular bool, err error) {
	if f.open != nil {
		return f.name, false, nil
	}
	return find(f.name) // what is there now
}

// patience bounds how long the reader of a pipe may take for a chunk.
const patience = 10 * time.Second

// copy writes to what is no regular file.
func (f *File) copy(path string, from io.Reader) (err error) {
	if f.open == nil {
		if f.open, err = open(path); errors.Is(err, syscall.ENXIO) {
			return fmt.Errorf("write %s: no process reads it: start its reader before the job", f.name)
		} else if err != nil {
			return err
		}
	}
	chunk := make([]byte, 64<<10)
	for {
		n, end := from.Read(chunk)
		if err := f.open.SetWriteDeadline(time.Now().Add(patience)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
			return err
		}
		if _, err := f.open.Write(chunk[:n]); err != nil {
			return err
		}
		switch {
		case end == io.EOF:
			return nil
		case end != nil:
			return end
		}
	}
}

// open opens what is no regular file, and does not wait for the other end of a pipe. A
// regular file that only a descriptor leads to keeps what is in it.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
}

// replace has a regular file written beside its place, and moves it there.
func replace(path string, write func(*os.File) error) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	err = write(f)
	if st, e := os.Lstat(path); err == nil && e == nil && st.Mode().IsRegular() { // it keeps its permissions
		err = f.Chmod(st.Mode().Perm())
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("%w: the contents stay in %s", err, f.Name())
	}
	return nil
}

// create makes an empty file beside a path.
func create(path string) (*os.File, error) {
	dir, base := split(path)
	name := filepath.Join(dir, "."+base[:min(len(base), 200)]+"."+rand.Text()[:8])
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("make a file in %s: %w", dir, p.Err)
	}
	return f, err
}

func split(path string) (dir, base string) {
	if dir, base = filepath.Split(path); dir == "" {
		dir = "."
	}
	return dir, base
}
