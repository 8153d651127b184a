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
	// Words is the number of words of an area, and Places the number of places
	// for arrays.
	Words, Places = 1 << 12, 1 << 14
	// Agreements is the number of words that all replicas share.
	Agreements = 64
	// MaxReplicas is the largest number of replicas that can share memory.
	MaxReplicas = 64
)

// The file begins with a page that identifies it, the directory of areas, and the words
// that all replicas share. The areas follow, each beginning with its words and places.
const (
	magic     = 0x3261_6e65_7261_6e69 // "inarena2"
	maxAreas  = 1 << 12
	offMagic  = 0
	offArea   = 8
	headInUse = 16
	offDir    = 4096
	offAgreed = offDir + maxAreas*8
	headSize  = pageSize
	wordsSize = pageSize // size of the words and places of an area
	pageSize  = 2 << 20  // size of the largest page that the system may use for an area
	maxArea   = 1 << 42
	leastArea = 1 << 30 // least size of an area, even on a small machine
)

var (
	_ [headSize - offAgreed - Agreements*8]struct{} // compile-time check that the words fit
	_ [wordsSize - (Words+Places)*8]struct{}
)

// Create makes the file. Each area is as large as the memory of the machine, but only
// pages that are touched use memory.
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

// layout holds the offsets in the file.
type layout struct {
	area int // number of bytes for the arrays of one area
}

func (l layout) size() int       { return l.at(maxAreas) }
func (l layout) at(area int) int { return headSize + area*(wordsSize+l.area) }

// layoutOf checks that Create has made a file, and returns its layout.
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
