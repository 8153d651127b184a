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

// File is a file to be written.
type File struct {
	name string
	// open is the opened target if it is not a regular file. It is nil for a regular file,
	// and for a pipe that no process reads yet. It stays open until the contents are
	// written, because the reader of a pipe takes the last close for the end.
	open *os.File
}

// Open checks that a file can be written. The file does not change before Write.
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

// Close abandons a file that was not written. It does nothing on nil.
func (f *File) Close() {
	if f != nil && f.open != nil {
		f.open.Close()
		f.open = nil
	}
}

// Write calls write to produce the contents. write gets an empty file, in which it may
// seek. Write is called at most once.
func (f *File) Write(write func(*os.File) error) error {
	path, regular, err := f.find()
	if err != nil {
		return err
	}
	if regular {
		return replace(path, write)
	}
	defer f.Close()
	// write may rewrite the file from its beginning. The reader of a pipe would see the
	// first attempt, so use a temporary file.
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

// WriteBytes writes b as the contents. It is called at most once.
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
	return find(f.name) // the type of the file may have changed since Open
}

// patience bounds how long the reader of a pipe may take to read a chunk.
const patience = 10 * time.Second

// copy writes the contents to a file that is not regular.
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

// open opens a file that is not regular, and does not wait for the other end of a pipe. A
// regular file that is reached only through a descriptor keeps its contents, because open
// appends.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_APPEND|syscall.O_NONBLOCK, 0)
}

// replace writes a regular file in the folder of path, and renames it to path.
func replace(path string, write func(*os.File) error) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	err = write(f)
	if st, e := os.Lstat(path); err == nil && e == nil && st.Mode().IsRegular() { // the new file gets the permissions of the old one
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

// create creates an empty file in the folder of path.
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
