package output

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra/internal/base/cure"
)

// broken is a writer that fails with an error.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

// Output is lost when it cannot be written, and the user is informed once. If the reader has
// left, that is no loss.
func TestLostOutput(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}
	for _, c := range []struct {
		name string
		err  error
		lost bool
	}{
		{"a full disk", full, true},
		{"a quota", syscall.EDQUOT, true},
		{"a limit on file sizes", syscall.EFBIG, true},
		{"a bad disk", syscall.EIO, true},
		{"a reader of a pipe that has left", &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}, false},
		{"a reader of a socket that has left", syscall.ECONNRESET, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := new(screen)
			console := NewConsole(broken{c.err}, s)
			console.Emit(Piece{Text: []byte("a\n")})
			console.Emit(Piece{Text: []byte("b\n")})
			console.Flush()
			want := ""
			if c.lost {
				want = fmt.Sprintf("intrarun: standard output is lost from here on: %v\n", cure.Write(c.err))
				require.ErrorIs(t, console.Lost(), c.err)
			} else {
				require.NoError(t, console.Lost())
			}
			require.Equal(t, want, s.String())
			console.Close()
		})
	}
}

// A closed terminal is a reader that has left. A disk with the same error is not.
func TestClosedTerminal(t *testing.T) {
	disk, err := os.Create(t.TempDir() + "/disk")
	require.NoError(t, err)
	defer disk.Close()
	device, err := os.Open(os.DevNull)
	require.NoError(t, err)
	defer device.Close()
	require.True(t, readerLeft(device, syscall.EIO))
	require.False(t, readerLeft(device, syscall.ENOSPC))
	require.False(t, readerLeft(disk, syscall.EIO))
	require.False(t, readerLeft(io.Discard, syscall.EIO))
}

// The end of the job reports the first error; standard error counts too.
func TestFirstLoss(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	console := NewConsole(broken{second}, broken{first})
	console.Notef("a line")
	console.Flush()
	require.Equal(t, first, console.Lost())
	console.Emit(Piece{Text: []byte("a\n")})
	console.Lose(Stdout, second)
	require.Equal(t, first, console.Lost())
	console.Close()
	console.Flush() // returns although no further note is written
}

// A sink keeps the first error, and writes nothing after it.
func TestSink(t *testing.T) {
	var b bytes.Buffer
	s := NewSink(&b)
	fmt.Fprint(s, "all")
	require.NoError(t, s.Lost())
	require.Equal(t, "all", b.String())
	for err, lost := range map[error]bool{syscall.ENOSPC: true, syscall.EPIPE: false} {
		broken := &broken{err}
		s := NewSink(broken)
		fmt.Fprint(s, "all")
		broken.err = nil
		_, got := fmt.Fprint(s, "more")
		require.ErrorIs(t, got, err)
		require.Equal(t, lost, s.Lost() != nil)
	}
}
