package launcher

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/testkit/needs"
)

// place returns a place that no other test uses.
func place(t *testing.T) Place {
	return Lender([32]byte{}, fmt.Sprintf("%s %d", t.Name(), os.Getpid()))
}

// readGoodbye acts as a launcher that receives a process's report of its regular end.
func readGoodbye(t *testing.T, launcher io.ReadWriter) {
	t.Helper()
	text := make([]byte, len("cmd=finalize\n"))
	_, err := io.ReadFull(launcher, text)
	require.NoError(t, err)
	require.Equal(t, "cmd=finalize\n", string(text))
	_, err = io.WriteString(launcher, "cmd=finalize_ack\n")
	require.NoError(t, err)
}

func TestIdentity(t *testing.T) {
	own, err := Own([]string{"HOME=/h", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3"})
	require.NoError(t, err)
	require.Nil(t, own.PMI)
	require.Equal(t, []string{"PATH=/p", "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3"},
		own.Environ([]string{"OMPI_COMM_WORLD_RANK=0", "PATH=/p", "PMIX_RANK=0", "PMI_FD=9"}, 7))
	_, err = Own([]string{"PMI_FD=x"})
	require.ErrorContains(t, err, "PMI_FD=x")
}

// TestLend checks the identity that a process borrows from an MPI launcher: it gets the
// variables and the socket of the lending process. The lending process waits until it is
// released, and then reports its regular end to the launcher.
func TestLend(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	defer theirs.Close()
	own, err := Own([]string{"PMI_RANK=1", fmt.Sprintf("PMI_FD=%d", fds[0])})
	require.NoError(t, err)
	require.NoError(t, unix.Close(fds[0]))
	launcher, err := net.FileConn(theirs)
	require.NoError(t, err)
	defer launcher.Close()

	b, err := Borrow(place(t))
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- own.Lend(t.Context(), place(t), 0) }()
	got, err := b.Next()
	require.NoError(t, err)
	require.Equal(t, []string{"PMI_RANK=1", "PMI_FD=5"}, got.Environ(nil, 5))
	require.NotEmpty(t, got.Processors)
	require.Equal(t, own.Processors, got.Processors)
	_, err = got.PMI.WriteString("hello\n")
	require.NoError(t, err)
	require.NoError(t, got.PMI.Close())
	text := make([]byte, 6)
	_, err = io.ReadFull(launcher, text)
	require.NoError(t, err)
	require.Equal(t, "hello\n", string(text))
	select {
	case err := <-done:
		require.Fail(t, "the lender has ended", "%v", err)
	case <-time.After(20 * time.Millisecond):
	}
	b.Close()
	readGoodbye(t, launcher)
	require.NoError(t, <-done)
}

func TestLendWithoutABorrower(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := new(Identity).Lend(ctx, place(t), os.Getpid())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "lend what the launcher has given")
}

// A process that connects while the borrower has no free descriptor is accepted once it
// has one.
func TestBorrowWithoutDescriptors(t *testing.T) {
	b, err := Borrow(place(t))
	require.NoError(t, err)
	defer b.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	needs.NoDescriptors(t, func() {
		require.NoError(t, unix.Connect(fd, &unix.SockaddrUnix{Name: place(t).address().Name}))
		time.Sleep(50 * time.Millisecond) // long enough for the listener to notice
	})
	go func() { _ = (&Identity{Variables: []string{"PMI_RANK=1"}}).Lend(t.Context(), place(t), 0) }()
	got, err := b.Next()
	require.NoError(t, err)
	require.Equal(t, []string{"PMI_RANK=1"}, got.Variables)
}

// Lend does not wait for a process that has ended without borrowing.
func TestLendToAnEndedProcess(t *testing.T) {
	agent := exec.Command("sleep", "1000")
	require.NoError(t, agent.Start())
	done := make(chan error, 1)
	go func() { done <- new(Identity).Lend(t.Context(), place(t), agent.Process.Pid) }()
	select {
	case err := <-done:
		t.Fatalf("it lives, but the lender has ended: %v", err)
	case <-time.After(3 * lookForAgent):
	}
	require.NoError(t, agent.Process.Kill())
	require.Error(t, agent.Wait())
	require.ErrorIs(t, <-done, ErrNoBorrower)
}

// The borrower may end, or release all lenders, during the exchange. The lender reports
// success to the launcher: otherwise the launcher would kill the process that still has to
// report the reason.
func TestBorrowerEndsDuringTheExchange(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	launcher := os.NewFile(uintptr(fds[1]), "launcher")
	defer launcher.Close()
	own := &Identity{PMI: os.NewFile(uintptr(fds[0]), "own"), Variables: []string{"PMI_LONG=" + strings.Repeat("x", 8<<20)}} // more than a socket's buffer holds
	defer own.PMI.Close()
	l, err := net.ListenUnix("unix", place(t).address())
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- own.Lend(t.Context(), place(t), 0) }()
	c, err := l.AcceptUnix()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	borrower, err := place(t).end(borrowerName)
	require.NoError(t, err)
	require.NoError(t, admit(t.Context(), borrower, c))
	require.NoError(t, c.Close())
	readGoodbye(t, launcher)
	require.NoError(t, <-done)
}

// If no process borrows, the lenders that wait are released.
func TestDismiss(t *testing.T) {
	done := make(chan error, 2)
	for range cap(done) {
		go func() { done <- new(Identity).Lend(t.Context(), place(t), 0) }()
	}
	Dismiss(t.Context(), place(t), cap(done))
	for range cap(done) {
		require.NoError(t, <-done)
	}
	b, err := Borrow(place(t))
	require.NoError(t, err)
	defer b.Close()
	go func() { done <- new(Identity).Lend(t.Context(), place(t), 0) }()
	Dismiss(t.Context(), place(t), 1)
	_, err = b.Next()
	require.NoError(t, err, "the identity was lent")
}

// MPI needs a launcher that its library can communicate with. This process finishes its own
// use of the launcher before MPI starts.
func TestForMPI(t *testing.T) {
	find := func(environment map[string]string) *Process {
		p, err := Find(func(name string) string { return environment[name] })
		require.NoError(t, err)
		return p
	}
	bare := find(map[string]string{"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5", "SLURMD_NODENAME": "n2"})
	require.Equal(t, "n2", bare.Host)
	require.ErrorContains(t, bare.ForMPI(), "use srun --mpi=pmi2")
	require.NoError(t, find(map[string]string{"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}).ForMPI())

	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(fds[0])
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	there, err := net.FileConn(theirs)
	require.NoError(t, err)
	theirs.Close()
	defer there.Close()
	s := &server{values: make(map[string]string)}
	s.waiting.Add(2)
	go s.serve(there)
	p := find(map[string]string{"PMI_FD": fmt.Sprint(fds[0]), "PMI_RANK": "0", "PMI_SIZE": "2"})
	require.NoError(t, p.ForMPI())
	other, end := net.Pipe()
	go s.serve(end)
	go func() { _, _ = gatherPMI(t.Context(), other, 1, 2, []byte("b"), true) }()
	all, err := p.Gather(t.Context(), []byte("a"))
	require.NoError(t, err)
	require.Equal(t, [][]byte{[]byte("a"), []byte("b")}, all)
	_, err = unix.Write(fds[0], []byte("cmd=init pmi_version=1 pmi_subversion=1\n")) // the descriptor is still open
	require.NoError(t, err)
	answer := make([]byte, 64)
	n, err := unix.Read(fds[0], answer)
	require.NoError(t, err)
	require.Contains(t, string(answer[:n]), "cmd=response_to_init")
}
