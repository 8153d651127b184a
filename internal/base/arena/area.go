package arena

import (
	"fmt"
	"os"
	"sync/atomic"
	"unsafe"
)

// Area is the area of one life of a replica.
type Area struct {
	// Life is the owner.
	Life Life

	file   *os.File
	at     int // offset in the file
	arrays int // bytes for arrays
	mem    unsafe.Pointer
	mapped int // bytes at mem; the own area is mapped only up to its arrays
	free   extents
}

// Life is a replica in one incarnation.
type Life struct {
	Replica     int
	Incarnation uint32
}

// pack makes an entry of the directory, which is not 0.
func (l Life) pack() uint64 { return uint64(l.Incarnation)<<8 | uint64(l.Replica+1) }

// Word returns word k, 0 at first. Any replica may change it.
func (r *Area) Word(k int) *atomic.Uint64 { return r.word(k, Words) }

// Mark sets word k, which no replica may read before this process is dead. It is
// cheaper than a store through [Area.Word]: other processes see the stores of a dead
// process in order in any case.
func (r *Area) Mark(k int, v uint64) { *(*uint64)(unsafe.Pointer(r.Word(k))) = v }

// Place returns the entry of place k, which the owner of the area sets.
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

// Clear returns the memory of the arrays to the system. No process may use them
// any more, their owner in particular.
func (r *Area) Clear() error {
	if err := clearFile(r.file, r.at+wordsSize, r.arrays); err != nil {
		return fmt.Errorf("give the memory of replica %d back: %w", r.Life.Replica, err)
	}
	return nil
}

// Close unmaps the area of another replica.
func (r *Area) Close() { unmap(r.mem, r.mapped) }
