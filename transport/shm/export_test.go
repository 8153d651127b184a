//go:build linux

package shm

import (
	"os"
	"time"

	"github.com/intrahpc/intra/transport"
)

// OpenWithoutNet is Open without the periodic check of sleepers (safetyNet). That check
// would turn a lost wake-up, which hangs the test, into a delay that no test sees.
func OpenWithoutNet(f *os.File, side int) (transport.Link, error) {
	return (*Sleeper)(nil).OpenWithoutNet(f, side)
}

// OpenWithoutNet is Sleeper.Open without the periodic check of sleepers.
func (s *Sleeper) OpenWithoutNet(f *os.File, side int) (transport.Link, error) {
	l, err := s.Open(f, side)
	if err == nil {
		l.(*link).own.net = time.Hour
	}
	return l, err
}

// Record returns the bytes of a ring that a frame with that payload after its
// header takes.
func Record(size int, payload uint64) uint64 { return (&ring{size: uint64(size)}).record(payload) }
