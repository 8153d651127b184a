package affinity

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A board is one page of memory. Its first word is the number of slots that were ever in
// use. Each further word belongs to one process: it holds 1 + the processor on which the
// process runs, 0 if the slot is free or its process has not written yet.
const (
	boardSize = 4096
	maxSlots  = boardSize/4 - 1
)

// Board is the agent's end of a page on which the processes of a host record
// where they run. Its methods are safe for concurrent use.
type Board struct {
	file *os.File

	mu    sync.Mutex
	page  []byte // nil: closed
	taken []bool
}

// NewBoard returns a board with all slots free.
func NewBoard() (*Board, error) {
	fd, err := unix.MemfdCreate("intra-board", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create the board of processes: %w", err)
	}
	f := os.NewFile(uintptr(fd), "intra-board")
	if err = f.Truncate(boardSize); err == nil {
		// The seals keep a process that has the file from truncating the page, which other
		// processes use.
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	}
	var page []byte
	if err == nil {
		page, err = mapBoard(f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("create the board of processes: %w", err)
	}
	return &Board{file: f, page: page}, nil
}

func mapBoard(f *os.File) ([]byte, error) {
	return unix.Mmap(int(f.Fd()), 0, boardSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// words returns the words of a page.
func words(page []byte) []atomic.Uint32 {
	return unsafe.Slice((*atomic.Uint32)(unsafe.Pointer(&page[0])), boardSize/4)
}

// File returns the file that processes inherit to open their slots. The caller must not close it.
func (b *Board) File() *os.File { return b.file }

// Take returns a slot for a process that is about to start. ok is false if all slots are
// taken or the board is closed. Then the process runs without a slot.
func (b *Board) Take() (slot int, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page == nil {
		return 0, false
	}
	if slot = slices.Index(b.taken, false); slot < 0 {
		if slot = len(b.taken); slot == maxSlots {
			return 0, false
		}
		b.taken = append(b.taken, false)
		words(b.page)[0].Store(uint32(len(b.taken)))
	}
	b.taken[slot] = true
	return slot, true
}

// Free frees the slot of a process that has ended.
func (b *Board) Free(slot int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.page != nil {
		words(b.page)[1+slot].Store(0)
		b.taken[slot] = false
	}
}

// Close releases the agent's memory. The mappings of running processes remain. Close must
// be called only once.
func (b *Board) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	page := b.page
	b.page = nil
	return errors.Join(unix.Munmap(page), b.file.Close())
}

// OpenSlot maps the board in f, which may be closed afterwards, for the process
// in that slot.
func OpenSlot(f *os.File, slot int) (*Slot, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the board of processes: %w", err)
	}
	if info.Size() != boardSize || slot < 0 || slot >= maxSlots {
		return nil, fmt.Errorf("open the board of processes: slot %d of a file of %d bytes, want one of %d slots in %d bytes", slot, info.Size(), maxSlots, boardSize)
	}
	cores, err := Allowed()
	if err != nil {
		return nil, err
	}
	page, err := mapBoard(f)
	if err != nil {
		return nil, fmt.Errorf("map the board of processes: %w", err)
	}
	all := words(page)
	return newSlot(&all[1+slot], &all[0], all[1:], cores), nil
}
