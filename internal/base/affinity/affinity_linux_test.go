package affinity

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// The machine has two packages, each with its own memory node and two cores of two
// threads. The first threads of all cores have the lowest numbers, as on many machines.
func TestGroup(t *testing.T) {
	dir := t.TempDir()
	for cpu := range 8 {
		at := filepath.Join(dir, "cpu"+strconv.Itoa(cpu))
		require.NoError(t, os.MkdirAll(filepath.Join(at, "topology"), 0o755))
		require.NoError(t, os.Mkdir(filepath.Join(at, "node"+strconv.Itoa(cpu%2)), 0o755))
		write := func(name string, v int) {
			require.NoError(t, os.WriteFile(filepath.Join(at, "topology", name), []byte(strconv.Itoa(v)+"\n"), 0o644))
		}
		write("physical_package_id", cpu%2)
		write("core_id", cpu/2%2)
	}
	all := func(int) bool { return true }
	require.Equal(t, []Core{{0, 4}, {2, 6}, {1, 5}, {3, 7}}, group(dir, all, 8))
	require.Equal(t, []Core{{4}, {2, 6}, {5}}, group(dir, func(cpu int) bool { return cpu != 0 && cpu != 1 && cpu%4 != 3 }, 8), "some are not allowed")
	require.Equal(t, []Core{{0}, {1}}, group(t.TempDir(), all, 2), "a kernel without topology")
}

func TestDuring(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	usable, err := Usable()
	require.NoError(t, err)
	require.NotEmpty(t, usable)
	last := usable[len(usable)-1]
	require.NoError(t, During(last, func() error {
		got, err := Usable()
		require.Equal(t, []Core{last}, got)
		return err
	}))
	after, err := Usable()
	require.NoError(t, err)
	require.Equal(t, usable, after)
	require.ErrorIs(t, During(last, func() error { return os.ErrExist }), os.ErrExist)
	require.ErrorContains(t, During([]int{len(unix.CPUSet{})*64 - 1}, func() error { return nil }), "bind to processors")
}
