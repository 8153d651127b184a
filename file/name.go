package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// target returns the path of the file that a name leads to, and the file, nil if there is
// none. A file that exists must be a regular file.
func target(name string) (string, fs.FileInfo, error) {
	if os.IsPathSeparator(name[len(name)-1]) {
		return "", nil, &os.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	}
	path, err := resolve(name)
	if err != nil {
		return "", nil, err
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil, nil
	case err != nil:
		return "", nil, err
	case info.IsDir():
		return "", nil, &os.PathError{Op: "open", Path: name, Err: syscall.EISDIR}
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("open %s: not a regular file: use package os in intra.Once", name)
	}
	return path, info, nil
}

// mostLinks bounds the symbolic links behind each other, as Linux does.
const mostLinks = 40

// resolve returns the path of the file that a name leads to through symbolic links. The file
// need not exist, so that there is one path for it before and after it is created.
func resolve(name string) (string, error) {
	path := name
	for range mostLinks {
		folder, base := filepath.Split(path)
		folder, err := realFolder(folder)
		if err != nil {
			return "", inName(name, err)
		}
		path = filepath.Join(folder, base)
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(to) {
			to = folder + string(filepath.Separator) + to // Join would drop a ".." behind a link
		}
		path = to
	}
	return "", inName(name, syscall.ELOOP)
}

// realFolder returns the absolute path of a folder, without symbolic links.
func realFolder(name string) (string, error) {
	if name == "" {
		name = "."
	}
	folder, err := filepath.EvalSymlinks(name)
	if err != nil || filepath.IsAbs(folder) {
		return folder, err
	}
	here, err := os.Getwd()
	if err == nil {
		here, err = filepath.EvalSymlinks(here)
	}
	return filepath.Join(here, folder), err
}

// inName returns an error that names the file as the program does.
func inName(name string, err error) error {
	var number syscall.Errno
	if errors.As(err, &number) {
		err = number
	}
	return &os.PathError{Op: "open", Path: name, Err: err}
}

// isFile reports whether a path leads to that file, which may be nil.
func isFile(path string, info fs.FileInfo) bool {
	if info == nil {
		return false
	}
	other, err := os.Stat(path)
	return err == nil && os.SameFile(other, info)
}
