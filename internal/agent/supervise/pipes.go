package supervise

import (
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/job"
)

// pump reads the output of a process until its end. A process that it has started may hold the
// pipe open forever without writing, so pump stops a while after the process has ended.
func (a *Agent) pump(c *child, s output.Stream) {
	r, taken := c.pipes[s], 0
	buf := make([]byte, 32<<10)
	for {
		if c.last.Load() {
			r.SetReadDeadline(time.Now().Add(output.DrainTime))
		}
		n, err := c.take(a.observer, s, buf, taken)
		if taken += n; err != nil {
			break
		}
	}
	r.Close()
	if s == output.Crashes {
		close(c.crashed)
	}
	a.observer.Output(c.process, s, nil)
}

// take waits until the process has written output, and passes one piece of it to the observer.
func (c *child) take(o Observer, s output.Stream, buf []byte, before int) (n int, err error) {
	if s == output.Crashes {
		n, err := c.pipes[s].Read(buf)
		if n > 0 && before+n <= output.MaxCrash {
			o.Output(c.process, s, buf[:n])
		}
		return n, err
	}
	pipe, err := c.pipes[s].SyscallConn()
	if err != nil {
		return 0, err
	}
	failed := pipe.Read(func(fd uintptr) bool {
		c.taking[s].Lock()
		defer c.taking[s].Unlock()
		for n, err = unix.Read(int(fd), buf); err == unix.EINTR; {
			n, err = unix.Read(int(fd), buf)
		}
		switch {
		case err == unix.EAGAIN:
			return false
		case n > 0:
			o.Output(c.process, s, buf[:n])
		case err == nil:
			err = io.EOF
		}
		return true
	})
	return max(n, 0), errors.Join(failed, err)
}

// Quiet calls Observer.Quiet with n once all output that p has written so far was taken, so
// that the pipes are empty. It does nothing for a process that has ended.
func (a *Agent) Quiet(p job.Process, n uint64) {
	c := a.child(p)
	if c == nil {
		return
	}
	go func() {
		for s := range output.Crashes {
			for !c.empty(s) {
				time.Sleep(quietPoll)
			}
		}
		a.observer.Quiet(p, n)
	}()
}

// quietPoll is how often the agent checks whether a pipe is empty.
const quietPoll = 100 * time.Microsecond

// empty reports whether all bytes written to a stream have been taken.
func (c *child) empty(s output.Stream) bool {
	pipe, err := c.pipes[s].SyscallConn()
	if err != nil {
		return true // the stream has ended
	}
	left := 0
	err = pipe.Control(func(fd uintptr) {
		c.taking[s].Lock()
		defer c.taking[s].Unlock()
		left, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	})
	return err != nil || left == 0
}
