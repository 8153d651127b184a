package supervise

import (
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/job"
)

// child is one process and the agent's ends of its connections.
type child struct {
	process job.Process
	taking  [output.Crashes]sync.Mutex // held while bytes of a stream are read from its pipe
	cmd     *exec.Cmd
	conn    *job.Conn
	mail    *mailbox
	stdin   *os.File                 // nil if the process has no standard input
	pipes   [output.Streams]*os.File // read ends
	ended   atomic.Bool              // the agent has killed the process
	last    atomic.Bool              // the process has ended: the pipes hold the rest of its output
	silent  chan struct{}            // closed when its control connection is read to the end
	crashed chan struct{}            // closed when the pipe for crashes is read to the end
	program int                      // pid of the program under a wrapper, 0 if the process has no wrapper
	since   time.Time                // when the process was stopped
	as      job.Endpoint             // its slot among the replicas, once it has one
	leave   func()                   // frees its slot on the board
	linked  map[job.Endpoint]bool    // peers to which a link was made because one of the two processes requested it
}

// release closes the descriptors of a process that was not started.
func (c *child) release() {
	if c.conn != nil {
		c.conn.Close()
	}
	closeFiles(c.pipes[:])
	closeFiles([]*os.File{c.stdin})
	c.leave()
}

// closeFiles closes the files that are not nil.
func closeFiles(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
