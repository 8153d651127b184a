package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrIrregular means that the name of a file or a set of checkpoints belongs to something
// else, such as a link, a pipe or a device. Such an entry is never followed, read or
// written, because its creator decides where it leads.
var ErrIrregular = errors.New("it is not what a checkpoint is made of")

// openRegular opens a regular file. It does not follow a link, and never waits for the
// other end of a pipe.
func openRegular(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil {
		if err := regular(path, st); err != nil { // check before, because opening a device may have effects
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|openFlags, perm)
	if err != nil {
		if st, e := os.Lstat(path); e == nil && !st.Mode().IsRegular() { // the file was created meanwhile
			err = regular(path, st)
		}
		return nil, err
	}
	st, err := f.Stat()
	if err == nil {
		err = regular(path, st)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// regular returns an error if st is not that of a regular file.
func regular(path string, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is %s: %w; remove it", path, kind(st.Mode()), ErrIrregular)
	}
	return nil
}

// realFolder returns an error if path is not a folder, or a link to one. It also
// fails if path does not exist.
func realFolder(path string) error {
	st, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is %s: %w; remove it", path, kind(st.Mode()), ErrIrregular)
	}
	return nil
}

// kind describes the type of a file.
func kind(m fs.FileMode) string {
	switch m.Type() {
	case fs.ModeSymlink:
		return "a symbolic link"
	case fs.ModeNamedPipe:
		return "a named pipe"
	case fs.ModeSocket:
		return "a socket"
	case fs.ModeDir:
		return "a folder"
	case 0:
		return "a file"
	}
	return "a device"
}
