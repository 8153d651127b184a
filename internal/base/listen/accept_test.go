package listen

import (
	"errors"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAcceptOutlivesALackOfDescriptors(t *testing.T) {
	full := &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", syscall.EMFILE)}
	for _, c := range []struct {
		name string
		says []error
		want error // result of Accept; nil: the connection is accepted
	}{
		{"at once", []error{nil}, nil},
		{"after a lack", []error{full, full, syscall.ECONNABORTED, syscall.ENOMEM, nil}, nil},
		{"closed", []error{full, net.ErrClosed}, net.ErrClosed},
		{"in time", []error{os.ErrDeadlineExceeded}, os.ErrDeadlineExceeded},
		{"full until the deadline", []error{full, os.ErrDeadlineExceeded}, syscall.EMFILE},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls := 0
			got, err := Accept(func() (int, error) {
				calls++
				return calls, c.says[calls-1]
			})
			require.Equal(t, len(c.says), calls)
			if c.want == nil {
				require.NoError(t, err)
				require.Equal(t, calls, got)
				return
			}
			require.True(t, errors.Is(err, c.want), "%v", err)
		})
	}
}
