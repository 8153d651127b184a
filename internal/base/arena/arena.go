package arena

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Arena is the shared memory of a rank as mapped by one replica. It is safe for concurrent
// use. It stays mapped until the process ends.
type Arena struct {
	layout
	file *os.File
	head unsafe.Pointer

	arrays atomic.Pointer[[]array] // in the order of addresses; the slice is replaced, never changed

	smallMu sync.Mutex // locked before mu
	small   []byte     // unused rest of the current chunk of small arrays

	mu   sync.Mutex // guards the fields below; held when arrays is replaced
	life Life
	own  *Area   // nil: nothing was allocated in this life
	none bool    // no area is left for this life
	kept []*byte // references to arrays that could not be unmapped, so that Go never reuses their memory
}

// array is memory of the Go heap over which pages of an area are mapped.
type array struct {
	start  uintptr
	size   int // in bytes; a multiple of the page size
	area   *Area
	offset int
}

// Open maps the memory in f for this life of a replica. The arena owns f from
// then on.
func Open(f *os.File, life Life) (*Arena, error) {
	a := &Arena{file: f, life: life}
	var err error
	if a.layout, err = layoutOf(f); err == nil {
		if life.Replica < 0 || life.Replica >= MaxReplicas {
			err = fmt.Errorf("%w: there is no place for replica %d, only for %d", errors.ErrUnsupported, life.Replica, MaxReplicas)
		} else {
			a.head, err = mapShared(f, 0, headSize)
		}
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("map the memory that the replicas of a rank share: %w", err)
	}
	a.arrays.Store(new([]array))
	return a, nil
}

// Begin begins another life of this replica. Arrays of the previous life stay as
// they are.
func (a *Arena) Begin(incarnation uint32) {
	a.smallMu.Lock()
	defer a.smallMu.Unlock()
	a.small = nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.life.Incarnation, a.own, a.none = incarnation, nil, false
}

// Agreed returns word k of the words that all replicas share, initially 0.
func (a *Arena) Agreed(k int) *atomic.Uint64 { return a.common(offAgreed, k, Agreements) }

func (a *Arena) entry(k int) *atomic.Uint64 { return a.common(offDir, k, maxAreas) }

func (a *Arena) common(at, k, most int) *atomic.Uint64 {
	if k < 0 || k >= most {
		panic(fmt.Sprintf("arena: word %d of %d that all have in common", k, most))
	}
	return (*atomic.Uint64)(unsafe.Add(a.head, at+k*8))
}

// Own returns the area of this life, nil if nothing was allocated in it.
func (a *Arena) Own() *Area {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.own
}

// Find maps the area of another life. It returns nil if that life has no area yet, or the
// area cannot be mapped.
func (a *Arena) Find(l Life) *Area {
	for k := range maxAreas {
		switch a.entry(k).Load() {
		case 0: // entries are used in order
			return nil
		case l.pack():
			r, err := a.open(k, l, wordsSize+a.area)
			if err != nil {
				return nil
			}
			return r
		}
	}
	return nil
}

func (a *Arena) open(k int, l Life, size int) (*Area, error) {
	mem, err := mapShared(a.file, a.at(k), size)
	if err != nil {
		return nil, err
	}
	return &Area{Life: l, file: a.file, at: a.at(k), arrays: a.area, mem: mem, mapped: size}, nil
}

// take returns the area of this life, after claiming one if necessary. The caller holds
// mu.
func (a *Arena) take() *Area {
	if a.own != nil || a.none {
		return a.own
	}
	a.none = true
	for k := range maxAreas {
		if a.entry(k).CompareAndSwap(0, a.life.pack()) {
			if r, err := a.open(k, a.life, wordsSize); err == nil {
				r.free = extents{{0, a.area}}
				a.own, a.none = r, false
			}
			break
		}
	}
	return a.own
}

