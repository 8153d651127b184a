package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCommittedFiles: the committed assembly is the output of this program.
func TestCommittedFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, generate(dir))
	fresh, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, fresh)
	const committed = "../internal/simd"
	for _, f := range fresh {
		want, err := os.ReadFile(f)
		require.NoError(t, err)
		got, err := os.ReadFile(filepath.Join(committed, filepath.Base(f)))
		require.NoError(t, err)
		require.True(t, string(want) == string(got), "%s is out of date: run go generate ./kernels", filepath.Base(f))
	}
	old, err := filepath.Glob(filepath.Join(committed, "*.s"))
	require.NoError(t, err)
	for _, f := range old {
		require.FileExists(t, filepath.Join(dir, filepath.Base(f)), "the generator no longer writes %s", f)
	}
}
