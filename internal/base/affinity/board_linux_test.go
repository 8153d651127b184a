package affinity

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// Slots are given out in order, but freed slots first.
func TestBoard(t *testing.T) {
	b, err := NewBoard()
	require.NoError(t, err)
	page, err := mapBoard(b.File())
	require.NoError(t, err)
	defer unix.Munmap(page)
	all := words(page)
	for i := range maxSlots {
		slot, ok := b.Take()
		require.True(t, ok)
		require.Equal(t, i, slot)
		require.EqualValues(t, i+1, all[0].Load())
		all[1+slot].Store(7)
	}
	_, ok := b.Take()
	require.False(t, ok, "all slots are taken")
	b.Free(5)
	b.Free(3)
	require.Zero(t, all[1+3].Load(), "no process has written")
	require.EqualValues(t, 7, all[1+4].Load())
	for _, want := range []int{3, 5} {
		slot, ok := b.Take()
		require.True(t, ok)
		require.Equal(t, want, slot)
	}
	require.EqualValues(t, maxSlots, all[0].Load())
	require.ErrorIs(t, b.File().Truncate(0), unix.EPERM)
	require.NoError(t, b.Close())
	b.Free(3) // its process was reaped late
	_, ok = b.Take()
	require.False(t, ok, "the board is closed")
	require.EqualValues(t, 7, all[1+4].Load(), "the processes keep the page")
}

func TestOpenSlotRefuses(t *testing.T) {
	b, err := NewBoard()
	require.NoError(t, err)
	defer b.Close()
	for _, slot := range []int{-1, maxSlots} {
		_, err := OpenSlot(b.File(), slot)
		require.ErrorContains(t, err, "open the board of processes: slot")
	}
	f, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	defer f.Close()
	_, err = OpenSlot(f, 0)
	require.ErrorContains(t, err, "a file of 0 bytes")
}

// The test process really moves between processors. Afterwards it may run on the same
// processors as before.
func TestSlotMoves(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cores, err := Allowed()
	require.NoError(t, err)
	if len(cores) < 2 {
		t.Skip("one core: nowhere to move to")
	}
	b, err := NewBoard()
	require.NoError(t, err)
	defer b.Close()
	for range 2*len(cores) + 1 {
		b.Take()
	}
	s, err := OpenSlot(b.File(), 0)
	require.NoError(t, err)
	// Two other processes are on each processor except the last one.
	last := len(cores) - 1
	for i, c := range cores[:last] {
		for k := range 2 {
			s.all[1+2*i+k].Store(uint32(c + 1))
		}
	}
	to := cores[last]
	for tries := 1; ; tries++ { // retry, because the kernel may move this thread at any time
		require.NoError(t, During(cores[:1], func() error { return nil }))
		s.moved = s.moved.Add(-restTime)
		s.Balance()
		if Processor() == to {
			break
		}
		require.Less(t, tries, 1000)
	}
	require.EqualValues(t, to+1, s.own.Load())
	now, err := Allowed()
	require.NoError(t, err)
	require.Equal(t, cores, now)
	require.False(t, move(1<<10-1), "the process may not run there")
}
