package arena

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/intrahpc/intra/internal/hugepage"
)

// Arena is the shared memory of a rank as one replica sees it. It is safe for
// concurrent use.
type Arena struct {
	layout
	me   int
	base unsafe.Pointer

	mu   sync.Mutex
	used int
}

// Open maps the memory in f for replica me. It stays mapped as long as the
// process lives: nobody knows who still has a part of it. The file may be
// closed afterwards.
func Open(f *os.File, me int) (a *Arena, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(fd uintptr) { a, err = open(int(fd), me) }); e != nil {
		return nil, e
	}
	if err != nil {
		return nil, fmt.Errorf("map the memory that the replicas of a rank share: %w", err)
	}
	return a, nil
}

func open(fd, me int) (*Arena, error) {
	l, err := layoutOf(fd)
	if err != nil {
		return nil, err
	}
	if me < 0 || me >= l.replicas {
		return nil, fmt.Errorf("%w: it has no place for replica %d, only for %d", ErrFile, me, l.replicas)
	}
	base, err := mapShared(fd, l.size())
	if err != nil {
		return nil, err
	}
	hugepage.Advise(unsafe.Slice((*byte)(base), l.size()))
	return &Arena{layout: l, me: me, base: base}, nil
}

// Replicas is how many replicas there is room for.
func (a *Arena) Replicas() int { return a.replicas }

// Size is how much a replica can allocate, in bytes.
func (a *Arena) Size() int { return a.area }

// Word returns word k of a replica, 0 at first. Any replica may change it.
func (a *Arena) Word(replica, k int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Add(a.base, a.word(replica, k)))
}

// line is the unit in which processors share memory; they fetch two at a time.
const line = 128

// Alloc returns zeroed memory of this replica's area, at the beginning of a
// line, or nil if there is not so much left. It is never given back.
func (a *Arena) Alloc(size int) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if size <= 0 || size > a.area-a.used {
		return nil
	}
	at := unsafe.Add(a.base, a.areaOf(a.me)+a.used)
	a.used = min((a.used+size+line-1)&^(line-1), a.area)
	return unsafe.Slice((*byte)(at), size)
}

// Release gives the memory of this replica's area back to the system, when
// nobody uses it any more; what is still there of it reads as zeros. Nothing
// is allocated from then on.
func (a *Arena) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	used := (a.used + os.Getpagesize() - 1) &^ (os.Getpagesize() - 1)
	if a.used = a.area; used > 0 {
		giveBack(a.At(a.me, 0, used))
	}
}

// Place returns where memory lies in this replica's area, if it does.
func (a *Arena) Place(mem []byte) (offset int, ok bool) {
	start := uintptr(unsafe.Add(a.base, a.areaOf(a.me)))
	at := uintptr(unsafe.Pointer(unsafe.SliceData(mem)))
	if at < start || at-start > uintptr(a.area) || uintptr(len(mem)) > uintptr(a.area)-(at-start) {
		return 0, false
	}
	return int(at - start), true
}

// At returns what lies at a place of a replica's area.
func (a *Arena) At(replica, offset, size int) []byte {
	if offset < 0 || size < 0 || offset > a.area || size > a.area-offset {
		panic(fmt.Sprintf("arena: %d bytes at %d of an area of %d", size, offset, a.area))
	}
	return unsafe.Slice((*byte)(unsafe.Add(a.base, a.areaOf(replica)+offset)), size)
}
