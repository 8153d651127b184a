//go:build !linux

package tcp

import (
	"errors"
	"fmt"
	"net"
)

// Jobs of several processes need Linux. On other systems programs run unreplicated.

// iovec is a piece of memory to fill or to send.
type iovec struct {
	Base *byte
	Len  uint64
}

func (v *iovec) SetLen(n int) { v.Len = uint64(n) }

var errAgain = errors.New("nothing can be moved now")

func tune(net.Conn) error { return nil }

type plain struct{ stream }

func newPlain(net.Conn) (*plain, error) {
	return nil, fmt.Errorf("links between processes need Linux: %w", errors.ErrUnsupported)
}
