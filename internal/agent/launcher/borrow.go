package launcher

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/base/listen"
	"github.com/intrahpc/intra/internal/job"
)

// Borrower is the one process of a host that borrows the identities of the launcher's other
// processes.
type Borrower struct {
	listener *net.UnixListener
	self     *job.Secure
	lent     chan lent
	closed   chan struct{}

	mu      sync.Mutex
	conns   []*net.UnixConn // connections to the processes that have lent their identities
	over    bool            // Close was called
	refused error           // why the last refused connection was refused
}

// lent is the identity that a process with the secret of the job has sent, or an error.
type lent struct {
	identity *Identity
	err      error
}

// Borrow starts to listen for lenders.
func Borrow(place Place) (*Borrower, error) {
	self, err := place.end(borrowerName)
	if err != nil {
		return nil, err
	}
	l, err := net.ListenUnix("unix", place.address())
	if err != nil {
		return nil, fmt.Errorf("listen for the processes of the launcher: %w", err)
	}
	b := &Borrower{listener: l, self: self, lent: make(chan lent), closed: make(chan struct{})}
	go func() {
		for {
			c, err := listen.Accept(l.AcceptUnix)
			if err != nil {
				return // the listener was closed
			}
			if err := listen.Own(c); err != nil {
				c.Close()
				b.refuse(err)
				continue
			}
			go b.take(c)
		}
	}()
	return b, nil
}

// refuse records why a connection was refused.
func (b *Borrower) refuse(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused = why
}

// take receives the identity of a process that has proved to know the secret.
func (b *Borrower) take(c *net.UnixConn) {
	if err := admit(context.Background(), b.self, c); err != nil {
		b.refuse(err)
		return
	}
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		c.Close()
		return
	}
	b.conns = append(b.conns, c)
	b.mu.Unlock()
	_ = c.SetReadDeadline(time.Now().Add(lendTime)) // the connection is open, so this cannot fail
	i, err := readIdentity(c)
	select {
	case b.lent <- lent{i, err}:
	case <-b.closed:
		if i != nil && i.PMI != nil {
			i.PMI.Close()
		}
	}
}

// admit checks that the process at the other end of a connection may lend. If it may not,
// admit closes the connection.
func admit(ctx context.Context, self *job.Secure, c *net.UnixConn) error {
	_, _, err := self.Server(ctx, c, func(peer string) bool { return peer == lenderName })
	return err
}

// Next returns an identity that it has not returned before.
func (b *Borrower) Next() (*Identity, error) {
	select {
	case got := <-b.lent:
		if got.err != nil {
			return nil, fmt.Errorf("what a process of the launcher has lent: %w", got.err)
		}
		return got.identity, nil
	case <-b.closed:
		return nil, net.ErrClosed
	case <-time.After(lendTime):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	err := fmt.Errorf("no further process of the launcher on this host has come within %v", lendTime)
	if b.refused != nil {
		err = fmt.Errorf("%w; the last one that was refused: %w", err, b.refused)
	}
	return nil, err
}

// Dismiss releases at most that number of lenders that wait at place for a borrower that never
// comes. It returns when they have ended, when ctx ends, or when leaveTime has passed. This
// process may be among the lenders.
func Dismiss(ctx context.Context, place Place, lenders int) {
	self, err := place.end(borrowerName)
	if err != nil {
		return
	}
	l, err := net.ListenUnix("unix", place.address())
	if err != nil {
		return // another process borrows there
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	_ = l.SetDeadline(time.Now().Add(leaveTime)) // the listener is open, or ctx has ended
	var conns []*net.UnixConn
	for len(conns) < lenders {
		c, err := listen.Accept(l.AcceptUnix)
		if err != nil {
			break
		}
		if listen.Own(c) != nil {
			c.Close()
			continue
		}
		if admit(ctx, self, c) == nil { // admitted lenders are released by the end of the connection
			conns = append(conns, c)
		}
	}
	var pids []int
	for _, c := range conns {
		if peer, err := listen.Peer(c); err == nil && int(peer.Pid) != os.Getpid() {
			pids = append(pids, int(peer.Pid))
		}
		c.Close()
	}
	for end := time.Now().Add(leaveTime); slices.ContainsFunc(pids, lives) && time.Now().Before(end); {
		time.Sleep(lookForAgent / 10)
	}
}

func readIdentity(c *net.UnixConn) (*Identity, error) {
	b, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, on, flags, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return nil, errors.New("its descriptor is lost: out of descriptors (raise ulimit -n)")
	}
	i := new(Identity)
	messages, err := unix.ParseSocketControlMessage(oob[:on])
	if err != nil {
		return nil, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return nil, err
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			i.PMI = os.NewFile(uintptr(fd), "PMI")
		}
	}
	rest, err := io.ReadAll(c)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(append(b[:n:n], rest...), i); err != nil {
		return nil, err
	}
	return i, i.validate()
}

// Close releases all processes that have lent their identities.
func (b *Borrower) Close() {
	b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return
	}
	b.over = true
	close(b.closed)
	for _, c := range b.conns {
		c.Close()
	}
}
