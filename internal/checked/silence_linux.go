package checked

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// SilenceOutput discards standard output until speak is called.
func SilenceOutput() (speak func(), err error) {
	const stdout = 1
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	kept, err := unix.FcntlInt(stdout, unix.F_DUPFD_CLOEXEC, stdout+2)
	if err != nil {
		return nil, fmt.Errorf("keep standard output: %w", err)
	}
	if err := unix.Dup3(int(null.Fd()), stdout, 0); err != nil {
		return nil, fmt.Errorf("redirect standard output: %w", err)
	}
	return func() {
		if err := unix.Dup3(kept, stdout, 0); err != nil {
			panic(fmt.Errorf("bring standard output back: %w", err))
		}
		_ = unix.Close(kept)
	}, nil
}
