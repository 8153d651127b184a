package arena

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// createFile makes an anonymous file of memory.
func createFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("intra-arena", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "arena"), nil
}

// memoryOfMachine is how much memory this machine has, in bytes.
func memoryOfMachine() (int, error) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return 0, err
	}
	return int(machine.Totalram) * int(machine.Unit), nil
}

// seal fixes the size of the file: nobody who holds it can pull the memory
// away from the others.
func seal(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sealed error
	err = raw.Control(func(fd uintptr) {
		_, sealed = unix.FcntlInt(fd, unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	})
	if err != nil {
		return err
	}
	return sealed
}

// readHead reads the beginning of a file whose size is sealed, and returns the
// size.
func readHead(fd int, head []byte) (size int, err error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW; seals&want != want {
		return 0, fmt.Errorf("%w: its size is not sealed", ErrFile)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	if n, err := unix.Pread(fd, head, 0); err != nil || n != len(head) {
		return 0, fmt.Errorf("%w: %d bytes of its head read: %w", ErrFile, n, err)
	}
	return int(st.Size), nil
}

func mapShared(fd, size int) (unsafe.Pointer, error) {
	return unix.MmapPtr(fd, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_NORESERVE)
}

// giveBack leaves memory to the system. One that keeps it has less left for
// others, no more.
func giveBack(mem []byte) { _ = unix.Madvise(mem, unix.MADV_REMOVE) }
