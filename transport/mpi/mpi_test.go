//go:build mpi && linux

package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/testkit/linktest"
	"github.com/intrahpc/intra/transport"
)

// underLauncher is set in the processes that a test starts under a launcher, to
// a folder that they share.
const underLauncher = "INTRA_MPI_TEST"

var world *World

func TestMain(m *testing.M) {
	if os.Getenv(underLauncher) == "" {
		os.Exit(m.Run())
	}
	var err error
	if world, err = Init(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := world.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	over := filepath.Join(os.Getenv(underLauncher), fmt.Sprint("over.", world.Rank()))
	if err := os.WriteFile(over, nil, 0o666); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// launcher starts processes that share a native MPI library.
type launcher struct {
	name     string
	command  []string // followed by the number of processes and the program
	survives []string // the same command for tests in which a process dies and the others continue
	wrapper  []string // arguments before the program's own
}

var all = []launcher{{
	name:     "Open MPI",
	command:  []string{"mpirun.openmpi", "--oversubscribe", "-np"},
	survives: []string{"mpirun.openmpi", "--oversubscribe", "--enable-recovery", "-np"},
}, {
	name:     "MPICH",
	command:  []string{"mpiexec.hydra", "-n"},
	survives: []string{"mpiexec.hydra", "-n"},
	// hydra ends the job when a process dies, or when the connection to it ends.
	wrapper: []string{"sh", "-c", `trap "" USR1; "$0" "$@"; cd "$` + underLauncher + `"; until [ -e over.0 ] && [ -e over.2 ]; do sleep 0.1; done`},
}}

// launched runs a test of this package under each launcher.
func launched(t *testing.T, processes int, test string, dies bool) {
	if world != nil {
		t.Skip("already under a launcher")
	}
	for _, l := range all {
		t.Run(l.name, func(t *testing.T) {
			if _, err := exec.LookPath(l.command[0]); err != nil {
				if os.Getenv("CI") != "" {
					t.Fatalf("%s is not installed", l.command[0])
				}
				t.Skipf("%s is not installed", l.command[0])
			}
			exe, err := os.Executable()
			require.NoError(t, err)
			args := append([]string{}, l.command...)
			if dies {
				args = append([]string{}, l.survives...)
			}
			args = append(args, strconv.Itoa(processes))
			if dies {
				args = append(args, l.wrapper...)
			}
			args = append(args, exe, "-test.run", "^"+test+"$", "-test.v", "-test.timeout", "240s")
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.WaitDelay = time.Second
			cmd.Env = append(os.Environ(), underLauncher+"="+t.TempDir(),
				"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if !dies || l.wrapper == nil { // hydra exits with an error after a death
				require.NoError(t, err)
			}
			want := processes
			if dies {
				want--
			}
			require.Equal(t, want, strings.Count(string(out), "--- PASS: "+test+" "), "processes in which %s passed", test)
		})
	}
}

// only skips a test unless it runs under a launcher.
func only(t *testing.T) {
	if world == nil {
		t.Skip("runs under a launcher, started by another test")
	}
}

func TestLink(t *testing.T)   { launched(t, 1, "TestSelf", false) }
func TestTalk(t *testing.T)   { launched(t, 2, "TestPeers", false) }
func TestFrugal(t *testing.T) { launched(t, 1, "TestAllocations", false) }
func TestDeath(t *testing.T) {
	for _, how := range []string{"Mid", "Between"} {
		t.Run(how, func(t *testing.T) { launched(t, 3, "TestDeath"+how, true) })
	}
}

var channels atomic.Int32

// pair makes both ends of a link in one process: the library sends to itself.
func pair(t testing.TB) (a, b transport.Link) {
	channel := int(channels.Add(1))
	la, err := world.link(world.Rank(), channel, 0)
	require.NoError(t, err)
	lb, err := world.link(world.Rank(), channel, 1)
	require.NoError(t, err)
	return la, lb
}

func TestSelf(t *testing.T) {
	only(t)
	linktest.Run(t, pair)
	t.Run("PeerDiedBeforeStartDrains", func(t *testing.T) {
		a, b := pair(t)
		a.Start(new(counter))
		h := transport.Header{Channel: transport.ChannelMessage}
		require.True(t, a.(transport.Prompt).SendNow(&h, []byte{1}, nil))
		b.PeerDied()
		in := new(counter)
		b.Start(in)
		require.Eventually(t, func() bool { return in.frames.Load() == 1 }, time.Minute, time.Millisecond)
		require.NoError(t, a.Close())
		require.NoError(t, b.Close())
	})
	t.Run("ProbeAfterDeath", testProbe)
}

// After a death a link reports a peer that receives nothing, and withdraws the report when the
// peer receives.
func testProbe(t *testing.T) {
	a, b := pair(t)
	reports := make(chan error, 1)
	a.(*link).suspicion.report = func(err error) { reports <- err }
	a.Start(new(counter))
	h := transport.Header{Channel: transport.ChannelMessage}
	require.True(t, a.(transport.Prompt).SendNow(&h, []byte{1}, nil))
	quiet := func() {
		select {
		case err := <-reports:
			require.Fail(t, "report", err)
		case <-time.After(10 * turn):
		}
	}
	quiet()
	world.blocked = 3 * turn // read only after a death
	world.Mourn()
	require.ErrorContains(t, <-reports, "has received no message for 60ms since a process died")
	in := new(counter)
	b.Start(in)
	require.NoError(t, <-reports)
	require.Eventually(t, func() bool { return in.frames.Load() == 1 }, time.Minute, time.Millisecond)
	world.Mourn()
	quiet()
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
	world.deaths.Store(0)
}

// counter is a Receiver that counts frames and lets the link provide the memory of
// payloads.
type counter struct{ frames atomic.Int64 }

func (c *counter) Begin(*transport.Header) []byte { return nil }
func (c *counter) End(*transport.Header, []byte)  { c.frames.Add(1) }
func (c *counter) Torn(*transport.Header, int)    {}
func (c *counter) Lost(*transport.Header)         {}
func (c *counter) Closed(error)                   {}

// Sending a small frame does not allocate on the Go heap. Receiving a large one in the
// link's own memory does not allocate the payload.
func TestAllocations(t *testing.T) {
	only(t)
	a, b := pair(t)
	in, sent := new(counter), int64(0)
	a.Start(new(counter))
	b.Start(in)
	arrive := func() {
		for sent++; in.frames.Load() < sent; b.Progress() {
			a.Progress()
		}
	}
	h, payload := transport.Header{Channel: transport.ChannelMessage}, []byte{1}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		for !a.(transport.Prompt).SendNow(&h, payload, nil) {
			a.Progress()
		}
		arrive()
	}), "allocations for a small frame")

	const size, frames = 2 * packetSize, 100
	large := [][]byte{make([]byte, size)}
	send := func(n int) {
		for range n {
			a.Send(&transport.Frame{Header: h, Payload: large})
			arrive()
		}
	}
	send(slots) // from here on all packets have their memory
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	send(frames)
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(frames*size/4), "bytes allocated for large frames")
	require.NoError(t, a.Close())
	require.NoError(t, b.Close())
}

