package arena

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"
)

// Area is the area of one life of a replica: its part of the shared memory.
type Area struct {
	// Life is the owner of the area.
	Life Life

	file   *os.File
	at     int // offset in the file
	arrays int // number of bytes for arrays
	mem    unsafe.Pointer
	mapped int // number of bytes mapped at mem; the area of this replica is mapped only up to its arrays
	free   extents
}

// Life is a replica in one incarnation.
type Life struct {
	Replica     int
	Incarnation uint32
}

// pack makes an entry of the directory of areas. It is never 0.
func (l Life) pack() uint64 { return uint64(l.Incarnation)<<8 | uint64(l.Replica+1) }

// Word returns word k, initially 0. Any replica may change it.
func (r *Area) Word(k int) *atomic.Uint64 { return r.word(k, Words) }

// Mark sets word k, which no replica may read while this process lives. It is cheaper than
// a store through [Area.Word]. It needs no barrier, because other processes see all stores
// of a dead process.
func (r *Area) Mark(k int, v uint64) { *(*uint64)(unsafe.Pointer(r.Word(k))) = v }

// Place returns entry k of the table of places, which the owner of the area fills.
func (r *Area) Place(k int) *atomic.Uint64 {
	if k < 0 || k >= Places {
		panic(fmt.Sprintf("arena: place %d of %d", k, Places))
	}
	return r.word(Words+k, Words+Places)
}

func (r *Area) word(k, most int) *atomic.Uint64 {
	if k < 0 || k >= most {
		panic(fmt.Sprintf("arena: word %d of %d", k, most))
	}
	return (*atomic.Uint64)(unsafe.Add(r.mem, k*8))
}

// At returns the bytes at an offset of another replica's area.
func (r *Area) At(offset, size int) []byte {
	if offset < 0 || size < 0 || offset > r.mapped-wordsSize || size > r.mapped-wordsSize-offset {
		panic(fmt.Sprintf("arena: %d bytes at %d of an area of %d", size, offset, r.mapped-wordsSize))
	}
	return unsafe.Slice((*byte)(unsafe.Add(r.mem, wordsSize+offset)), size)
}

// Clear returns the memory of the arrays to the system. No process may use the arrays any
// more, in particular not their owner.
func (r *Area) Clear() error {
	if err := clearFile(r.file, r.at+wordsSize, r.arrays); err != nil {
		return fmt.Errorf("give the memory of replica %d back: %w", r.Life.Replica, err)
	}
	return nil
}

// Close unmaps the area of another replica.
func (r *Area) Close() { unmap(r.mem, r.mapped) }
