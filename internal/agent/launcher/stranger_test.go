package launcher

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/needs"
)

// evil is an identity with which a stranger tries to have the job start its processes.
var evil = &Identity{Variables: []string{"LD_PRELOAD=/tmp/evil.so"}}

// send lends an identity without a proof.
func send(c *net.UnixConn, i *Identity) error {
	b, err := json.Marshal(i)
	if err != nil {
		return err
	}
	if _, err := c.Write(b); err != nil {
		return err
	}
	return c.CloseWrite()
}

// All users can read the name of a place and connect to it. The job borrows from its own
// processes only.
func TestStrangersCannotLend(t *testing.T) {
	dial := func(t *testing.T) *net.UnixConn {
		c, err := net.DialUnix("unix", nil, place(t).address())
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		return c
	}
	for _, c := range []struct {
		name  string
		lends func(t *testing.T)
	}{
		{"another user", func(t *testing.T) {
			needs.Stranger(t, func() { _ = send(dial(t), evil) }) // the borrower may refuse it before all is sent
		}},
		{"another user who knows the secret", func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			needs.Stranger(t, func() { _ = evil.Lend(ctx, place(t), 0) })
		}},
		{"this user without the secret", func(t *testing.T) { _ = send(dial(t), evil) }},
		{"this user with another secret", func(t *testing.T) {
			self, err := Lender(job.Secret{1}, "").end(lenderName)
			require.NoError(t, err)
			_, err = self.Client(t.Context(), dial(t), borrowerName)
			require.Error(t, err)
		}},
		{"this user, silent", func(t *testing.T) { dial(t) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := Borrow(place(t))
			require.NoError(t, err)
			defer b.Close()
			c.lends(t)
			go func() { _ = (&Identity{Variables: []string{"PMI_RANK=1"}}).Lend(t.Context(), place(t), 0) }()
			got, err := b.Next()
			require.NoError(t, err)
			require.Equal(t, []string{"PMI_RANK=1"}, got.Variables)
		})
	}
}

// A process of the job lends only the variables that a launcher sets.
func TestBorrowsNoOtherVariables(t *testing.T) {
	for _, v := range []string{"LD_PRELOAD=/tmp/evil.so", "PATH=/tmp", "XPMI_RANK=1", "PMI_FD=3", "PMI_FD"} {
		t.Run(v, func(t *testing.T) {
			b, err := Borrow(place(t))
			require.NoError(t, err)
			defer b.Close()
			go func() { _ = (&Identity{Variables: []string{"PMI_RANK=1", v}}).Lend(t.Context(), place(t), 0) }()
			_, err = b.Next()
			require.ErrorContains(t, err, "is none of a launcher's: want OMPI_…")
		})
	}
}

// Another user may listen under the name of a place once the borrower there has ended. That
// user receives nothing, in particular no descriptor.
func TestStrangersCannotBorrow(t *testing.T) {
	var l *net.UnixListener
	needs.Stranger(t, func() {
		var err error
		l, err = net.ListenUnix("unix", place(t).address())
		require.NoError(t, err)
	})
	defer l.Close()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fds[1])
	own := &Identity{PMI: os.NewFile(uintptr(fds[0]), "own"), Variables: []string{"PMI_RANK=1"}}
	defer own.PMI.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- own.Lend(ctx, place(t), 0) }()
	c, err := l.AcceptUnix()
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(20*time.Second)))
	n, on, _, _, _ := c.ReadMsgUnix(make([]byte, 1024), make([]byte, unix.CmsgSpace(4)))
	require.Zero(t, n, "a stranger was sent something")
	require.Zero(t, on, "a stranger was sent a descriptor")
	require.ErrorContains(t, <-done, "the other end belongs to another user")
}

// open makes a folder in which every user may make folders, like /tmp.
func open(t *testing.T) string {
	dir, err := os.MkdirTemp("", "open-") // the folder of the test is for this user only
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777|os.ModeSticky))
	return dir
}

