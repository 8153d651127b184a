package cure

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// TestMain also serves as the program on a file system that does not allow programs.
func TestMain(m *testing.M) {
	if path := os.Getenv("CURE_TEST_START"); path != "" {
		os.Stdout.WriteString(Start(exec.Command(path).Run(), path).Error())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestErrorsSayTheCure(t *testing.T) {
	other := errors.New("other")
	require.Equal(t, other, Write(other))
	require.Equal(t, other, Start(other, "/bin/true"))
	denied := &fs.PathError{Op: "fork/exec", Path: "/bin/true", Err: syscall.EACCES}
	require.Equal(t, denied, Start(denied, "/bin/true"), "it is not mounted noexec")
	require.ErrorContains(t, Write(syscall.EFBIG), "ulimit -f")
	require.ErrorIs(t, Write(syscall.EFBIG), syscall.EFBIG)
	require.ErrorContains(t, Start(syscall.EAGAIN, "p"), "ulimit -u")
	require.Contains(t, Signal(syscall.SIGXFSZ), "ulimit -f")
	require.Contains(t, Signal(syscall.SIGXCPU), "ulimit -t")
	require.Empty(t, Signal(syscall.SIGKILL))
}

func TestProgramOnAFileSystemWithoutPrograms(t *testing.T) {
	dir := t.TempDir()
	line := append(needs.Mounts(t), `mount -t tmpfs -o noexec none `+dir+`; cp /bin/true `+dir+`; CURE_TEST_START=`+filepath.Join(dir, "true")+` exec "$0"`, os.Args[0])
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "permission denied: "+dir+" is on a file system mounted noexec: set TMPDIR to a folder where programs may run")
}
