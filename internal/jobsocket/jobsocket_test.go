package jobsocket

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// asStranger makes this test binary a process of another user that listens on a name.
const asStranger = "JOBSOCKET_TEST_AS_STRANGER"

func TestMain(m *testing.M) {
	if name := os.Getenv(asStranger); name != "" {
		l, err := net.Listen("unix", name)
		if err != nil {
			panic(err)
		}
		defer l.Close()
		fmt.Println("listening")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	os.Exit(m.Run())
}

// take has another user listen on a name until the function returned is called.
func take(t *testing.T, name string) (release func()) {
	if os.Geteuid() != 0 {
		t.Skip("only root starts processes of another user")
	}
	dir, err := os.MkdirTemp("", "stranger-") // t.TempDir is in a folder of root's
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	require.NoError(t, os.Chmod(dir, 0o755))
	self, err := os.ReadFile(os.Args[0])
	require.NoError(t, err)
	program := filepath.Join(dir, "test")
	require.NoError(t, os.WriteFile(program, self, 0o755))
	cmd := exec.Command(program)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), asStranger+"="+name)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "listening\n", line)
	release = sync.OnceFunc(func() {
		in.Close()
		_ = cmd.Wait() // it has no more to say
	})
	t.Cleanup(release)
	return release
}

// A name that another user has taken is no job of this one.
func TestNamesOfAnotherUser(t *testing.T) {
	const nobody = 1<<22 + 1 // above all process IDs
	take(t, prefix(os.Getuid())+strconv.Itoa(nobody))
	jobs, err := Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, nobody)
	_, err = Ask(nobody, "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
}

// A job can be asked although another user has taken its name.
func TestJobWhoseNameIsTaken(t *testing.T) {
	release := take(t, address(os.Getpid()).Name)
	s, err := Serve(strings.ToUpper)
	require.NoError(t, err)
	defer s.Close()
	for range 2 {
		jobs, err := Jobs()
		require.NoError(t, err)
		require.Contains(t, jobs, os.Getpid())
		got, err := Ask(os.Getpid(), "status")
		require.NoError(t, err)
		require.Equal(t, "STATUS", got)
		release()
	}
}

func TestAsk(t *testing.T) {
	_, err := Ask(os.Getpid(), "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
	jobs, err := Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, os.Getpid())

	s, err := Serve(strings.ToUpper)
	require.NoError(t, err)
	jobs, err = Jobs()
	require.NoError(t, err)
	require.Contains(t, jobs, os.Getpid())
	for range 3 {
		got, err := Ask(os.Getpid(), "status")
		require.NoError(t, err)
		require.Equal(t, "STATUS", got)
	}
	_, err = Serve(strings.ToUpper)
	require.ErrorContains(t, err, "listen for questions about the job")
	require.NoError(t, s.Close())
	_, err = Ask(os.Getpid(), "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
}