// Another user may create the folder of a meeting, or a file of that name, before the job
// begins. All processes of the job refuse it, and the error names it.
func TestFoldersOfStrangersAreRefused(t *testing.T) {
	hostile := entry{"x", []byte("hostile")}
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want string
	}{
		{"folder", func(t *testing.T, dir string) {
			needs.Stranger(t, func() {
				require.NoError(t, os.Mkdir(dir, 0o700))
				require.NoError(t, os.Chmod(dir, 0o777))
				for i := range 2 {
					b, _ := json.Marshal(hostile)
					require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), b, 0o644))
				}
			})
		}, fmt.Sprintf("belongs to user %d", needs.StrangerID)},
		{"link to a folder of this user", func(t *testing.T, dir string) {
			mine := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(mine, "precious"), nil, 0o600))
			require.NoError(t, os.Chmod(mine, 0o700))
			needs.Stranger(t, func() { require.NoError(t, os.Symlink(mine, dir)) })
			t.Cleanup(func() { require.FileExists(t, filepath.Join(mine, "precious")) })
		}, "want what intrarun has made"},
		{"file", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(dir, nil, 0o600))
		}, "want what intrarun has made"},
		{"own folder with write access for others", func(t *testing.T, dir string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chmod(dir, 0o722))
		}, "want no access of other users"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(open(t), ".intra-meet")
			c.make(t, dir)
			for rank := range 2 {
				_, err := gatherFolder(t.Context(), dir, rank, 2, []byte("w"))
				require.ErrorContains(t, err, c.want)
				require.ErrorContains(t, err, "remove it, or have the processes meet elsewhere (INTRA_RENDEZVOUS=FOLDER)")
			}
		})
	}
}

// A folder of this user may contain files of another user, if the folder was open to other
// users before.
func TestFilesOfStrangersAreRefused(t *testing.T) {
	for _, name := range []string{"1", allWords} {
		dir := filepath.Join(open(t), ".intra-meet")
		require.NoError(t, os.Mkdir(dir, 0o777))
		require.NoError(t, os.Chmod(dir, 0o777))
		needs.Stranger(t, func() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(`[{},{}]`), 0o600))
		})
		require.NoError(t, os.Chmod(dir, 0o700))
		_, err := gatherFolder(t.Context(), dir, 1, 2, []byte("w"))
		require.ErrorContains(t, err, fmt.Sprintf("%s belongs to user %d", filepath.Join(dir, name), needs.StrangerID))
	}
}

// A job that was killed leaves its folder behind. The next job of that name, for example a
// requeued Slurm job, ignores the words in it.
func TestLeftoverFolderIsIgnored(t *testing.T) {
	dir := filepath.Join(t.TempDir(), ".intra-meet")
	require.NoError(t, os.Mkdir(dir, 0o700))
	root, err := openOwn(dir)
	require.NoError(t, err)
	defer root.Close()
	old := []entry{{"a", []byte("old 0")}, {"b", []byte("old 1")}}
	require.NoError(t, putJSON(root, "1", old[1]))
	require.NoError(t, putJSON(root, allWords, old))
	require.NoError(t, put(root, read(1), nil))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan [][]byte)
	go func() {
		all, _ := gatherFolder(ctx, dir, 1, 2, []byte("new 1"))
		done <- all
	}()
	require.Eventually(t, func() bool { // the process comes before the first one
		var e entry
		return readJSON(root, "1", &e) == nil && e.Fresh != "b"
	}, time.Minute, time.Millisecond)
	all, err := gatherFolder(ctx, dir, 0, 2, []byte("new 0"))
	require.NoError(t, err)
	want := [][]byte{[]byte("new 0"), []byte("new 1")}
	require.Equal(t, want, all)
	require.Equal(t, want, <-done)
	require.NoDirExists(t, dir)
}

// If a process is missing, no folder is left over.
func TestFolderIsRemovedAfterAFailure(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, ".intra-meet")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := gatherFolder(ctx, dir, 0, 2, nil)
	require.ErrorContains(t, err, "process 1 of 2 has not come to the folder")
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}
