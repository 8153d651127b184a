package linktest

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/transport"
)

// crashEnv is set in a child process and selects how it dies.
const crashEnv = "INTRA_LINKTEST_CRASH"

// The ways in which the child of Crash kills itself with SIGKILL.
const (
	crashMid     = "mid"     // in the middle of a long frame
	crashBetween = "between" // after a frame was handed over
)

const crashFrames = 4 // whole frames before the death

// Child runs in the TestMain of a package that uses Crash. In a process that Crash has
// started, it sends over the link that open makes from descriptor 3 and does not return.
func Child(open func(f *os.File) (transport.Link, error)) {
	how := os.Getenv(crashEnv)
	if how == "" {
		return
	}
	l, err := open(os.NewFile(3, "link"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Die(l, how)
}

// Die sends over a link whose other end belongs to another process, and then kills its own
// process. how is "mid" for a death in the middle of a long frame, or "between" for a death
// after a frame.
func Die(l transport.Link, how string) {
	s := start(l, newRecorder(placeOwn))
	die := func() bool {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	for n := range crashFrames {
		s.send(newFrame(1, n, 100*n, 1, nil))
	}
	for s.owners.left.Load() > 0 {
		time.Sleep(time.Millisecond)
	}
	if how == crashMid {
		f := newFrame(1, crashFrames, streamed, 2, nil)
		f.Mid = die
		s.send(f)
		select {} // Mid is called when the parent has made room
	}
	die()
}

// Crash kills a real process inside a frame and between frames, and checks the calls that
// its peer's Receiver gets. pair makes a link of which this process has one end; the child
// gets the other one as a descriptor.
func Crash(t *testing.T, pair func(t testing.TB) (l transport.Link, child *os.File)) {
	for _, how := range []string{crashMid, crashBetween} {
		t.Run(how, func(t *testing.T) {
			exe, err := os.Executable()
			require.NoError(t, err)
			l, file := pair(t)
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), crashEnv+"="+how)
			cmd.ExtraFiles = []*os.File{file}
			cmd.Stderr = os.Stderr
			require.NoError(t, cmd.Start())
			require.NoError(t, file.Close())
			s := start(l, newRecorder(placeOwn))
			err = cmd.Wait()
			var exit *exec.ExitError
			require.ErrorAs(t, err, &exit)
			require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
			s.bury(t, how)
		})
	}
}

// Outlive is the other side of Die. dead must return when the peer is dead; Outlive returns
// after that. Outlive checks that the frames that the peer had handed over arrive in order.
// A link that keeps them in the memory of the sender may lose the last ones.
func Outlive(t testing.TB, l transport.Link, dead func()) {
	s := start(l, newRecorder(placeOwn))
	dead()
	s.PeerDied()
	s.gone(t, transport.ErrPeerGone)
	require.LessOrEqual(t, s.count(), crashFrames)
	if s.count() < crashFrames {
		require.Empty(t, s.torn)
	}
	closeBoth(t, s)
}

// Bereave starts a link to a process that is dead and has sent nothing, and checks that the
// link ends.
func Bereave(t testing.TB, l transport.Link) {
	s := start(l, newRecorder(placeOwn))
	s.PeerDied()
	s.gone(t, transport.ErrPeerGone)
	closeBoth(t, s)
}

// bury checks the frames from a peer that is dead.
func (s *side) bury(t testing.TB, how string) {
	t.Helper()
	s.PeerDied()
	s.gone(t, transport.ErrPeerGone)
	require.Equal(t, crashFrames, s.count())
	if how == crashMid {
		require.Len(t, s.torn, 1)
	} else {
		require.Empty(t, s.torn)
	}
	closeBoth(t, s)
}
