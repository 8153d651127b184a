package file

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// claims is the offset of the locks by which ranks that append to a file find each other. The
// owner O, a rank of a job, locks the byte at claims+O, which no file is long enough to have.
const claims = farthest

// claim locks the byte of an owner in a file that it appends to. It returns an error if another
// owner has locked its own. Without locks in the file system it does nothing.
//
// A replica of the same rank may have the lock: a host that is cut off keeps it for a while.
// A killed process loses its locks only when the kernel has closed its files, so claim waits
// for a moment.
func claim(h *os.File, owner int64) error {
	lock := func(command int, from, n int64) (unix.Flock_t, error) {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: from, Len: n}
		err := unix.FcntlFlock(h.Fd(), command, &l)
		return l, err
	}
	own := claims + owner
	_, _ = lock(unix.F_OFD_SETLK, own, 1) // it fails if another replica has it
	for pause := time.Millisecond; ; pause *= 2 {
		other := int64(-1)
		for _, side := range [][2]int64{{claims, owner}, {own + 1, 0}} { // 0: all bytes
			if side[0] == claims && owner == 0 {
				continue
			}
			if l, err := lock(unix.F_OFD_GETLK, side[0], side[1]); err == nil && l.Type != unix.F_UNLCK {
				other = l.Start - claims
			}
		}
		if other < 0 {
			return nil
		}
		if pause > 100*time.Millisecond {
			return fmt.Errorf("rank %d of this or another job appends to it, too: open it on a communicator and append to it together, with WriteAll, or let each rank and each job have a file of its own", other&(1<<rankBits-1))
		}
		time.Sleep(pause)
	}
}
