package file_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/file"
	"github.com/intrahpc/intra/internal/testkit/needs"
	"github.com/intrahpc/intra/intratest"
)

// sameError runs a call in two ranks with two replicas each, and requires the same
// *fs.PathError with that number from all of them.
func sameError(t *testing.T, want syscall.Errno, name string, call func(p *intra.Process) error) {
	t.Helper()
	var lock sync.Mutex
	var all []error
	intratest.Run(t, intra.Spec{Ranks: 2, Replicas: 2}, func(p *intra.Process) error {
		err := call(p)
		lock.Lock()
		defer lock.Unlock()
		all = append(all, err)
		return nil
	})
	require.Len(t, all, 4)
	for _, err := range all {
		var path *fs.PathError
		require.ErrorAs(t, err, &path)
		require.Equal(t, name, path.Path)
		require.ErrorIs(t, err, want)
		require.Equal(t, all[0].Error(), err.Error())
	}
}

// refused requires that no file in a folder can be created or appended to, and that the
// existing file stays.
func refused(t *testing.T, want syscall.Errno, dir string) {
	t.Helper()
	old := filepath.Join(dir, "old")
	for _, name := range []string{old, filepath.Join(dir, "new")} {
		sameError(t, want, name, func(p *intra.Process) error { _, err := file.Create(p, p.World(), name); return err })
		sameError(t, want, name, func(p *intra.Process) error { _, err := file.Append(p, p.World(), name); return err })
	}
	require.Equal(t, "old", contents(t, old))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestFolderWithoutPermission(t *testing.T) {
	dir, err := os.MkdirTemp("", "file-") // t.TempDir is in a folder that another user cannot read
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.WriteFile(filepath.Join(dir, "old"), []byte("old"), 0o444))
	require.NoError(t, os.Chmod(dir, 0o555))
	if os.Geteuid() == 0 { // root ignores permissions
		require.NoError(t, syscall.Setresuid(-1, needs.StrangerID, -1))
		defer func() { require.NoError(t, syscall.Setresuid(-1, 0, -1)) }()
	}
	refused(t, syscall.EACCES, dir)
}

// A created file that cannot get its name leaves the old one.
func TestFolderThatLosesItsPermission(t *testing.T) {
	dir, err := os.MkdirTemp("", "file-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	old := filepath.Join(dir, "old")
	require.NoError(t, os.WriteFile(old, []byte("old"), 0o666))
	require.NoError(t, os.Chmod(old, 0o666))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Chown(dir, needs.StrangerID, -1))
		require.NoError(t, syscall.Setresuid(-1, needs.StrangerID, -1))
		defer func() { require.NoError(t, syscall.Setresuid(-1, 0, -1)) }()
	}
	sameError(t, syscall.EACCES, old, func(p *intra.Process) error {
		f, err := file.Create(p, p.World(), old)
		if err != nil {
			return errors.New("create: " + err.Error())
		}
		if err := f.WriteAtAll([]byte("new"), int64(3*p.Rank())); err != nil {
			return errors.New("write: " + err.Error())
		}
		if err := os.Chmod(dir, 0o555); err != nil {
			return err
		}
		if err := p.World().Barrier(); err != nil {
			return err
		}
		return f.Close()
	})
	require.Equal(t, "old", contents(t, old))
}

// The test runs itself in a namespace with a mount that is read-only.
func TestReadOnlyFolder(t *testing.T) {
	const variable = "FILE_TEST_READ_ONLY"
	if dir := os.Getenv(variable); dir != "" {
		refused(t, syscall.EROFS, dir)
		return
	}
	dir := t.TempDir()
	const script = `mount -t tmpfs none "$1"; printf old > "$1/old"; mount -o remount,ro "$1"; exec "$0" -test.run '^TestReadOnlyFolder$' -test.v`
	line := append(needs.Mounts(t), script, os.Args[0], dir)
	cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
	cmd.Env = append(os.Environ(), variable+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestReadOnlyFolder")
}

// A limit on the size of files makes a write end in the middle, as a quota does. Records
// that were complete stay, and so does the file that Close would have replaced.
func TestWriteThatEndsInTheMiddle(t *testing.T) {
	const limit = 100 << 10
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: before.Max}))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before)) }()
	dir := t.TempDir()
	log, field := filepath.Join(dir, "log"), filepath.Join(dir, "field")
	require.NoError(t, os.WriteFile(field, []byte("old"), 0o666))
	record := strings.Repeat("x", 30<<10)
	sameError(t, syscall.EFBIG, log, func(p *intra.Process) error {
		f, err := file.Append(p, p.World(), log)
		if err == nil {
			err = f.WriteAll([]byte(record))
		}
		if err != nil {
			return errors.New("the first records: " + err.Error())
		}
		failed := f.WriteAll([]byte(record)) // the limit cuts off the last part of the record of rank 1
		if err := f.WriteAll([]byte("end")); err != nil {
			return errors.New("after a failure: " + err.Error())
		}
		if err := f.Close(); err == nil || err.Error() != failed.Error() {
			return fmt.Errorf("close: %w, and before %w", err, failed)
		}
		return failed
	})
	require.Equal(t, record+record+"endend", contents(t, log))
	for _, failing := range []func(f *file.File, p *intra.Process) error{
		func(f *file.File, p *intra.Process) error {
			return f.WriteAtAll(make([]byte, limit*3/4), int64(p.Rank())*limit*3/4)
		},
		func(f *file.File, p *intra.Process) error {
			_ = f.WriteAtAll(make([]byte, limit*3/4), int64(p.Rank())*limit*3/4)
			return f.Close()
		},
	} {
		sameError(t, syscall.EFBIG, field, func(p *intra.Process) error {
			f, err := file.Create(p, p.World(), field)
			if err != nil {
				return errors.New("create: " + err.Error())
			}
			err = failing(f, p)
			_ = f.Close() // returns the same error, or that the file is closed
			return err
		})
		require.Equal(t, "old", contents(t, field))
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}
