package file

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// claims is the offset of the locks by which ranks that append to a file find each other. Rank
// R locks the byte at claims+R, which no file is long enough to have.
const claims = farthest

// claim locks the byte of a rank in a file that it appends to. It returns an error if another
// rank has locked its own. Without locks in the file system it does nothing.
//
// A replica of the same rank may have the lock: a host that is cut off keeps it for a while.
// A killed process loses its locks only when the kernel has closed its files, so claim waits
// for a moment.
func claim(h *os.File, rank int) error {
	lock := func(command int, from, n int64) (unix.Flock_t, error) {
		l := unix.Flock_t{Type: unix.F_WRLCK, Start: from, Len: n}
		err := unix.FcntlFlock(h.Fd(), command, &l)
		return l, err
	}
	own := claims + int64(rank)
	_, _ = lock(unix.F_OFD_SETLK, own, 1) // it fails if another replica has it
	for pause := time.Millisecond; ; pause *= 2 {
		other := int64(-1)
		for _, side := range [][2]int64{{claims, int64(rank)}, {own + 1, 0}} { // 0: all bytes
			if side[0] == claims && rank == 0 {
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
			return fmt.Errorf("rank %d of this or another job appends to it, too: open it on a communicator and append to it together, with WriteAll, or let each rank have a file of its own", other)
		}
		time.Sleep(pause)
	}
}
