package listen

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// These are the pauses between attempts of a listener that cannot accept.
const (
	leastPause = 5 * time.Millisecond
	mostPause  = 500 * time.Millisecond
)

// Accept accepts the next connection. It returns an error only if the listener is closed
// or its deadline has passed. Other errors, such as a lack of descriptors, may be
// temporary. Meanwhile the connection waits in the kernel.
func Accept[C any](accept func() (C, error)) (C, error) {
	var before error
	for pause := leastPause; ; pause = min(2*pause, mostPause) {
		c, err := accept()
		switch {
		case err == nil, errors.Is(err, net.ErrClosed):
			return c, err
		case errors.Is(err, os.ErrDeadlineExceeded):
			if before != nil {
				err = fmt.Errorf("%w (%w)", err, before)
			}
			return c, err
		}
		before = err
		time.Sleep(pause)
	}
}
