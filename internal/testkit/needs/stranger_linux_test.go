package needs

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStrangerIsAnotherUser(t *testing.T) {
	dir, err := os.MkdirTemp("", "stranger-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "secret"), nil, 0o600))
	var made, read error
	Stranger(t, func() {
		made = os.WriteFile(filepath.Join(dir, "theirs"), nil, 0o600)
		_, read = os.ReadFile(filepath.Join(dir, "secret"))
	})
	require.NoError(t, made)
	require.ErrorIs(t, read, os.ErrPermission)
	s, err := os.Stat(filepath.Join(dir, "theirs"))
	require.NoError(t, err)
	require.EqualValues(t, StrangerID, s.Sys().(*syscall.Stat_t).Uid)
	require.Zero(t, os.Geteuid(), "only one thread has changed")
}
