package arena

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// pair opens the arena of two replicas twice, as two processes do.
func pair(t *testing.T) (a, b *Arena) {
	f, err := Create(2)
	require.NoError(t, err)
	defer f.Close()
	a, err = Open(f, 0)
	require.NoError(t, err)
	b, err = Open(f, 1)
	require.NoError(t, err)
	return a, b
}

func TestSameAllocationsLieAtTheSamePlace(t *testing.T) {
	a, b := pair(t)
	for _, size := range []int{1, 127, 128, 4096, 3 << 20} {
		mine, theirs := a.Alloc(size), b.Alloc(size)
		require.Len(t, mine, size)
		at, ok := a.Place(mine)
		require.True(t, ok)
		other, ok := b.Place(theirs)
		require.True(t, ok)
		require.Equal(t, at, other)
		require.Zero(t, at%line)

		a.At(1, at, size)[size-1] = 42
		require.EqualValues(t, 42, theirs[size-1])
		require.Zero(t, mine[size-1])
	}
}

func TestPlaceOfOtherMemory(t *testing.T) {
	a, b := pair(t)
	mine, theirs := a.Alloc(64), b.Alloc(64)
	for name, mem := range map[string][]byte{"heap": make([]byte, 64), "another mapping": theirs} {
		_, ok := a.Place(mem)
		require.False(t, ok, name)
	}
	at, ok := a.Place(mine[8:16])
	require.True(t, ok)
	require.Equal(t, 8, at)
	require.Nil(t, a.Alloc(a.area), "more than there is")
	require.Nil(t, a.Alloc(0))
	require.Panics(t, func() { a.At(0, a.area-8, 16) })
}

func TestWordsAreShared(t *testing.T) {
	a, b := pair(t)
	require.Zero(t, a.Word(1, Words-1).Load())
	require.True(t, a.Word(1, Words-1).CompareAndSwap(0, 7))
	require.EqualValues(t, 7, b.Word(1, Words-1).Load())
	require.Zero(t, b.Word(0, Words-1).Load())
	require.Zero(t, b.Alloc(8)[0], "words and areas are apart")
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	plain, err := os.Create(t.TempDir() + "/plain")
	require.NoError(t, err)
	defer plain.Close()
	_, err = Open(plain, 0)
	require.ErrorIs(t, err, ErrFile)

	f, err := Create(2)
	require.NoError(t, err)
	defer f.Close()
	_, err = Open(f, 2)
	require.ErrorIs(t, err, ErrFile)
	require.Error(t, f.Truncate(0), "its size is sealed")

	_, err = f.WriteAt([]byte{3}, offCount)
	require.NoError(t, err)
	_, err = Open(f, 0)
	require.ErrorIs(t, err, ErrFile)

	for _, n := range []int{0, MaxReplicas + 1} {
		_, err = Create(n)
		require.Error(t, err)
	}
}
