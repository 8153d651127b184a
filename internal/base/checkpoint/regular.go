package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// ErrIrregular: a folder of checkpoints holds something under the name of a file or a
// set that is neither: a link, a pipe or a device, say. It is never followed, read or
// written, since whoever made it decides where that leads.
var ErrIrregular = errors.New("it is not what a checkpoint is made of")

// openRegular opens a file that is one, not a link to one, and never waits for the other
// end of a pipe.
func openRegular(path string, flag int, perm fs.FileMode) (*os.File, error) {
	if st, err := os.Lstat(path); err == nil {
		if err := regular(path, st); err != nil { // a device may act when it is opened
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flag|openFlags, perm)
	if err != nil {
		if st, e := os.Lstat(path); e == nil && !st.Mode().IsRegular() { // put there meanwhile
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

// regular returns an error if what has that name is no file.
func regular(path string, st fs.FileInfo) error {
	if !st.Mode().IsRegular() {
		return fmt.Errorf("%s is %s: %w; remove it", path, kind(st.Mode()), ErrIrregular)
	}
	return nil
}

// realFolder returns an error if what has that name is no folder, as it is. That nothing
// has it is one too.
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

// kind says for people what something is.
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
