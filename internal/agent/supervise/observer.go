package supervise

import (
	"os"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/job"
)

// Observer receives the observations of an Agent, from goroutines of the agent. Events of one
// process arrive in order, except that output may lag behind: only output follows after
// Exited.
type Observer interface {
	// Started reports that the process runs as pid, or could not be started.
	Started(p job.Process, pid int, err error)
	// Hello reports that the process has authenticated itself and waits for its
	// Setup.
	Hello(p job.Process, h *job.Hello)
	// Message passes on a message of a process that has joined.
	Message(p job.Process, m *job.Message)
	// Unreachable reports that the control connection of the process no longer works in one
	// direction.
	Unreachable(p job.Process, s Silence)
	// Output passes on output of the process; an empty b marks the end of the stream. It
	// blocks until there is room, and must not keep the bytes.
	Output(p job.Process, s output.Stream, b []byte)
	// Quiet answers Agent.Quiet.
	Quiet(p job.Process, n uint64)
	// Stopped reports that the process has been stopped for d so far.
	Stopped(p job.Process, d time.Duration)
	// ProgramGone reports that the program has ended, but the wrapper that started it has not.
	ProgramGone(p job.Process)
	// Exited reports that the process has ended, and that the agent has killed its process
	// group.
	Exited(p job.Process, e Exit)
	// Failed reports that the agent cannot do something that the job needs.
	Failed(err error)
}

// Silence is the reason why a process cannot send or receive messages any more.
type Silence struct {
	Why  SilenceCause `json:"why"`
	Text string       `json:"text"`
}

// SilenceCause is the kind of a Silence.
type SilenceCause string

// The causes.
const (
	SilenceEnd         SilenceCause = "end"      // the connection has ended
	SilenceRefused     SilenceCause = "refused"  // one side has refused the other in the handshake
	SilenceNonsense    SilenceCause = "nonsense" // the process sent bytes that are not a message
	SilenceUndelivered SilenceCause = "untold"   // a message of the head cannot be sent to the process
)

// Exit is how a process ended.
type Exit struct {
	Status syscall.WaitStatus `json:"status"`
	Text   string             `json:"text"`
	// Memory names the cgroup or host that ran out of memory, if the kernel killed the process
	// for lack of memory. Otherwise it is "".
	Memory string `json:"memory,omitempty"`
}

func exitOf(s *os.ProcessState) Exit {
	return Exit{Status: s.Sys().(syscall.WaitStatus), Text: s.String()}
}

// killed reports whether SIGKILL has ended the process, or its program under a
// shell.
func (e *Exit) killed() bool {
	return e.Status.Signaled() && e.Status.Signal() == syscall.SIGKILL || e.Status.Exited() && e.Status.ExitStatus() == 128+int(syscall.SIGKILL)
}
