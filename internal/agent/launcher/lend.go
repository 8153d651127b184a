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

// Only one of the processes that a launcher has started on a host starts those of the
// job, and it lets each be another one of the launcher's. Those lend it their
// identities, and stay: a launcher that saw one of them die would end them all.

// lookForAgent is the time between two looks for the one that borrows, and lendTime
// bounds what is said then.
const (
	lookForAgent = 50 * time.Millisecond
	lendTime     = time.Minute
	leaveTime    = time.Second // for the launcher to answer
)

// ErrNobody means that the process which was to borrow has ended before.
var ErrNobody = errors.New("nobody borrows it: the first process of this host has ended")

// Lend lends an identity to the process that borrows there, and returns when that has
// no use for it any more. ctx bounds the time until it is there; agent is the process
// that will see to that, 0 if it is not known. Then it tells the launcher that all is
// well: the process that was this one may have died without a word, and the launcher
// would end the others once this one exits.
func (i *Identity) Lend(ctx context.Context, place Place, agent int) error {
	c, err := i.lend(ctx, place, agent)
	letGo := errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) // before all was sent
	if letGo || errors.Is(err, ErrNobody) {
		i.leave() // else the launcher kills the others, who still say why
	}
	if letGo {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lend what the launcher has given to this process: %w", err)
	}
	defer c.Close()
	_, _ = io.Copy(io.Discard, c) // however it ends
	i.leave()
	return nil
}

// leave says goodbye to the launcher, unless the MPI library has.
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

// lives reports whether there is a process with this number.
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
	seen := lives(agent) // else it may have another number here, as in a container of its own
	for {
		gone := seen && !lives(agent) // looked at first: it may have borrowed until then
		if c, err = meet(ctx, place, self); err == nil {
			break
		}
		if gone {
			return nil, ErrNobody
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
	_ = c.SetWriteDeadline(time.Now().Add(lendTime)) // it is open
	n, _, err := c.WriteMsgUnix(b, rights, nil)
	if err == nil && n < len(b) {
		_, err = c.Write(b[n:])
	}
	if err != nil {
		return nil, err
	}
	return c, c.CloseWrite()
}

// meet connects to the process that borrows, and to no other one: another user may
// listen under this name as soon as that has ended.
func meet(ctx context.Context, place Place, self *job.Secure) (*net.UnixConn, error) {
	c, err := net.DialUnix("unix", nil, place.address())
	if err != nil {
		return nil, err
	}
	if err := listen.Own(c); err != nil {
		c.Close()
		return nil, err
	}
	if _, err := self.Client(ctx, c, borrowerName); err != nil { // which has closed it
		return nil, err
	}
	return c, nil
}
