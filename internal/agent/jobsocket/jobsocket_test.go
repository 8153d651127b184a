package jobsocket

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// take has another user listen on a name until the function returned is called.
func take(t *testing.T, at *net.UnixAddr) (release func()) {
	var l *net.UnixListener
	var err error
	needs.Stranger(t, func() { l, err = net.ListenUnix("unix", at) })
	require.NoError(t, err)
	release = sync.OnceFunc(func() { l.Close() })
	t.Cleanup(release)
	return release
}

// A name that another user has taken does not count as a job of this user.
func TestNamesOfAnotherUser(t *testing.T) {
	const nobody = 1<<22 + 1 // above all process IDs
	take(t, address(nobody))
	jobs, err := Jobs()
	require.NoError(t, err)
	require.NotContains(t, jobs, nobody)
	_, err = Ask(nobody, "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
}

// A job answers questions although another user has taken its name.
func TestJobAnswersUnderAnotherName(t *testing.T) {
	release := take(t, address(os.Getpid()))
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

// A question that arrives while intrarun has no free descriptor is answered once it has one.
// Later questions are answered, too.
func TestAskWithoutDescriptors(t *testing.T) {
	s, err := Serve(strings.ToUpper)
	require.NoError(t, err)
	defer s.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 20}))
	c := os.NewFile(uintptr(fd), "question")
	defer c.Close()
	needs.NoDescriptors(t, func() {
		require.NoError(t, unix.Connect(fd, &unix.SockaddrUnix{Name: address(os.Getpid()).Name}))
		_, err := os.Open(os.DevNull)
		require.ErrorIs(t, err, unix.EMFILE)
		time.Sleep(50 * time.Millisecond) // long enough for the listener to notice, too
	})
	_, err = c.WriteString("status")
	require.NoError(t, err)
	require.NoError(t, unix.Shutdown(fd, unix.SHUT_WR))
	got, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "STATUS", string(got))
	answer, err := Ask(os.Getpid(), "status")
	require.NoError(t, err)
	require.Equal(t, "STATUS", answer)
}

// Another user gets no answer, and does not count as an intrarun.
func TestStrangersGetNoAnswer(t *testing.T) {
	s, err := Serve(strings.ToUpper)
	require.NoError(t, err)
	defer s.Close()
	ours := address(os.Getpid()) // the name with this user's ID
	var got []byte
	var failed error
	needs.Stranger(t, func() {
		c, err := net.DialUnix("unix", nil, ours)
		if err != nil {
			failed = err
			return
		}
		defer c.Close()
		_, write := io.WriteString(c, "status")
		closed := c.CloseWrite()
		got, err = io.ReadAll(c)
		failed = errors.Join(write, closed, err)
	})
	require.Empty(t, got)
	if failed != nil { // intrarun closed the connection before the question
		require.True(t, errors.Is(failed, unix.EPIPE) || errors.Is(failed, unix.ECONNRESET) || errors.Is(failed, unix.ENOTCONN), "%v", failed)
	}
	require.NoError(t, s.Close())

	take(t, ours)
	_, err = Ask(os.Getpid(), "status")
	require.ErrorContains(t, err, "is no intrarun of yours")
}
