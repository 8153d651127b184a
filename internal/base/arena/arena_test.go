package arena

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// file makes a file of shared memory for a rank.
func file(t *testing.T) *os.File {
	f, err := Create()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

// open opens the file for a life, as another process would.
func open(t *testing.T, f *os.File, l Life) *Arena {
	fd, err := unix.Dup(int(f.Fd()))
	require.NoError(t, err)
	a, err := Open(os.NewFile(uintptr(fd), "arena"), l)
	require.NoError(t, err)
	return a
}

// pair opens the memory of two replicas.
func pair(t *testing.T) (a, b *Arena) {
	f := file(t)
	return open(t, f, Life{0, 1}), open(t, f, Life{1, 1})
}

func TestReplicasWriteEachOthersArrays(t *testing.T) {
	a, b := pair(t)
	require.Nil(t, a.Find(Life{1, 1}), "the peer has allocated nothing")
	require.Nil(t, b.Own())
	var hint int
	for _, size := range []int{1, 4095, 4096, 50_000, 3 << 20, 9 << 20} {
		mine, theirs := a.Alloc(size), b.Alloc(size)
		require.Len(t, mine, size)
		at, ok := b.Place(b.Own(), theirs, &hint)
		require.True(t, ok)
		area := a.Find(Life{1, 1})
		require.NotNil(t, area)
		area.At(at, size)[size-1] = 42
		require.EqualValues(t, 42, theirs[size-1])
		require.Zero(t, mine[size-1])
		part, ok := b.Place(b.Own(), theirs[size/2:], &hint)
		require.True(t, ok)
		require.Equal(t, at+size/2, part)
		if size >= pageSize {
			require.EqualValues(t, uintptr(unsafe.Pointer(&theirs[0]))%pageSize, at%pageSize, "large pages fit")
		}
		require.Panics(t, func() { area.At(area.arrays, 1) })
		area.Close()
	}
}

func TestPlaceOfOtherMemory(t *testing.T) {
	a, b := pair(t)
	mine, theirs := a.Alloc(64<<10), b.Alloc(64<<10)
	short := a.Alloc(20 << 10) // pages of the area cover only a part of the span of the Go heap
	for hint := range 3 {
		for name, mem := range map[string][]byte{"heap": make([]byte, 64), "another replica's": theirs, "behind": unsafe.Slice(&short[0], 20<<10+1)} {
			_, ok := a.Place(a.Own(), mem, &hint)
			require.False(t, ok, name)
		}
	}
	old := a.Own()
	a.Begin(2)
	require.Nil(t, a.Own(), "the next life has allocated nothing")
	a.Alloc(64 << 10)
	var hint int
	_, ok := a.Place(a.Own(), mine, &hint)
	require.False(t, ok, "it belongs to the life before")
	_, ok = a.Place(old, mine, &hint)
	require.True(t, ok)
	require.Nil(t, a.Alloc(a.area+1), "more than there is")
	require.Nil(t, a.Alloc(0))
}

func TestWords(t *testing.T) {
	a, b := pair(t)
	a.Alloc(1)
	b.Alloc(1)
	of := a.Find(Life{1, 1})
	require.True(t, of.Word(Words-1).CompareAndSwap(0, 7))
	require.EqualValues(t, 7, b.Own().Word(Words-1).Load())
	require.Zero(t, a.Own().Word(Words-1).Load())
	b.Own().Place(Places - 1).Store(8)
	require.EqualValues(t, 8, of.Place(Places-1).Load())
	a.Agreed(Agreements - 1).Store(9)
	require.EqualValues(t, 9, b.Agreed(Agreements-1).Load())
	require.Panics(t, func() { a.Agreed(Agreements) })
	require.Panics(t, func() { of.Word(Words) })
	require.Panics(t, func() { of.Place(-1) })
	require.Nil(t, a.Find(Life{1, 2}))
}

// An array without references is freed, and its memory is reused. An array is kept while
// any part of it is referenced.
func TestGarbageIsUsedAgain(t *testing.T) {
	a, b := pair(t)
	const size = 1 << 20
	kept := a.Alloc(size)[size/2:][:8]
	kept[0] = 1
	for range 64 {
		x := a.Alloc(size)
		require.Zero(t, x[size/2])
		x[size/2] = 2
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return len(*a.arrays.Load()) == 1
	}, 10*time.Second, time.Millisecond)
	a.mu.Lock()
	free := a.own.free
	a.mu.Unlock()
	require.Len(t, free, 1, "the free memory is one range")
	require.Equal(t, size, free[0].at)
	x := a.Alloc(size)
	require.Zero(t, x[size/2])
	var hint int
	at, ok := a.Place(a.Own(), x, &hint)
	require.True(t, ok)
	require.Equal(t, size, at)
	b.Alloc(1)
	require.EqualValues(t, 1, b.Find(Life{0, 1}).At(size/2, 1)[0])
	require.EqualValues(t, 1, kept[0])
	runtime.KeepAlive(x)
}

// Memory that was shared becomes ordinary memory again.
func TestMemoryThatWasShared(t *testing.T) {
	a, _ := pair(t)
	for range 20 {
		for range 20 {
			a.Alloc(200 << 10)[0] = 1
		}
		runtime.GC()
		for range 20 {
			x := make([]byte, 200<<10)
			require.Equal(t, len(x), bytes.Count(x, []byte{0}))
			copy(x, bytes.Repeat([]byte{3}, len(x)))
		}
	}
}

func TestClear(t *testing.T) {
	a, b := pair(t)
	x := a.Alloc(1 << 20)
	x[5] = 1
	area := b.Find(Life{0, 1})
	require.NoError(t, area.Clear())
	require.Zero(t, x[5])
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	plain, err := os.Create(t.TempDir() + "/plain")
	require.NoError(t, err)
	_, err = Open(plain, Life{0, 1})
	require.Error(t, err)

	f := file(t)
	require.Error(t, f.Truncate(0), "its size is sealed")
	_, err = f.WriteAt([]byte{3}, offArea)
	require.NoError(t, err)
	_, err = Open(f, Life{0, 1})
	require.ErrorIs(t, err, ErrFile)

	_, err = Open(file(t), Life{MaxReplicas, 1})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

// Each life gets an area, until none is left.
func TestAreasOfLives(t *testing.T) {
	a, b := pair(t)
	for k := range maxAreas {
		a.Begin(uint32(k + 1))
		require.NotNil(t, a.Alloc(1), k)
	}
	require.NotNil(t, b.Find(Life{0, maxAreas}))
	require.Nil(t, b.Alloc(1))
	require.Nil(t, b.Own())
}

// Arrays have large pages, even if the system uses them for shared memory only on request.
func TestLargePages(t *testing.T) {
	a, _ := pair(t)
	x := a.Alloc(3 * pageSize)
	if err := prepare(unsafe.Pointer(&x[0]), len(x)); err != nil {
		t.Skip("this system has none:", err)
	}
	maps, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	require.Regexp(t, `ShmemPmdMapped: +[1-9]`, string(maps))
	require.Equal(t, len(x), bytes.Count(x, []byte{0}))
}