const (
	// The Go runtime gives an array of at least leastSpan bytes its own pages.
	leastSpan = 40 << 10
	// Arrays smaller than least share chunks of memory. Each begins at a cache line. A chunk
	// is freed with the last of its arrays.
	least, chunk, line = 16 << 10, 64 << 10, 128
)

// Alloc returns zeroed memory of this life's area, nil if none is left. The garbage
// collector frees the memory.
func (a *Arena) Alloc(size int) []byte {
	switch {
	case size <= 0 || size > a.area:
		return nil
	case size >= least:
		return a.alloc(size)
	}
	a.smallMu.Lock()
	defer a.smallMu.Unlock()
	room := (size + line - 1) &^ (line - 1)
	if len(a.small) < room {
		if a.small = a.alloc(chunk); a.small == nil {
			return nil
		}
	}
	mem := a.small[:size:size]
	a.small = a.small[room:]
	return mem
}

// alloc returns memory that consists of whole pages.
func (a *Arena) alloc(size int) []byte {
	pages := (size + os.Getpagesize() - 1) &^ (os.Getpagesize() - 1)
	mem := make([]byte, max(pages, leastSpan))
	start := unsafe.SliceData(mem)
	if uintptr(unsafe.Pointer(start))%uintptr(os.Getpagesize()) != 0 {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.take()
	if r == nil {
		return nil
	}
	offset, ok := r.free.take(pages, int(uintptr(unsafe.Pointer(start))%pageSize))
	if !ok {
		return nil
	}
	if mapOver(a.file, r.at+wordsSize+offset, unsafe.Pointer(start), pages) != nil {
		r.free.put(offset, pages)
		return nil
	}
	a.insert(array{uintptr(unsafe.Pointer(start)), pages, r, offset})
	runtime.SetFinalizer(start, a.freed)
	_ = prepare(unsafe.Pointer(start), pages) // an error is harmless: the memory works with small pages that the first writes make
	return mem[:size:size]
}

func (a *Arena) insert(x array) {
	arrays := *a.arrays.Load()
	i, _ := find(arrays, x.start)
	arrays = slices.Insert(slices.Clone(arrays), i, x)
	a.arrays.Store(&arrays)
}

func find(arrays []array, start uintptr) (i int, ok bool) {
	return slices.BinarySearchFunc(arrays, start, func(x array, start uintptr) int {
		if x.start < start {
			return -1
		}
		return int(min(x.start-start, 1))
	})
}

// freed unmaps the pages of unreachable memory before Go reuses it. It runs as a
// finalizer, so the memory still exists.
func (a *Arena) freed(start *byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	arrays := *a.arrays.Load()
	i, ok := find(arrays, uintptr(unsafe.Pointer(start)))
	if !ok {
		return
	}
	x := arrays[i]
	if mapBack(unsafe.Pointer(start), x.size) != nil {
		a.kept = append(a.kept, start) // the memory stays shared, so Go must never reuse it
		return
	}
	arrays = slices.Delete(slices.Clone(arrays), i, i+1)
	a.arrays.Store(&arrays)
	if clearFile(a.file, x.area.at+wordsSize+x.offset, x.size) == nil { // otherwise the range is not zeroed and must not be reused
		x.area.free.put(x.offset, x.size)
	}
}

// Place returns the offset of memory in the area of this life. ok is false if it lies
// elsewhere. hint holds the index that an earlier call has found for similar memory.
func (a *Arena) Place(own *Area, mem []byte, hint *int) (offset int, ok bool) {
	arrays := *a.arrays.Load()
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	holds := func(i int) bool {
		return i >= 0 && i < len(arrays) && at >= arrays[i].start && at-arrays[i].start <= uintptr(arrays[i].size)-uintptr(min(len(mem), arrays[i].size))
	}
	i := *hint
	if !holds(i) {
		i, ok = find(arrays, at)
		if !ok {
			i--
		}
	}
	if !holds(i) || len(mem) > arrays[i].size || arrays[i].area != own {
		return 0, false
	}
	*hint = i
	return arrays[i].offset + int(at-arrays[i].start), true
}
