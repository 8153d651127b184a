package jobsocket

import (
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

	"github.com/intrahpc/intra/internal/listen"
)

// askTime bounds a question and its answer, at each end.
const askTime = 10 * time.Second

// maxQuestion bounds a question, in bytes.
const maxQuestion = 256

func prefix(uid int) string { return fmt.Sprintf("@intrarun/%d/", uid) }

func address(pid int) *net.UnixAddr {
	return &net.UnixAddr{Name: prefix(os.Getuid()) + strconv.Itoa(pid), Net: "unix"}
}

// Serve answers questions to this process until it is closed. answer is called by
// several goroutines.
func Serve(answer func(question string) string) (io.Closer, error) {
	l, err := net.ListenUnix("unix", address(os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("listen for questions about the job: %w", err)
	}
	go func() {
		for {
			c, err := listen.Accept(l.AcceptUnix)
			if err != nil {
				return // it was closed
			}
			go serve(c, answer)
		}
	}()
	return l, nil
}

func serve(c *net.UnixConn, answer func(string) string) {
	defer c.Close()
	if listen.Own(c) != nil || c.SetDeadline(time.Now().Add(askTime)) != nil {
		return
	}
	question, err := io.ReadAll(io.LimitReader(c, maxQuestion))
	if err == nil {
		_, _ = io.WriteString(c, answer(string(question))) // whoever has asked may be gone
	}
}

// Ask asks a process of this user.
func Ask(pid int, question string) (string, error) {
	c, err := net.DialUnix("unix", nil, address(pid))
	switch {
	case errors.Is(err, unix.ECONNREFUSED):
		return "", fmt.Errorf("process %d is no intrarun of yours that runs a job from this host", pid)
	case err != nil:
		return "", fmt.Errorf("ask process %d: %w", pid, err)
	}
	defer c.Close()
	if err := listen.Own(c); err != nil {
		return "", fmt.Errorf("ask process %d: %w", pid, err)
	}
	if err := c.SetDeadline(time.Now().Add(askTime)); err != nil {
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

// Jobs lists the processes of this user that can be asked.
func Jobs() ([]int, error) {
	b, err := os.ReadFile(sockets)
	if err != nil {
		return nil, fmt.Errorf("look for jobs: %w", err)
	}
	var all []int
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		number, ok := strings.CutPrefix(fields[len(fields)-1], prefix(os.Getuid()))
		if pid, err := strconv.Atoi(number); ok && err == nil && !slices.Contains(all, pid) { // connections have the name too
			all = append(all, pid)
		}
	}
	slices.Sort(all)
	return all, nil
}