func TestPeers(t *testing.T) {
	only(t)
	for channel := range 2 {
		l, err := world.Link(1-world.Rank(), channel, nil)
		require.NoError(t, err)
		linktest.Talk(t, l)
	}
	_, err := world.Link(1-world.Rank(), 1, nil)
	require.ErrorContains(t, err, "in use before")
	_, err = world.Link(world.Size(), 1, nil)
	require.ErrorContains(t, err, "no rank 2 in a world of 2")
}

func TestDeathMid(t *testing.T)     { death(t, "mid") }
func TestDeathBetween(t *testing.T) { death(t, "between") }

// death makes rank 1 die. Ranks 0 and 2 receive its messages, and continue.
func death(t *testing.T, how string) {
	only(t)
	file := filepath.Join(os.Getenv(underLauncher), "pid")
	if world.Rank() == 1 {
		require.NoError(t, os.WriteFile(file, []byte(strconv.Itoa(os.Getpid())), 0o666))
		for _, peer := range []int{2, 0} {
			l, err := world.Link(peer, 0, nil)
			require.NoError(t, err)
			if peer == 0 {
				linktest.Die(l, how)
			}
		}
	}
	if world.Rank() == 0 {
		l, err := world.Link(1, 0, nil)
		require.NoError(t, err)
		linktest.Outlive(t, l, func() { await(t, file) })
	} else {
		await(t, file)
		l, err := world.Link(1, 0, nil)
		require.NoError(t, err)
		linktest.Bereave(t, l)
	}
	l, err := world.Link(2-world.Rank(), 0, nil)
	require.NoError(t, err)
	linktest.Talk(t, l)
}

// await returns when the process whose number is in the file has died.
func await(t *testing.T, file string) {
	require.Eventually(t, func() bool {
		text, err := os.ReadFile(file)
		if err != nil || len(text) == 0 {
			return false
		}
		pid, err := strconv.Atoi(string(text))
		require.NoError(t, err)
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) == syscall.ESRCH
	}, 60*time.Second, 10*time.Millisecond)
}
