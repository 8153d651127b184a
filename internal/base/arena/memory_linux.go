package arena

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// createFile makes an anonymous file in memory.
func createFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("intra-arena", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "arena"), nil
}

// memoryOfMachine returns the memory of this machine, in bytes.
func memoryOfMachine() (int, error) {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return 0, err
	}
	return int(machine.Totalram) * int(machine.Unit), nil
}

// control calls f with the descriptor of a file.
func control(file *os.File, f func(fd int) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = f(int(fd)) }); err != nil {
		return err
	}
	return done
}

// seal fixes the size of the file, so that no process can truncate the memory of the
// others.
func seal(f *os.File) error {
	return control(f, func(fd int) error {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
		return err
	})
}

// readHead reads the beginning of a file whose size is sealed, and returns the
// size.
func readHead(f *os.File, head []byte) (size int, err error) {
	err = control(f, func(fd int) error {
		seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrFile, err)
		}
		if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW; seals&want != want {
			return fmt.Errorf("%w: its size is not sealed", ErrFile)
		}
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil {
			return err
		}
		if n, err := unix.Pread(fd, head, 0); err != nil || n != len(head) {
			return fmt.Errorf("%w: %d bytes of its head read: %w", ErrFile, n, err)
		}
		size = int(st.Size)
		return nil
	})
	return size, err
}

const readWrite = unix.PROT_READ | unix.PROT_WRITE

// mapShared maps size bytes of a file.
func mapShared(f *os.File, offset, size int) (mem unsafe.Pointer, err error) {
	err = control(f, func(fd int) error {
		mem, err = unix.MmapPtr(fd, int64(offset), nil, uintptr(size), readWrite, unix.MAP_SHARED|unix.MAP_NORESERVE)
		return err
	})
	return mem, err
}

func unmap(mem unsafe.Pointer, size int) { _ = unix.MunmapPtr(mem, uintptr(size)) }

// mapOver replaces the memory at mem by pages of a file.
func mapOver(f *os.File, offset int, mem unsafe.Pointer, size int) error {
	return control(f, func(fd int) error { return replace(mem, size, unix.MAP_SHARED|unix.MAP_NORESERVE, fd, offset) })
}

// prepare allocates the pages of the memory, so that the first writes need not. It uses large
// pages as far as whole ones fit into the memory. The memory must be mapped over a zeroed range of
// a file. Most systems use large pages for shared memory only on such a request.
func prepare(mem unsafe.Pointer, size int) error {
	head := min(int(-uintptr(mem)%pageSize), size)
	whole := (size - head) &^ (pageSize - 1)
	all := unsafe.Slice((*byte)(mem), size)
	large, err := all[head:head+whole], error(nil)
	for at := 0; at < whole; at += pageSize {
		large[at] = 0 // touch the page, because the system skips untouched pages
	}
	if whole > 0 {
		err = unix.Madvise(large, unix.MADV_COLLAPSE)
	}
	for _, small := range [][]byte{all[:head], all[head+whole:]} {
		if len(small) > 0 {
			err = errors.Join(err, unix.Madvise(small, unix.MADV_POPULATE_WRITE))
		}
	}
	return err
}

// mapBack replaces shared pages by private zeroed memory.
func mapBack(mem unsafe.Pointer, size int) error {
	return replace(mem, size, unix.MAP_PRIVATE|unix.MAP_ANON, -1, 0)
}

// replace maps other pages at mem. It does not use unix.MmapPtr, because that function
// converts the result to a pointer, which is not allowed for memory of the Go heap.
func replace(mem unsafe.Pointer, size, flags, fd, offset int) error {
	_, _, err := unix.Syscall6(unix.SYS_MMAP, uintptr(mem), uintptr(size), readWrite, uintptr(flags|unix.MAP_FIXED), uintptr(fd), uintptr(offset))
	if err != 0 {
		return err
	}
	return nil
}

// clearFile returns pages of a file to the system. Afterwards they read as zeros.
func clearFile(f *os.File, offset, size int) error {
	return control(f, func(fd int) error {
		return unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(offset), int64(size))
	})
}
