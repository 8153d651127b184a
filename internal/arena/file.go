package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ErrFile marks a file that was not made by Create.
var ErrFile = errors.New("not the shared memory of a rank")

// Words is how many words each replica has.
const Words = 1 << 11

// MaxReplicas of a rank fit into an arena.
const MaxReplicas = 64

// The file begins with a page that says what it is; then come the words of
// each replica, then their areas.
const (
	magic      = 0x3161_6e65_7261_6e69 // "inarena1"
	headSize   = 4096
	wordsSize  = Words * 8
	pageSize   = 2 << 20 // the largest page that an area is made of, where the system gives such
	offMagic   = 0
	offCount   = 8
	offArea    = 16
	headInUse  = 24
	maxArea    = 1 << 42
	leastAreas = 1 << 30 // of one replica, however small the machine is
)

// Create makes the file for so many replicas. Memory is used only as far as it
// is touched; an area is as large as the memory of the machine.
func Create(replicas int) (*os.File, error) {
	if replicas < 1 || replicas > MaxReplicas {
		return nil, fmt.Errorf("create the shared memory of a rank: %d replicas, want 1 to %d", replicas, MaxReplicas)
	}
	fd, err := unix.MemfdCreate("intra-arena", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	f := os.NewFile(uintptr(fd), "arena")
	if err := initialize(f, fd, replicas); err != nil {
		f.Close()
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	return f, nil
}

func initialize(f *os.File, fd, replicas int) error {
	var machine unix.Sysinfo_t
	if err := unix.Sysinfo(&machine); err != nil {
		return err
	}
	l := layout{replicas, min(max(int(machine.Totalram)*int(machine.Unit), leastAreas)&^(pageSize-1), maxArea)}
	if err := f.Truncate(int64(l.size())); err != nil {
		return err
	}
	var head [headInUse]byte
	binary.LittleEndian.PutUint64(head[offMagic:], magic)
	binary.LittleEndian.PutUint64(head[offCount:], uint64(l.replicas))
	binary.LittleEndian.PutUint64(head[offArea:], uint64(l.area))
	if _, err := f.WriteAt(head[:], 0); err != nil {
		return err
	}
	// Nobody who holds the file can pull the memory away from the others.
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return err
}

// layout says where things lie in the file.
type layout struct {
	replicas int
	area     int // bytes of one
}

func (l layout) areas() int {
	return (headSize + l.replicas*wordsSize + pageSize - 1) &^ (pageSize - 1)
}
func (l layout) size() int         { return l.areas() + l.replicas*l.area }
func (l layout) areaOf(i int) int  { return l.areas() + i*l.area }
func (l layout) word(i, k int) int { return headSize + i*wordsSize + k*8 }
func (l layout) valid(size int) bool {
	return l.replicas >= 1 && l.replicas <= MaxReplicas && l.area > 0 && l.area <= maxArea && l.area%pageSize == 0 && size == l.size()
}

// layoutOf checks that a file is one of Create's.
func layoutOf(fd int) (l layout, err error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return l, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW; seals&want != want {
		return l, fmt.Errorf("%w: its size is not sealed", ErrFile)
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return l, err
	}
	var head [headInUse]byte
	if n, err := unix.Pread(fd, head[:], 0); err != nil || n != len(head) {
		return l, fmt.Errorf("%w: %d bytes of its head read: %w", ErrFile, n, err)
	}
	count, area := binary.LittleEndian.Uint64(head[offCount:]), binary.LittleEndian.Uint64(head[offArea:])
	l = layout{int(min(count, MaxReplicas+1)), int(min(area, maxArea+1))}
	if binary.LittleEndian.Uint64(head[offMagic:]) != magic || !l.valid(int(st.Size)) {
		return l, fmt.Errorf("%w: %d bytes for %d replicas with areas of %d", ErrFile, st.Size, count, area)
	}
	return l, nil
}
