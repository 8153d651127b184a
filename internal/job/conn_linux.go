package job

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxFiles bounds the received descriptors whose message has not been read yet.
const maxFiles = 64

// Conn is a control connection: messages with a length prefix over a unix stream socket,
// some with descriptors attached. Any goroutine may write; one at a time may read.
type Conn struct {
	c *net.UnixConn

	writing sync.Mutex

	buf   []byte // received, not yet decoded
	files []*os.File
	oob   []byte
	pid   int
}

// NewConn wraps one end of a control connection. It duplicates the descriptor, so the
// caller still closes f.
func NewConn(f *os.File) (*Conn, error) {
	nc, err := net.FileConn(f)
	if err != nil {
		return nil, fmt.Errorf("open the control connection: %w", err)
	}
	c, ok := nc.(*net.UnixConn)
	if !ok {
		nc.Close()
		return nil, errors.New("open the control connection: not a unix socket")
	}
	return &Conn{c: c, oob: make([]byte, unix.CmsgSpace(4*253)+unix.CmsgSpace(unix.SizeofUcred))}, nil
}

// Pair returns a control connection: the head's end, and a file for the
// process to inherit.
func Pair() (*Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("create a control connection: %w", err)
	}
	mine, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer mine.Close()
	// With SO_PASSCRED the kernel names the sender of each message, in this PID namespace.
	if err := unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_PASSCRED, 1); err != nil {
		theirs.Close()
		return nil, nil, fmt.Errorf("ask for credentials on a control connection: %w", err)
	}
	c, err := NewConn(mine)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c, theirs, nil
}

// Write sends m with the files attached. When it returns nil the kernel has the whole message,
// which then reaches the other side even if this process is killed. The error wraps ErrTooLarge
// if the message is too long to be sent. Ended reports whether an error means the end of the
// connection. After any other error the peer lives, but has missed the message.
func (c *Conn) Write(m *Message, files ...*os.File) error {
	m.Files = len(files)
	body, err := m.Encode()
	if err != nil {
		return err
	}
	frame := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(body)), uint32(len(body))), body...)
	var rights []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		rights = unix.UnixRights(fds...)
	}
	c.writing.Lock()
	defer c.writing.Unlock()
	n, _, err := c.c.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = c.c.Write(frame[n:])
	}
	if err != nil {
		return fmt.Errorf("send %q: %w", m.Kind, err)
	}
	return nil
}

// Ended reports whether an error of Write means that the connection has ended. The reader
// of the connection gets an error then, too.
func Ended(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET)
}

// Read receives a message and the files attached to it, which the caller must close. The
// error is io.EOF when the other side has ended.
func (c *Conn) Read() (*Message, []*os.File, error) {
	for {
		if len(c.buf) >= 4 {
			n := int(binary.BigEndian.Uint32(c.buf))
			if n > MaxMessage {
				return nil, nil, fmt.Errorf("%w: %d bytes announced", ErrMessage, n)
			}
			if len(c.buf) >= 4+n {
				m, err := DecodeMessage(c.buf[4 : 4+n])
				if err != nil {
					return nil, nil, err
				}
				c.buf = append(c.buf[:0], c.buf[4+n:]...)
				if m.Files > len(c.files) {
					return nil, nil, fmt.Errorf("%w: the descriptors of %q are missing", ErrMessage, m.Kind)
				}
				files := c.files[:m.Files:m.Files]
				c.files = c.files[m.Files:]
				return m, files, nil
			}
		}
		if err := c.fill(); err != nil {
			if err == io.EOF && len(c.buf) > 0 {
				err = fmt.Errorf("%w: ended inside a message: %w", ErrMessage, io.EOF)
			}
			return nil, nil, err
		}
	}
}

func (c *Conn) fill() error {
	var chunk [16 << 10]byte
	n, oobn, flags, _, err := c.c.ReadMsgUnix(chunk[:], c.oob)
	if oobn > 0 {
		if e := c.control(c.oob[:oobn]); e != nil {
			return e
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ECONNRESET) { // reset: the peer ended with unread messages
			return io.EOF
		}
		return err
	}
	if flags&unix.MSG_CTRUNC != 0 {
		return errors.New("receive descriptors: out of descriptors (raise ulimit -n)")
	}
	c.buf = append(c.buf, chunk[:n]...)
	return nil
}

func (c *Conn) control(oob []byte) error {
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("receive descriptors: %w", err)
	}
	for i := range msgs {
		if cred, err := unix.ParseUnixCredentials(&msgs[i]); err == nil {
			c.pid = int(cred.Pid)
			continue
		}
		fds, err := unix.ParseUnixRights(&msgs[i])
		if err != nil {
			continue
		}
		for _, fd := range fds {
			c.files = append(c.files, os.NewFile(uintptr(fd), "link"))
		}
	}
	if len(c.files) > maxFiles {
		return fmt.Errorf("%w: too many descriptors", ErrMessage)
	}
	return nil
}

// PID returns the process ID of the sender of the last message that was read, in this
// process's PID namespace. Only the head's end receives it.
func (c *Conn) PID() int { return c.pid }

// SetDeadline bounds the reads and writes under way and all later ones.
func (c *Conn) SetDeadline(t time.Time) error { return c.c.SetDeadline(t) }

// Close ends the connection. A pending Read returns.
func (c *Conn) Close() error { return c.c.Close() }
