package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the number of links that are followed, as the kernel does.
const maxLinks = 40

// find follows links. If regular is set, path is a regular file to be replaced, which need
// not exist. Otherwise path is another kind of file, to be opened.
func find(name string) (path string, regular bool, err error) {
	path = name
	for range maxLinks {
		st, err := os.Lstat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			dir, _ := split(path)
			if _, err := os.Stat(dir); err != nil {
				return "", false, err
			}
			return path, true, nil
		case err != nil:
			return "", false, err
		case st.IsDir():
			return "", false, fmt.Errorf("%sit is a folder", unless(name, path))
		}
		if err := foreign(path, st); err != nil {
			return "", false, fmt.Errorf("%s%w", unless(name, path), err)
		}
		switch {
		case st.Mode()&fs.ModeSocket != 0:
			return "", false, fmt.Errorf("%sit is a socket", unless(name, path))
		case st.Mode()&fs.ModeSymlink == 0:
			return path, st.Mode().IsRegular(), nil
		}
		dir, _ := split(path)
		if dir, err = filepath.EvalSymlinks(dir); err != nil {
			return "", false, err
		}
		if strings.HasPrefix(dir, "/proc/") { // the link stands for a descriptor, as /dev/stdout does
			return path, false, nil
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", false, err
		}
		if path = to; !filepath.IsAbs(to) {
			path = dir + string(filepath.Separator) + to
		}
	}
	return "", false, errors.New("too many links lead from one to the next")
}

// unless returns path as the prefix of an error message, or "" if path is name itself. They
// differ if links lead from name to path. The caller adds name to the message.
func unless(name, path string) string {
	if path == name {
		return ""
	}
	return path + ": "
}

// foreign rejects a file of another user in a folder where all users may create files,
// such as /tmp. A link there could lead to any file of this user, and the reader of a pipe
// there is unknown.
func foreign(path string, st fs.FileInfo) error {
	at, _ := split(path)
	dir, err := os.Stat(at)
	if err != nil {
		return err
	}
	if dir.Mode()&fs.ModeSticky == 0 || dir.Mode().Perm()&0o022 == 0 {
		return nil
	}
	self := os.Geteuid()
	owner, known := ownerOf(st)
	if of, ok := ownerOf(dir); !known || owner == self || ok && owner == of {
		return nil
	}
	if st.Mode().IsRegular() && self == 0 { // root may replace the file, because it does not write to the old one
		return nil
	}
	return fmt.Errorf("it belongs to another user (%d), in a folder in which all users may make files: name another file", owner)
}
