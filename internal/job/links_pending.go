package job

import (
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/transport/tcp"
)

// Temporary, until package shm is there: both sides over one socket file.
type pendingSegment struct{ f *os.File }

func (p pendingSegment) File() *os.File { return p.f }

func shmCreate(int) (pendingSegment, error) {
	fd, err := unix.MemfdCreate("x", unix.MFD_CLOEXEC)
	return pendingSegment{os.NewFile(uintptr(fd), "x")}, err
}

func shmOpen(f *os.File, side int) (transport.Link, error) {
	a, _ := net.Pipe()
	return tcp.New(a), nil
}
