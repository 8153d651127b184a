//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/intrahpc/intra"
	"github.com/intrahpc/intra/comm"
)

// sendAndReturn is a program whose rank 0 returns while most of its messages are still in its
// memory. There are fewer messages than Send buffers, and more than rank 1 receives in
// advance.
func sendAndReturn(p *intra.Process) error {
	const messages, size = 480, 8 << 10
	c, buf := p.World(), make([]byte, size)
	if p.Rank() == 0 {
		for i := range messages {
			buf[0], buf[size-1] = byte(i), byte(i)
			if err := comm.Send(c, buf, 1, 0); err != nil {
				return err
			}
		}
		return nil
	}
	time.Sleep(50 * time.Millisecond) // long enough for rank 0 to return, in most cases
	for i := range messages {
		if _, err := comm.Recv(c, buf, 0, 0); err != nil {
			return err
		}
		if buf[0] != byte(i) || buf[size-1] != byte(i) {
			return fmt.Errorf("message %d is %d to %d", i, buf[0], buf[size-1])
		}
	}
	fmt.Println("all received")
	return nil
}

// A process that has finished is killed while it hands over its messages. The receiver gets
// the remaining messages from another replica. If there is none, the job ends, and no process
// waits forever.
func TestDeathOfAFinishedProcess(t *testing.T) {
	for _, c := range []struct {
		flags    string
		code     int
		failures []string
		lost     string
	}{
		{"-degrees 2,2 -kill 0.0@message:470", 0, []string{"0.0 injected"}, ""},
		{"-degrees 1,1 -kill 0.0@message:470", 3, []string{"0.0 injected"}, "rank 0 has lost its last replica 0.0"},
		{"-degrees 1,2 -kill 0.0@message:470", 3, []string{"0.0 injected"}, "rank 0 has lost its last replica 0.0"},
		{"-degrees 2,2 -kill 0.0@message:470 -kill 0.1@message:465", 3, []string{"0.0 injected", "0.1 injected"}, "rank 0 has lost its last replica"},
	} {
		for _, link := range []string{"shm", "unix", "tcp"} {
			t.Run(c.flags+" "+link, func(t *testing.T) {
				t.Parallel()
				r := runJob(t, "-link "+link+" "+c.flags, os.Args[0], asSender)
				require.Equal(t, c.code, r.code, "%s", r.stderr)
				if c.code == 0 { // otherwise one replica of rank 1 may have received all messages
					require.Equal(t, "all received\n", r.stdout)
				}
				require.ElementsMatch(t, c.failures, r.Deaths())
				require.Contains(t, r.stderr, c.lost)
			})
		}
	}
}
