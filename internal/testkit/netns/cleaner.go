package netns

import (
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

// cleaner removes hosts. It is a process that outlives this one for a moment, because
// namespaces do not vanish by themselves.
type cleaner struct {
	process *exec.Cmd
	pipe    io.Closer
}

func startCleaner(hosts []*Host) (*cleaner, error) {
	const script = `cat >/dev/null
for n; do
	[ -e /run/netns/$n ] || continue
	kill -9 $(ip netns pids $n) 2>/dev/null
	ip netns del $n
done`
	args := []string{"-c", script, "sh"}
	for _, h := range hosts {
		args = append(args, h.Name)
	}
	c := &cleaner{process: exec.Command("sh", args...)}
	c.process.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := c.process.StdinPipe()
	if err == nil {
		err = c.process.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start what removes the hosts: %w", err)
	}
	c.pipe = pipe
	return c, nil
}

// close removes the hosts, with every process on them.
func (c *cleaner) close() {
	c.pipe.Close()
	_ = c.process.Wait() // hosts that it could not remove do not exist
}
