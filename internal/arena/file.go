package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
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
	f, err := createFile()
	if err != nil {
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	if err := initialize(f, replicas); err != nil {
		f.Close()
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	return f, nil
}

func initialize(f *os.File, replicas int) error {
	memory, err := memoryOfMachine()
	if err != nil {
		return err
	}
	l := layout{replicas, min(max(memory, leastAreas)&^(pageSize-1), maxArea)}
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
	return seal(f)
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
	var head [headInUse]byte
	size, err := readHead(fd, head[:])
	if err != nil {
		return l, err
	}
	count, area := binary.LittleEndian.Uint64(head[offCount:]), binary.LittleEndian.Uint64(head[offArea:])
	l = layout{int(min(count, MaxReplicas+1)), int(min(area, maxArea+1))}
	if binary.LittleEndian.Uint64(head[offMagic:]) != magic || !l.valid(size) {
		return l, fmt.Errorf("%w: %d bytes for %d replicas with areas of %d", ErrFile, size, count, area)
	}
	return l, nil
}
