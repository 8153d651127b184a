package lease

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if os.Getenv("INTRA_TEST_LEASE") != "" {
		hold(os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// hold answers each line of in with whether the inherited lease is held.
func hold(in io.Reader, out io.Writer) {
	l, err := Open(os.NewFile(3, "lease"))
	if err != nil {
		fmt.Fprintln(out, err)
		return
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fmt.Fprintln(out, l.Held())
	}
}

// TestInherit requires that a process sees the lease that its agent publishes, and notices
// by itself that it ends when the agent does not renew it.
func TestInherit(t *testing.T) {
	w, err := NewWord()
	require.NoError(t, err)
	defer w.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "INTRA_TEST_LEASE=1")
	cmd.ExtraFiles = []*os.File{w.File()}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	answers := bufio.NewReader(out)
	ask := func() string {
		_, err := fmt.Fprintln(in)
		require.NoError(t, err)
		s, err := answers.ReadString('\n')
		require.NoError(t, err)
		return strings.TrimSpace(s)
	}
	require.Equal(t, "false", ask(), "nothing is published yet")
	w.Publish(Now() + time.Hour)
	require.Equal(t, "true", ask())
	w.Publish(Now())
	require.Equal(t, "false", ask())
	until := Now() + 30*time.Millisecond
	w.Publish(until)
	for ask() == "true" {
	}
	require.Greater(t, Now(), until, "it ends by the clock alone")
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
}

// TestSealed requires that a process with only the file cannot write or truncate the word.
func TestSealed(t *testing.T) {
	w, err := NewWord()
	require.NoError(t, err)
	defer w.Close()
	fd := int(w.File().Fd())
	_, err = unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.ErrorIs(t, err, unix.EPERM)
	_, err = w.File().WriteAt([]byte("forged!!"), 0)
	require.ErrorIs(t, err, unix.EPERM)
	require.ErrorIs(t, w.File().Truncate(0), unix.EPERM)
	w.Publish(Now() + time.Hour)
	require.True(t, w.Held(), "the agent itself can")
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/f")
	require.NoError(t, err)
	defer f.Close()
	_, err = Open(f)
	require.ErrorContains(t, err, "is not a lease")
}

func TestAwait(t *testing.T) {
	w, err := NewWord()
	require.NoError(t, err)
	defer w.Close()
	l, err := Open(w.File())
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() { done <- l.Await(ctx) }()
	select {
	case err := <-done:
		t.Fatalf("returned without a lease: %v", err)
	case <-time.After(5 * poll):
	}
	w.Publish(Now() + time.Hour)
	require.NoError(t, <-done)
	w.Publish(0)
	go func() { done <- l.Await(ctx) }()
	cancel(io.ErrClosedPipe)
	err = <-done
	require.ErrorIs(t, err, ErrOver)
	require.ErrorIs(t, err, io.ErrClosedPipe)
}

func TestNilLeaseIsHeld(t *testing.T) {
	var l *Lease
	require.True(t, l.Held())
	require.NoError(t, l.Await(t.Context()))
	require.NoError(t, l.Close())
}

// TestWait checks the inequality with pairs of clocks that differ as much as the drift
// allows. It also checks that the wait is not longer than necessary.
func TestWait(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, drift := range []float64{0, 0.001, 0.01, 0.05, 0.2} {
		tight := false
		for i := range 10_000 {
			giver, holder := 1+drift, 1-drift // the worst pair: a fast grantor and a slow holder
			if i > 0 {
				giver, holder = 1+drift*(2*rng.Float64()-1), 1+drift*(2*rng.Float64()-1)
			}
			d := time.Duration(rng.Int64N(int64(time.Second)))
			asked := rng.Float64() * 1e9                       // true time
			answered := asked + rng.Float64()*1e8*float64(i%2) // true time
			lease := asked + float64(d)/holder
			wait := answered + float64(Wait(d, drift))/giver
			require.GreaterOrEqual(t, wait, lease-1e-3, "drift %v giver %v holder %v", drift, giver, holder)
			tight = tight || wait-lease < 10
		}
		require.True(t, tight, "drift %v", drift)
	}
}
