package supervise

import (
	"os"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/agent/output"
	"github.com/intrahpc/intra/internal/job"
)

// Observer is told what an Agent sees, from goroutines of the agent. What one
// process does comes in its order, except that output may lag behind: nothing
// but output comes after Exited.
type Observer interface {
	// Started says that the process runs as pid, or could not be started.
	Started(p job.Process, pid int, err error)
	// Hello says that the process has proved itself and waits for its Setup.
	Hello(p job.Process, h *job.Hello)
	// Message passes on what the process, which has joined, says.
	Message(p job.Process, m *job.Message)
	// Unheard says that nothing more comes on its control connection, or gets there.
	Unheard(p job.Process, s Silence)
	// Output passes on what the process has written; it will write no more if there
	// are no bytes. It blocks until there is room; the bytes stay the agent's.
	Output(p job.Process, s output.Stream, b []byte)
	// Quiet answers Agent.Quiet.
	Quiet(p job.Process, n uint64)
	// Stopped says that the process has been stopped for d now.
	Stopped(p job.Process, d time.Duration)
	// ProgramGone says that the program is gone, and that the wrapper it was started
	// by goes on.
	ProgramGone(p job.Process)
	// Exited says that the process is gone, and its group with it.
	Exited(p job.Process, e Exit)
	// Failed says that the agent cannot do what is needed for the job.
	Failed(err error)
}

// Silence says why nothing more comes from a process, or gets to it.
type Silence struct {
	Why  SilenceCause `json:"why"`
	Text string       `json:"text"`
}

// SilenceCause is the kind of a Silence.
type SilenceCause string

// The causes.
const (
	SilenceEnd      SilenceCause = "end"      // the connection has ended
	SilenceRefused  SilenceCause = "refused"  // by one side in the handshake
	SilenceNonsense SilenceCause = "nonsense" // what it sent is no message
	SilenceUntold   SilenceCause = "untold"   // what the head has to tell it cannot be sent
)

// Exit is how a process ended.
type Exit struct {
	Status syscall.WaitStatus `json:"status"`
	Text   string             `json:"text"`
	// Memory says that the kernel has killed it for want of memory, and where that is
	// limited; "" if it has not.
	Memory string `json:"memory,omitempty"`
}

func exitOf(s *os.ProcessState) Exit {
	return Exit{Status: s.Sys().(syscall.WaitStatus), Text: s.String()}
}

// killed reports whether SIGKILL has ended the process, or its program under a shell.
func (e *Exit) killed() bool {
	return e.Status.Signaled() && e.Status.Signal() == syscall.SIGKILL || e.Status.Exited() && e.Status.ExitStatus() == 128+int(syscall.SIGKILL)
}
