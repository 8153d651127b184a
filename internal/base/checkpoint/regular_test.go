//go:build unix

package checkpoint_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/checkpoint"
)

// plant replaces a file or a set by another kind of file.
var plant = map[string]func(path, aim string) error{
	"a symbolic link": func(path, aim string) error { return os.Symlink(aim, path) },
	"a named pipe":    func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
}

// Every reader refuses a planted file inside a set, and names it. No reader follows it, or
// waits for the other end of a pipe.
func TestPlantedInASet(t *testing.T) {
	for kind, put := range plant {
		for _, name := range []string{"index", "rank-1"} {
			t.Run(kind+" as "+name, func(t *testing.T) {
				dir, aside := t.TempDir(), filepath.Join(t.TempDir(), "aside")
				writeSet(t, dir, 1, ours, true)
				writeSet(t, dir, 2, ours, true)
				s, _, err := checkpoint.Latest(dir, ours)
				require.NoError(t, err)
				path := filepath.Join(dir, "set-000002", name)
				require.NoError(t, os.Rename(path, aside)) // a link that was followed would lead to the valid file
				require.NoError(t, put(path, aside))

				older, refused, err := checkpoint.Latest(dir, ours)
				require.NoError(t, err)
				require.EqualValues(t, 1, older.Number)
				require.Len(t, refused, 1)
				require.ErrorIs(t, refused[0], checkpoint.ErrIrregular)
				require.ErrorContains(t, refused[0], path+" is "+kind)
				if name == "index" {
					_, err = checkpoint.Next(dir, ours)
					require.ErrorContains(t, err, path+" is "+kind)
					return
				}
				_, _, err = checkpoint.Read(dir, s, 1)
				require.ErrorContains(t, err, path+" is "+kind)
				require.ErrorContains(t, s.Complete(dir), path+" is "+kind)
				_, err = checkpoint.Write(t.Context(), dir, checkpoint.Header{Job: ours, Set: 2, Cut: 20, Rank: 1}, nil, image(t, 1))
				require.ErrorContains(t, err, path+" is "+kind)
			})
		}
	}
}

// Readers and writers also refuse a file that takes the place of a set.
func TestPlantedAsASet(t *testing.T) {
	for kind, put := range plant {
		t.Run(kind, func(t *testing.T) {
			dir, aim := t.TempDir(), t.TempDir()
			path := filepath.Join(dir, "set-000002")
			writeSet(t, dir, 1, ours, true)
			require.NoError(t, put(path, aim))
			_, err := checkpoint.Next(dir, ours)
			require.ErrorContains(t, err, path+" is "+kind)
			_, err = checkpoint.Write(t.Context(), dir, checkpoint.Header{Job: ours, Set: 2, Cut: 20}, nil, image(t, 1))
			require.ErrorIs(t, err, checkpoint.ErrIrregular)
			require.ErrorContains(t, err, path+" is "+kind)
			_, _, err = checkpoint.Latest(path, ours)
			require.ErrorContains(t, err, path+" is "+kind)
			require.ErrorIs(t, checkpoint.Discard(dir, 2), checkpoint.ErrIrregular)
			require.Empty(t, names(t, aim))
			writeSet(t, dir, 3, ours, true) // removes old sets, but nothing else
			writeSet(t, dir, 4, ours, true)
			require.Equal(t, []string{"set-000002", "set-000003", "set-000004"}, names(t, dir))
		})
	}
}

// An abandoned set leaves no files, nor does a file that could not be written.
func TestNothingIsLeftOfAbandonedSets(t *testing.T) {
	dir := t.TempDir()
	for n := range uint64(4) {
		writeSet(t, dir, n+1, ours, n == 1)
	}
	require.NoError(t, checkpoint.Discard(dir, 2), "the set is complete")
	require.NoError(t, checkpoint.Discard(dir, 3))
	require.NoError(t, checkpoint.Discard(dir, 3), "the set does not exist")
	require.Equal(t, []string{"set-000002", "set-000004"}, names(t, dir))
	writeSet(t, dir, 5, ours, false)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "set-000006"), 0o700))
	require.NoError(t, checkpoint.Sweep(dir, 5))
	require.Equal(t, []string{"set-000002", "set-000004"}, names(t, dir))
	require.NoError(t, checkpoint.Sweep(filepath.Join(dir, "none"), 1))

	w := filepath.Join(dir, "set-000007")
	require.NoError(t, os.MkdirAll(filepath.Join(w, "rank-0"), 0o700))
	_, err := checkpoint.Write(t.Context(), dir, checkpoint.Header{Job: ours, Set: 7}, nil, image(t, 1))
	require.ErrorContains(t, err, "rank-0 is a folder")
	require.NoError(t, os.Remove(filepath.Join(w, "rank-0")))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = checkpoint.Write(ctx, dir, checkpoint.Header{Job: ours, Set: 7}, nil, image(t, 1))
	require.Error(t, err)
	require.NoDirExists(t, w)
}
