package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBuffersAreUsedAgain(t *testing.T) {
	var b buffers
	f := b.get(100)
	require.Len(t, f.mem, 100)
	b.put(f)
	require.Same(t, f, b.get(60), "the memory is long enough")
	require.Len(t, f.mem, 60)
	b.put(f)
	require.NotSame(t, f, b.get(200))
	require.Equal(t, 100, b.bytes)
}

// Lent memory belongs to the link and is never kept.
func TestLentBuffers(t *testing.T) {
	var b buffers
	link := []byte("an update")
	f := b.lend(link)
	b.put(f)
	require.Nil(t, f.mem)
	require.Same(t, f, b.lend(link), "the buffer itself is kept")
	b.own(f)
	copy(link, "another")
	require.Equal(t, "an update", string(f.mem))
	require.False(t, f.borrowed)
	b.put(f)
	require.Equal(t, len(link), b.bytes)
}

func TestBuffersAreBounded(t *testing.T) {
	var b buffers
	b.put(&buffer{mem: make([]byte, 2*keepBytes)})
	require.Len(t, b.free, 1, "a single buffer of any size is kept")
	b.put(&buffer{mem: make([]byte, 1)})
	require.Len(t, b.free, 1)
	b = buffers{}
	for range keep + 10 {
		b.put(&buffer{mem: make([]byte, 1)})
		b.put(&buffer{borrowed: true})
	}
	require.Len(t, b.free, keep)
	require.Len(t, b.empty, keep)
}
