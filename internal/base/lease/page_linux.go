package lease

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// createPage makes the file for a word, and its only writable mapping.
func createPage() (*os.File, []byte, error) {
	fd, err := unix.MemfdCreate("intra-lease", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("create the file of the lease: %w", err)
	}
	f := os.NewFile(uintptr(fd), "intra-lease")
	if err := f.Truncate(size); err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("size the file of the lease: %w", err)
	}
	page, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("map the lease: %w", err)
	}
	const seals = unix.F_SEAL_FUTURE_WRITE | unix.F_SEAL_GROW | unix.F_SEAL_SHRINK | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		unix.Munmap(page)
		f.Close()
		return nil, nil, fmt.Errorf("seal the lease: %w", err)
	}
	return f, page, nil
}

// mapPage maps the file of a word for reading.
func mapPage(f *os.File) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
}

func unmap(page []byte) error { return unix.Munmap(page) }
