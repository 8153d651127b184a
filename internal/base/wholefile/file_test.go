//go:build unix

package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asOther, in the environment, names the file that this test binary tries to write as
// another user.
const asOther = "WHOLEFILE_TEST_AS_OTHER"

func TestMain(m *testing.M) {
	if name := os.Getenv(asOther); name != "" {
		f, err := Open(name)
		if err == nil {
			err = f.WriteBytes([]byte("theirs"))
		}
		fmt.Println(err)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func names(t *testing.T, dir string) (all []string) {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range list {
		all = append(all, e.Name())
	}
	return all
}

// A file has its old contents until the new ones are complete, and no other file is left.
func TestContentsAppearAsAWhole(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "f")
	f, err := Open(name)
	require.NoError(t, err)
	require.Empty(t, names(t, dir))
	require.NoError(t, f.WriteBytes([]byte("old")))

	f, err = Open(name)
	require.NoError(t, err)
	failed := errors.New("it fails")
	require.ErrorIs(t, f.Write(func(to *os.File) error {
		_, err := to.WriteString("new")
		require.NoError(t, err)
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, "old", string(b))
		return failed
	}), failed)
	require.Equal(t, []string{"f"}, names(t, dir))
	require.NoError(t, f.Write(func(to *os.File) error {
		for _, text := range []string{"the first attempt", "new"} {
			require.NoError(t, to.Truncate(0))
			_, err := to.Seek(0, 0)
			require.NoError(t, err)
			_, err = to.WriteString(text)
			require.NoError(t, err)
		}
		return nil
	}))
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, "new", string(b))
	require.Equal(t, []string{"f"}, names(t, dir))
}

// A pipe gets the contents only once, and Write does not wait long for its reader.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	f, err := Open(name)
	require.NoError(t, err, "a reader may come later")
	require.ErrorContains(t, f.WriteBytes([]byte("x")), "no process reads it")

	r, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	f, err = Open(name)
	require.NoError(t, err)
	require.NoError(t, f.Write(func(to *os.File) error {
		_, err := to.WriteString("all of the contents")
		return err
	}))
	buf := make([]byte, 64)
	n, err := r.Read(buf)
	require.NoError(t, err)
	require.Equal(t, "all of the contents", string(buf[:n]))

	f, err = Open(name)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.ErrorIs(t, f.WriteBytes([]byte("x")), syscall.EPIPE)
}

// Links are followed relative to their own folders.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, d := range []string{"a/b", "c"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, d), 0o700))
	}
	require.NoError(t, os.Symlink("a/b", filepath.Join(dir, "to-b")))
	require.NoError(t, os.Symlink("../../c/second", filepath.Join(dir, "a", "b", "first")))
	require.NoError(t, os.Symlink("f", filepath.Join(dir, "c", "second")))
	f, err := Open(filepath.Join(dir, "to-b", "first"))
	require.NoError(t, err)
	require.NoError(t, f.WriteBytes([]byte("x")))
	require.Equal(t, []string{"f", "second"}, names(t, filepath.Join(dir, "c")))
	require.Equal(t, []string{"first"}, names(t, filepath.Join(dir, "a", "b")))
}

// Files of another user in /tmp are neither followed nor written.
func TestFilesOfAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root makes files of another user")
	}
	const attacker, victim = 54321, 54322
	top, err := os.MkdirTemp("", "wholefile-") // t.TempDir is in a folder of root
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(top) })
	require.NoError(t, os.Chmod(top, 0o755))
	public, private := filepath.Join(top, "public"), filepath.Join(top, "private")
	require.NoError(t, os.Mkdir(public, 0o700))
	require.NoError(t, os.Chmod(public, 0o777|fs.ModeSticky))
	require.NoError(t, os.Mkdir(private, 0o700))
	for _, dir := range []string{public, private} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "regular"), []byte("precious"), 0o600))
		require.NoError(t, os.Symlink(filepath.Join(private, "regular"), filepath.Join(dir, "link")))
		require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
		for _, name := range names(t, dir) {
			require.NoError(t, os.Lchown(filepath.Join(dir, name), attacker, attacker))
		}
	}
	for _, name := range []string{"link", "pipe"} {
		_, err := Open(filepath.Join(public, name))
		require.ErrorContains(t, err, "it belongs to another user (54321)", name)
		f, err := Open(filepath.Join(private, name)) // only this user may create files there
		require.NoError(t, err, name)
		f.Close()
	}
	_, err = Open(filepath.Join(public, "regular")) // root replaces the file instead of writing to it
	require.NoError(t, err)

	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skipf("this test starts itself from a copy: %v", err)
	}
	copied := filepath.Join(top, "test")
	require.NoError(t, os.WriteFile(copied, self, 0o755))
	asVictim := func(name string) string {
		cmd := exec.Command(copied)
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), asOther+"="+filepath.Join(public, name))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: victim, Gid: victim}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	for _, name := range []string{"link", "pipe", "regular"} {
		require.Contains(t, asVictim(name), "it belongs to another user (54321)", name)
	}
	require.Equal(t, "<nil>", asVictim("of its own"))
	require.Equal(t, "<nil>", asVictim("of its own"), "again")
	b, err := os.ReadFile(filepath.Join(private, "regular"))
	require.NoError(t, err)
	require.Equal(t, "precious", string(b))
}
