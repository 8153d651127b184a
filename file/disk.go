package file

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// handle is the open descriptor of this process. It is empty until the process writes or
// reads the file.
type handle struct {
	file *os.File
	path string
}

// get returns the descriptor of the file at a path, which exists.
func (h *handle) get(path string, reads bool) (*os.File, error) {
	if h.file != nil && h.path == path {
		return h.file, nil
	}
	h.close()
	flag := os.O_WRONLY
	if reads {
		flag = os.O_RDWR
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err
	}
	h.file, h.path = f, path
	return f, nil
}

// output returns the descriptor of a file that is written.
func (f *File) output() (*os.File, error) {
	before := f.handle.file
	h, err := f.handle.get(f.current(), f.kind == created)
	if err == nil && h != before {
		err = f.claim()
	}
	return h, err
}

// claim locks a byte of the open file, so that other ranks that append to the file find this one.
func (f *File) claim() error {
	if f.kind != appended {
		return nil
	}
	if err := claim(f.handle.file, f.owner); err != nil {
		f.release()
		return fmt.Errorf("append to %s: %w", f.name, err)
	}
	return nil
}

func (h *handle) close() {
	if h.file != nil {
		h.file.Close() // if its data must be durable, it was synchronized before
		h.file = nil
	}
}

func (f *File) release() { f.handle.close() }

