package launcher

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// Lender names the place where the processes of a host lend their identities. Nobody
// knows it but those that know the secret.
func Lender(secret [32]byte, host string) string {
	sum := sha256.Sum256(append([]byte("lender "+host+" "), secret[:]...))
	return "@intrarun/mpi/" + hex.EncodeToString(sum[:16])
}

// ErrNobody means that the process which was to borrow has ended before.
var ErrNobody = errors.New("nobody borrows it: the first process of this host has ended")

// Lend lends an identity to the process that borrows there, and returns when that has
// no use for it any more. ctx bounds the time until it is there; agent is the process
// that will see to that, 0 if it is not known. Then it tells the launcher that all is well: the process that was this one may have died without a word,
// and the launcher would end the others once this one exits.
func (i *Identity) Lend(ctx context.Context, place string, agent int) error {
	c, err := i.lend(ctx, place, agent)
	letGo := errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) // before all was said
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

func (i *Identity) lend(ctx context.Context, place string, agent int) (_ *net.UnixConn, err error) {
	b, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	var c *net.UnixConn
	seen := lives(agent) // else it may have another number here, as in a container of its own
	for {
		gone := seen && !lives(agent) // looked at first: it may have borrowed until then
		if c, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: place, Net: "unix"}); err == nil {
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

// Borrower is the process of a host that borrows the identities of the others.
type Borrower struct {
	listener *net.UnixListener

	mu    sync.Mutex
	conns []*net.UnixConn // to those that have lent theirs
}

// Borrow begins to borrow.
func Borrow(place string) (*Borrower, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: place, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the processes of the launcher: %w", err)
	}
	return &Borrower{listener: l}, nil
}

// Next returns an identity that nobody has yet.
func (b *Borrower) Next() (*Identity, error) {
	if err := b.listener.SetDeadline(time.Now().Add(lendTime)); err != nil {
		return nil, err
	}
	c, err := b.listener.AcceptUnix()
	if err != nil {
		return nil, fmt.Errorf("no further process of the launcher on this host has come: %w", err)
	}
	b.mu.Lock()
	b.conns = append(b.conns, c)
	b.mu.Unlock()
	_ = c.SetReadDeadline(time.Now().Add(lendTime)) // it is open
	i, err := readIdentity(c)
	if err != nil {
		return nil, fmt.Errorf("what a process of the launcher has lent: %w", err)
	}
	return i, nil
}

// Dismiss lets so many processes go that wait there for somebody who will not come, and
// returns when they have ended; or, with less of them, when ctx ends or soon. This one may
// be among them.
func Dismiss(ctx context.Context, place string, lenders int) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: place, Net: "unix"})
	if err != nil {
		return // somebody borrows there
	}
	defer l.Close()
	defer context.AfterFunc(ctx, func() { l.Close() })()
	_ = l.SetDeadline(time.Now().Add(leaveTime)) // it is open, or ctx has ended
	var conns []*net.UnixConn
	for range lenders {
		c, err := l.AcceptUnix()
		if err != nil {
			break
		}
		conns = append(conns, c)
	}
	var pids []int
	for _, c := range conns {
		if pid := peer(c); pid != os.Getpid() {
			pids = append(pids, pid)
		}
		c.Close()
	}
	for end := time.Now().Add(leaveTime); slices.ContainsFunc(pids, lives) && time.Now().Before(end); {
		time.Sleep(lookForAgent / 10)
	}
}

// peer is the process at the other end of a connection, 0 if it has no number here.
func peer(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // it is open
		if who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(who.Pid)
		}
	})
	return pid
}

func readIdentity(c *net.UnixConn) (*Identity, error) {
	b, oob := make([]byte, 64<<10), make([]byte, unix.CmsgSpace(4))
	n, on, _, _, err := c.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, err
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
	return i, json.Unmarshal(append(b[:n:n], rest...), i)
}

// Close lets all go that have lent something.
func (b *Borrower) Close() {
	b.listener.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.conns {
		c.Close()
	}
}
