package arena

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

// ErrFile marks a file that was not made by Create.
var ErrFile = errors.New("not the shared memory of a rank")

const (
	// Words is how many words an area has, and Places how many places of arrays.
	Words, Places = 1 << 12, 1 << 14
	// Agreements is how many words all replicas have in common.
	Agreements = 64
	// MaxReplicas of a rank share memory.
	MaxReplicas = 64
)

// The file begins with a page that says what it is, the directory of areas, and
// the words that all have in common; then come the areas, each with its words
// and places in front.
const (
	magic     = 0x3261_6e65_7261_6e69 // "inarena2"
	maxAreas  = 1 << 12
	offMagic  = 0
	offArea   = 8
	headInUse = 16
	offDir    = 4096
	offAgreed = offDir + maxAreas*8
	headSize  = pageSize
	wordsSize = pageSize // of the words and places of an area
	pageSize  = 2 << 20  // the largest page that an area is made of, where the system gives such
	maxArea   = 1 << 42
	leastArea = 1 << 30 // however small the machine is
)

var (
	_ [headSize - offAgreed - Agreements*8]struct{} // there is room
	_ [wordsSize - (Words+Places)*8]struct{}
)

// Create makes the file. Memory is used only as far as it is touched; an area
// is as large as the memory of the machine.
func Create() (*os.File, error) {
	f, err := createFile()
	if err != nil {
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	if err := initialize(f); err != nil {
		f.Close()
		return nil, fmt.Errorf("create the shared memory of a rank: %w", err)
	}
	return f, nil
}

func initialize(f *os.File) error {
	memory, err := memoryOfMachine()
	if err != nil {
		return err
	}
	l := layout{min(max(memory, leastArea)&^(pageSize-1), maxArea)}
	if err := f.Truncate(int64(l.size())); err != nil {
		return err
	}
	var head [headInUse]byte
	binary.LittleEndian.PutUint64(head[offMagic:], magic)
	binary.LittleEndian.PutUint64(head[offArea:], uint64(l.area))
	if _, err := f.WriteAt(head[:], 0); err != nil {
		return err
	}
	return seal(f)
}

// layout says where things lie in the file.
type layout struct {
	area int // bytes for the arrays of one
}

func (l layout) size() int       { return l.at(maxAreas) }
func (l layout) at(area int) int { return headSize + area*(wordsSize+l.area) }

// layoutOf checks that a file is one of Create's.
func layoutOf(f *os.File) (l layout, err error) {
	var head [headInUse]byte
	size, err := readHead(f, head[:])
	if err != nil {
		return l, err
	}
	area := binary.LittleEndian.Uint64(head[offArea:])
	l.area = int(min(area, maxArea+1))
	if binary.LittleEndian.Uint64(head[offMagic:]) != magic || l.area <= 0 || l.area > maxArea || l.area%pageSize != 0 || size != l.size() {
		return l, fmt.Errorf("%w: %d bytes with areas of %d", ErrFile, size, area)
	}
	return l, nil
}
