package launcher

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/job"
)

// A launcher starts several processes on a host. One of them, the borrower, starts the
// processes of the job, and makes each look like another process of the launcher. The others
// lend it their identities and keep running: if one of them dies, the launcher ends them all.

// lookForAgent is the time between two looks for the borrower. lendTime bounds the exchange with
// the borrower.
const (
	lookForAgent = 50 * time.Millisecond
	lendTime     = time.Minute
	leaveTime    = time.Second // for the answer of the launcher
)

// ErrNoBorrower means that the process that should borrow an identity has ended.
var ErrNoBorrower = errors.New("no process borrows it: the first process of this host has ended")

// Lend lends an identity to the borrower at place, and returns when the borrower no longer
// uses it. ctx bounds the wait for the borrower. agent is the process that will become the
// borrower, 0 if unknown.
//
// At the end, Lend reports a regular end to the launcher. The process that used the identity
// may have died without such a report, and the launcher would end the others when this process
// exits.
func (i *Identity) Lend(ctx context.Context, place Place, agent int) error {
	c, err := i.lend(ctx, place, agent)
	letGo := errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) // the borrower released this process before all was sent
	if letGo || errors.Is(err, ErrNoBorrower) {
		i.leave() // otherwise the launcher kills the other processes, which still have to report the reason
	}
	if letGo {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lend what the launcher has given to this process: %w", err)
	}
	defer c.Close()
	_, _ = io.Copy(io.Discard, c) // any end of the connection is the release
	i.leave()
	return nil
}

// leave sends the launcher the regular end of a process, unless the MPI library has sent it.
func (i *Identity) leave() {
	if i.PMI == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = (&pmi{conn: i.PMI, in: bufio.NewReader(i.PMI)}).ask("cmd=finalize", "finalize_ack")
	}()
	select {
	case <-done:
	case <-time.After(leaveTime):
	}
}

// lives reports whether a process with this number exists.
func lives(pid int) bool { return pid > 0 && !errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

func (i *Identity) lend(ctx context.Context, place Place, agent int) (_ *net.UnixConn, err error) {
	b, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	self, err := place.end(lenderName)
	if err != nil {
		return nil, err
	}
	var c *net.UnixConn
	seen := lives(agent) // if not, the agent may have another number here, as in a separate container
	for {
		gone := seen && !lives(agent) // checked before meet, since the agent may have listened until it ended
		if c, err = meet(ctx, place, self); err == nil {
			break
		}
		if gone {
			return nil, ErrNoBorrower
		}
		select {
		case <-time.After(lookForAgent):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	var rights []byte
	if i.PMI != nil {
		rights = unix.UnixRights(int(i.PMI.Fd()))
	}
	_ = c.SetWriteDeadline(time.Now().Add(lendTime)) // fails only on a closed connection
	n, _, err := c.WriteMsgUnix(b, rights, nil)
	if err == nil && n < len(b) {
		_, err = c.Write(b[n:])
	}
	if err != nil {
		return nil, err
	}
	return c, c.CloseWrite()
}

// meet connects to the borrower. It checks the other end: when the borrower has ended, another
// user may listen under its name.
func meet(ctx context.Context, place Place, self *job.Secure) (*net.UnixConn, error) {
	c, err := net.DialUnix("unix", nil, place.address())
	if err != nil {
		return nil, err
	}
	if err := listen.Own(c); err != nil {
		c.Close()
		return nil, err
	}
	if _, err := self.Client(ctx, c, borrowerName); err != nil { // Client has closed c
		return nil, err
	}
	return c, nil
}