// start opens the file for writing and creates it if necessary. A created file is opened
// under its temporary name.
func (f *File) start(o *outcome) error {
	path, info, err := target(f.name)
	if err != nil {
		return err
	}
	for _, g := range f.t.open {
		if g.path == path && g.kind != opened || f.kind == appended && g.kind == appended && isFile(g.path, info) {
			return fmt.Errorf("open %s: it is open already, since %s: close that first", f.name, g.at)
		}
	}
	o.Path = path
	if _, known := f.t.ends[path]; f.kind == appended && !known && f.t.run != nil && f.t.run.MayReturn() && f.t.run.Passed() {
		return fmt.Errorf("append to %s: %w", f.name, errLate)
	}
	if info != nil { // the file that Close replaces must be writable, too
		probe, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		probe.Close()
	}
	at, flag := path, os.O_CREATE|os.O_WRONLY
	if f.kind == created {
		dir, base := filepath.Split(path)
		o.Temp = fmt.Sprintf("%s.%s.%s.%d.part", dir, base, f.t.nonce, f.t.made)
		at, flag = o.Temp, os.O_CREATE|os.O_TRUNC|os.O_RDWR
		// A rolled back execution may have linked its file to its final name, too. Truncating
		// it would destroy the published file.
		if err := remove(at); err != nil {
			return err
		}
		if f.t.again {
			if err := f.sweep(at, 0); err != nil {
				return err
			}
		}
	}
	h, err := os.OpenFile(at, flag, 0o666)
	if err != nil {
		return err
	}
	f.t.mark()
	f.handle.close()
	f.handle = handle{h, at}
	if err := f.claim(); err != nil {
		return err
	}
	if f.kind == created && info != nil {
		if err := h.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
	}
	if info, err = h.Stat(); err != nil {
		return err
	}
	o.Size = info.Size()
	if f.t.keeps() { // replicas on other hosts check that they see the token
		o.Token = filepath.Join(filepath.Dir(path), ".intra-"+f.t.nonce)
		token, err := os.OpenFile(o.Token, os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		token.Close()
		f.t.mark()
	}
	return syncFolder(path)
}

// sweep removes files that a rolled back execution has left beside a temporary file:
// versions after the given one, and incomplete copies.
func (f *File) sweep(temp string, version int) error {
	dir, base := filepath.Split(temp)
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		rest, ok := strings.CutPrefix(e.Name(), base+".")
		if !ok {
			continue
		}
		if v, err := strconv.Atoi(rest); err == nil && v <= version {
			continue // a rollback to an earlier safe point needs this version
		}
		f.t.mark()
		if err := remove(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// remove removes a file if it exists.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// publish renames a created file of that size to its final name.
func (f *File) publish(size int64, version int) error {
	from := f.temporary(version)
	if f.born < f.t.cut() {
		// The job may roll back to a safe point at which the file has its temporary name. So
		// publish keeps that name, too, and renames a second link.
		second := from + ".link"
		if err := remove(second); err != nil {
			return err
		}
		switch err := os.Link(from, second); {
		case err == nil:
			from = second
		case errors.Is(err, fs.ErrNotExist):
			return f.removed(from)
		default: // the file system has no links
			if err := f.duplicate(from, second, size); err != nil {
				return err
			}
			from = second
		}
		f.t.mark()
	}
	err := os.Rename(from, f.path)
	f.t.mark()
	if errors.Is(err, fs.ErrNotExist) {
		// A replica may have renamed the file and died before it reported this.
		err = f.removed(from)
		own := f.handle.path == f.temporary(version) // then the open file must be the renamed one
		if info, e := os.Stat(f.path); e == nil && info.Size() == size && (!own || f.isOpen(info)) {
			err = nil
		}
	}
	if from != f.temporary(version) {
		// An earlier writer may have died after its rename. If both names belong to one file,
		// rename does nothing and leaves the second link.
		err = errors.Join(err, remove(from))
	}
	if err != nil {
		return err
	}
	return syncFolder(f.path)
}

// isOpen reports whether the open descriptor is that of a file.
func (f *File) isOpen(info fs.FileInfo) bool {
	if f.handle.file == nil {
		return false
	}
	own, err := f.handle.file.Stat()
	return err == nil && os.SameFile(own, info)
}

// fsync makes the open file durable. It returns an error if its path no longer leads to it: another
// program has removed or replaced the file, so its bytes would be lost.
func (f *File) fsync() error {
	if err := f.handle.file.Sync(); err != nil {
		return err
	}
	info, err := os.Stat(f.handle.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !f.isOpen(info) {
		return f.removed(f.handle.path)
	}
	return nil
}

// removed is the error of a file that another program has removed.
func (f *File) removed(path string) error {
	return fmt.Errorf("write %s: file %s was removed or replaced by another program: leave it alone until the job has closed it", f.name, path)
}

// discard removes the temporary file after a failed write.
func (f *File) discard() error {
	if f.t.trial() || !f.leads() {
		return nil
	}
	_, err := f.once("remove it", func(*outcome) error {
		_ = os.Remove(f.temporary(f.m.Version()))
		return nil
	})
	return err
}

// detach gives the temporary file an inode of its own. It may share its inode with the
// final name: Close may have published the file after the safe point to which the job has
// rolled back.
func (f *File) detach(size int64) error {
	at := f.temporary(f.m.Version())
	info, err := os.Stat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return f.removed(at)
	}
	if err != nil {
		return err
	}
	if names(info) == 1 {
		return nil
	}
	f.handle.close()
	second := at + ".copy"
	if err := f.duplicate(at, second, size); err != nil {
		return err
	}
	f.t.mark()
	return os.Rename(second, at)
}

// duplicate copies the first size bytes of a file to another file, and makes the copy
// durable. If it fails, there is no copy.
func (f *File) duplicate(from, to string, size int64) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, out.Close()); err != nil {
			err = errors.Join(err, remove(to))
		}
	}()
	if info, err := in.Stat(); err == nil {
		if err := out.Chmod(info.Mode().Perm()); err != nil {
			return err
		}
	}
	f.t.mark()
	if _, err := io.Copy(out, io.LimitReader(in, size)); err != nil {
		return err
	}
	return out.Sync()
}

// cutOff truncates a file that is longer than size. If whole, it must not be shorter.
func (f *File) cutOff(h *os.File, size int64, whole bool) error {
	info, err := h.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() > size:
		return h.Truncate(size)
	case info.Size() < size && whole:
		return fmt.Errorf("write %s: it has %d bytes, and had %d at the safe point: another program has cut it off or replaced it", f.name, info.Size(), size)
	}
	return nil
}

// appears waits until a file that another process has created is visible here. An NFS
// client may cache that the file does not exist; reading the folder refreshes the cache.
func appears(path string) (fs.FileInfo, error) {
	for pause := time.Millisecond; ; pause *= 2 {
		info, err := os.Stat(path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) || pause > time.Second {
			return info, err
		}
		_, _ = os.ReadDir(filepath.Dir(path))
		time.Sleep(pause)
	}
}
