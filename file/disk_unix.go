//go:build unix

package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// names returns the number of links of a file.
func names(info fs.FileInfo) int {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 1
}

// syncFolder makes the name of a file durable.
func syncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) { // some file systems cannot synchronize a folder
		return err
	}
	return nil
}
