//go:build linux

package shm

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DefaultSize is the size of a ring that suits most programs: small enough to
// stay in the caches, large enough for the updates of a few tasks. Only the pages
// that are touched use memory, see laps.
const DefaultSize = 4 << 20

// maxSize keeps a ring and its second mapping well inside the address space.
const maxSize = 1 << 36

// ErrSegment marks a file that is not a segment made by Create.
var ErrSegment = errors.New("not a segment of shared memory")

// The segment begins with a page of control words, followed by the two rings. Words that
// different processes write are two cache lines apart, because processors fetch lines in
// pairs. The reader of a ring reads need and sender with every frame, so these two words
// are apart from tail, which changes with every frame.
const (
	magic       = 0x3561_7274_6e69_4d53 // "SMintra5"
	offMagic    = 0
	offSize     = 8
	offBell     = 128 // bell of side 0; the bell of side 1 is lineGap bytes further
	offRing     = 512 // words of ring 0, from side 0 to 1; ring 1 is ringGap bytes further
	ringGap     = 512
	lineGap     = 128
	wordTail    = 0 * lineGap
	wordNeed    = 1 * lineGap // written by the sender, as tail is
	wordSender  = 1*lineGap + 8
	wordHead    = 2 * lineGap
	wordReader  = 2*lineGap + 8
	controlSize = 4096
)

// Segment is the shared memory of one link.
type Segment struct {
	file *os.File
}

// Create makes a segment with two rings of size bytes each, rounded up to a
// power of two of at least a page.
func Create(size int) (*Segment, error) {
	if size <= 0 || size > maxSize {
		return nil, fmt.Errorf("create shared memory: a ring of %d bytes, want 1 to %d", size, maxSize)
	}
	ring := max(1<<bits.Len(uint(size-1)), os.Getpagesize())
	fd, err := unix.MemfdCreate("intra-link", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("create shared memory: %w", err)
	}
	f := os.NewFile(uintptr(fd), "link")
	if err := initialize(f, fd, ring); err != nil {
		f.Close()
		return nil, fmt.Errorf("create shared memory: %w", err)
	}
	return &Segment{file: f}, nil
}

func initialize(f *os.File, fd, ring int) error {
	if err := f.Truncate(int64(segmentSize(ring))); err != nil {
		return err
	}
	var head [16]byte
	binary.LittleEndian.PutUint64(head[offMagic:], magic)
	binary.LittleEndian.PutUint64(head[offSize:], uint64(ring))
	if _, err := f.WriteAt(head[:], 0); err != nil {
		return err
	}
	// The seals keep each process from truncating the memory that the other process uses.
	_, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
	return err
}

// controlPages returns the size of the control area in whole pages of this
// machine.
func controlPages() int { return max(controlSize, os.Getpagesize()) }

func segmentSize(ring int) int { return controlPages() + 2*ring }

// File returns the file to pass to both processes. The segment exists until every process has
// closed the file and unmapped the segment.
func (s *Segment) File() *os.File { return s.file }

// mapping is a segment in this process's memory: the control words, then each ring. Each
// ring is mapped twice in a row, so that bytes across its end are contiguous.
type mapping struct {
	base  unsafe.Pointer
	total int
	ring  int
}

// mapSegment maps the segment in f.
func mapSegment(f *os.File) (m *mapping, err error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	if e := raw.Control(func(fd uintptr) { m, err = mapFD(int(fd)) }); e != nil {
		return nil, e
	}
	return m, err
}

func mapFD(fd int) (*mapping, error) {
	ring, err := ringSize(fd)
	if err != nil {
		return nil, err
	}
	control := controlPages()
	total := control + 4*ring
	base, err := unix.MmapPtr(-1, 0, nil, uintptr(total), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("reserve %d bytes of address space: %w", total, err)
	}
	m := &mapping{base: base, total: total, ring: ring}
	for _, part := range []struct{ at, from, size int }{
		{0, 0, control},
		{control, control, ring},
		{control + ring, control, ring},
		{control + 2*ring, control + ring, ring},
		{control + 3*ring, control + ring, ring},
	} {
		at := unsafe.Add(base, part.at)
		if _, err := unix.MmapPtr(fd, int64(part.from), at, uintptr(part.size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
			m.unmap()
			return nil, fmt.Errorf("map shared memory: %w", err)
		}
	}
	return m, nil
}

// ringSize checks that a descriptor is a segment and returns the size of its rings.
func ringSize(fd int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrSegment, err)
	}
	if want := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW; seals&want != want {
		return 0, fmt.Errorf("%w: its size is not sealed", ErrSegment)
	}
	var head [16]byte
	if n, err := unix.Pread(fd, head[:], 0); err != nil || n != len(head) {
		return 0, fmt.Errorf("%w: %d bytes of its head read: %w", ErrSegment, n, err)
	}
	ring := binary.LittleEndian.Uint64(head[offSize:])
	if binary.LittleEndian.Uint64(head[offMagic:]) != magic || ring > maxSize || ring&(ring-1) != 0 ||
		ring < uint64(os.Getpagesize()) || st.Size != int64(segmentSize(int(ring))) {
		return 0, fmt.Errorf("%w: file of %d bytes with rings of %d", ErrSegment, st.Size, ring)
	}
	return int(ring), nil
}

func (m *mapping) unmap() { unix.MunmapPtr(m.base, uintptr(m.total)) }

// detach releases the segment. Until unmap, zeros are mapped in its place, which take no
// memory. To a reader they mean that both ends are open and that nothing has arrived.
func (m *mapping) detach() error {
	_, err := unix.MmapPtr(-1, 0, m.base, uintptr(m.total), unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE|unix.MAP_FIXED)
	return err
}

func (m *mapping) word32(off int) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Add(m.base, off)) }
func (m *mapping) word64(off int) *atomic.Uint64 { return (*atomic.Uint64)(unsafe.Add(m.base, off)) }

// bell returns the bell on which the given side sleeps.
func (m *mapping) bell(side int) bell { return bell{m.word32(offBell + side*lineGap), safetyNet} }

// words returns the ring from the given side to the other.
func (m *mapping) words(side int) ring {
	at := offRing + side*ringGap
	data := unsafe.Add(m.base, controlPages()+2*side*m.ring)
	return ring{
		data:   unsafe.Slice((*byte)(data), 2*m.ring),
		size:   uint64(m.ring),
		tail:   m.word64(at + wordTail),
		need:   m.word64(at + wordNeed),
		sender: m.word32(at + wordSender),
		head:   m.word64(at + wordHead),
		reader: m.word32(at + wordReader),
	}
}
