//go:build linux

package checkpoint

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// owned returns a job whose intrarun is this process.
func owned(name string) Owner { return NewOwner(name, true) }

// ended returns a job whose intrarun has ended.
func ended(t *testing.T, name string) Owner {
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	o := owned(name)
	o.PID, o.Start = cmd.Process.Pid, "1"
	return o
}

// noLocks is the locker of a file system without locks.
func noLocks(*os.File, bool) error { return errNoLocks }

// A folder belongs to one job as long as any of its processes lives, and each of them
// knows the owner.
func TestFolderBelongsToOneJob(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state", "of job")
	first := owned("hpccg -nx 8")
	l, err := Take(dir, first)
	require.NoError(t, err)
	_, err = Take(dir, owned("gtc"))
	require.ErrorIs(t, err, ErrHeld)
	require.ErrorContains(t, err, `the job "hpccg -nx 8" (intrarun `)
	require.ErrorContains(t, err, " writes there: two jobs with one folder would remove each other's checkpoints; choose another one, or wait for its end")

	rank, err := Share(dir, first.ID)
	require.NoError(t, err)
	_, err = Share(dir, owned("gtc").ID)
	require.ErrorIs(t, err, ErrHeld, "a process of another job")
	l.drop() // the head has died
	next, err := Take(dir, first)
	require.NoError(t, err, "its successor")
	l.drop()
	next.drop()
	_, err = take(dir, owned("gtc"), lockFile, 0)
	require.ErrorIs(t, err, ErrHeld, "its rank is live")
	rank.drop()
	other, err := Take(dir, owned("gtc"))
	require.NoError(t, err, "all its processes are dead")
	_, err = Share(dir, first.ID)
	require.ErrorContains(t, err, `the job "gtc"`)
	other.Release()
	require.Empty(t, left(t, dir), "a job that has ended leaves no file")
}

// left lists the contents of a folder.
func left(t *testing.T, dir string) (all []string) {
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// The processes of a job whose intrarun is dead are being killed. The next job waits until
// they have ended.
func TestFolderIsHandedOver(t *testing.T) {
	dir := t.TempDir()
	dead := ended(t, "hpccg")
	l, err := Take(dir, dead)
	require.NoError(t, err)
	time.AfterFunc(50*time.Millisecond, l.drop)
	next, err := Take(dir, owned("gtc"))
	require.NoError(t, err)
	next.Release()

	l, err = Take(dir, dead)
	require.NoError(t, err)
	defer l.drop()
	_, err = take(dir, owned("gtc"), lockFile, 0)
	require.ErrorContains(t, err, "although its intrarun is gone")
}

// If the user empties the folder, the job takes it again, unless another job has taken it.
func TestFolderThatWasEmptied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	mine := owned("hpccg")
	l, err := Take(dir, mine)
	require.NoError(t, err)
	require.NoError(t, l.Renew(mine))
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, l.Renew(mine))
	_, err = Share(dir, mine.ID)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	other, err := Take(dir, owned("gtc"))
	require.NoError(t, err)
	defer other.Release()
	require.ErrorContains(t, l.Renew(mine), `the job "gtc"`)
	l.Release()
	require.Equal(t, []string{lockName}, left(t, dir), "it belongs to the other job")
}

// A process that sees another folder than its head reports this.
func TestFolderThatIsNotShared(t *testing.T) {
	_, err := Share(t.TempDir(), owned("hpccg").ID)
	require.ErrorIs(t, err, ErrElsewhere)
	require.ErrorContains(t, err, "on a file system that all hosts share?")
	_, err = share(t.TempDir(), owned("hpccg").ID, noLocks)
	require.ErrorIs(t, err, ErrElsewhere)
}

// Without locks, a file with the name of the job takes the place of a lock. The next job
// recognizes a dead job of this host. If the job was on another host, the user has to
// decide.
func TestFolderWithoutLocks(t *testing.T) {
	far := ended(t, "far")
	far.System = "another"
	several := ended(t, "several")
	several.Alone = false
	for _, c := range []struct {
		name  string
		owner Owner
		want  string // why another job cannot take the folder; "": it can
	}{
		{"alive", owned("alive"), "wait for its end"},
		{"dead", ended(t, "dead"), ""},
		{"on another host", far, "if it does not, remove "},
		{"on several hosts", several, "if it does not, remove "},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l, err := take(dir, c.owner, noLocks, 0)
			require.NoError(t, err)
			_, err = share(dir, c.owner.ID, noLocks)
			require.NoError(t, err)
			next, err := take(dir, owned("next"), noLocks, time.Second)
			if c.want != "" {
				require.ErrorIs(t, err, ErrHeld)
				require.ErrorContains(t, err, c.want)
				l.Release()
				next, err = take(dir, owned("next"), noLocks, 0)
			}
			require.NoError(t, err)
			next.Release()
			require.Empty(t, left(t, dir))
		})
	}
}

// If the lock is not a regular file, it is never opened to write the name of a job.
func TestLockThatIsNoFile(t *testing.T) {
	for name, make := range map[string]func(path string) error{
		"a symbolic link": func(path string) error { return os.Symlink(filepath.Join(filepath.Dir(path), "aim"), path) },
		"a named pipe":    func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"a folder":        func(path string) error { return os.Mkdir(path, 0o700) },
	} {
		dir := t.TempDir()
		require.NoError(t, make(filepath.Join(dir, lockName)))
		_, err := Take(dir, owned("hpccg"))
		require.ErrorIs(t, err, ErrIrregular)
		require.ErrorContains(t, err, filepath.Join(dir, lockName)+" is "+name)
		require.Equal(t, []string{lockName}, left(t, dir))
	}
}
