package jobsocket

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/intrahpc/intra/internal/base/listen"
)

// AskTime bounds the exchange of a question and its answer, at each end.
const AskTime = 10 * time.Second

// maxQuestion bounds a question, in bytes.
const maxQuestion = 64 << 10

func prefix(uid int) string { return fmt.Sprintf("@intrarun/%d/", uid) }

func address(pid int) *net.UnixAddr {
	return &net.UnixAddr{Name: prefix(os.Getuid()) + strconv.Itoa(pid), Net: "unix"}
}

// Serve answers questions to this process until the result is closed. Several
// goroutines may call answer at the same time.
func Serve(answer func(question string) string) (io.Closer, error) {
	at := address(os.Getpid())
	l, err := net.ListenUnix("unix", at)
	if errors.Is(err, unix.EADDRINUSE) {
		if c, failed := dial(at); errors.Is(failed, listen.ErrStranger) {
			at.Name += "." + rand.Text() // Jobs also finds names with this suffix
			l, err = net.ListenUnix("unix", at)
		} else if failed == nil {
			c.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen for questions about the job: %w", err)
	}
	go func() {
		for {
			c, err := listen.Accept(l.AcceptUnix)
			if err != nil {
				return // the listener was closed
			}
			go serve(c, answer)
		}
	}()
	return l, nil
}

func serve(c *net.UnixConn, answer func(string) string) {
	defer c.Close()
	if listen.Own(c) != nil || c.SetDeadline(time.Now().Add(AskTime)) != nil {
		return
	}
	question, err := io.ReadAll(io.LimitReader(c, maxQuestion))
	if err == nil {
		_, _ = io.WriteString(c, answer(string(question))) // the process that asked may have ended
	}
}

// Ask sends a question to a process of this user, and returns the answer.
func Ask(pid int, question string) (string, error) {
	c, err := dial(address(pid))
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, listen.ErrStranger) { // another user may have taken the name of the process
		c, err = findOther(pid)
	}
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return "", fmt.Errorf("process %d is no intrarun of yours that runs a job from this host", pid)
	case err != nil:
		return "", fmt.Errorf("ask process %d: %w", pid, err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(AskTime)); err != nil {
		return "", fmt.Errorf("ask process %d: %w", pid, err)
	}
	if _, err = io.WriteString(c, question); err == nil {
		err = c.CloseWrite()
	}
	var text []byte
	if err == nil {
		text, err = io.ReadAll(c)
	}
	if err != nil {
		return "", fmt.Errorf("ask process %d: %w", pid, err)
	}
	return string(text), nil
}

// sockets lists the sockets of this network namespace.
const sockets = "/proc/net/unix"

// Jobs lists the processes of this user that answer questions.
func Jobs() ([]int, error) {
	all, err := names()
	if err != nil {
		return nil, fmt.Errorf("look for jobs: %w", err)
	}
	var pids []int
	for _, n := range all {
		if slices.Contains(pids, n.pid) {
			continue
		}
		if c, err := dial(n.at); err == nil { // otherwise another user has taken the name, or the job has just ended
			c.Close()
			pids = append(pids, n.pid)
		}
	}
	slices.Sort(pids)
	return pids, nil
}

// dial connects to a process of this user or of root.
func dial(at *net.UnixAddr) (*net.UnixConn, error) {
	c, err := net.DialUnix("unix", nil, at)
	if err != nil {
		return nil, err
	}
	if err := listen.Own(c); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// findOther connects to a process under a name with a suffix. The process uses one if another
// user has taken the usual name.
func findOther(pid int) (*net.UnixConn, error) {
	all, err := names()
	if err != nil {
		return nil, err
	}
	for _, n := range all {
		if n.pid == pid {
			if c, err := dial(n.at); err == nil {
				return c, nil
			}
		}
	}
	return nil, unix.ECONNREFUSED
}

// name is the name of a socket, in the form of a job's name. Any user may have made the
// socket.
type name struct {
	pid int // process ID in the name
	at  *net.UnixAddr
}

// names lists the names that look like those of this user's jobs.
func names() (all []name, err error) {
	b, err := os.ReadFile(sockets)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		at := fields[len(fields)-1]
		number, ok := strings.CutPrefix(at, prefix(os.Getuid()))
		number, _, _ = strings.Cut(number, ".")
		pid, err := strconv.Atoi(number)
		if !ok || err != nil || slices.ContainsFunc(all, func(n name) bool { return n.at.Name == at }) { // connections to a socket are listed under its name, too
			continue
		}
		all = append(all, name{pid, &net.UnixAddr{Name: at, Net: "unix"}})
	}
	return all, nil
}
