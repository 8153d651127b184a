package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Event is something that has happened, in the order in which it has.
type Event interface{ event() }

// From says which process an event is about, and who has seen it. ID is by which
// its agent knows it; with Incarnation it tells a process from others that had,
// or will have, the same place. An event about a process that the head does not
// know on that node is ignored: it comes from before a death.
type From struct {
	Node        detect.ID
	ID          job.Process
	Incarnation uint32
}

// Begin is the first event of a job.
type Begin struct{}

// Started says that the process runs as PID, or could not be started.
type Started struct {
	From
	PID int
	Err string // "" if it runs
}

// Joined says that the process has proved itself and waits for its Setup.
type Joined struct {
	From
	Hello *job.Hello
}

// Said passes on what a process, which has joined, says. job.KindTrace is not for
// the head.
type Said struct {
	From
	Message *job.Message
}

// Unheard says that nothing more comes from a process, or gets to it.
type Unheard struct {
	From
	Why  Silence
	Text string
}

// Silence says why nothing more comes from a process, or gets to it.
type Silence string

// The causes.
const (
	SilenceEnd      Silence = "end"      // the connection has ended
	SilenceRefused  Silence = "refused"  // by one side in the handshake
	SilenceNonsense Silence = "nonsense" // what it sent is no message
	SilenceUntold   Silence = "untold"   // what the head has to tell it cannot be sent
)

// Exited says that the process is gone, and all that it said was told.
type Exited struct {
	From
	Exit
}

// Exit is how a process ended.
type Exit struct {
	Status  syscall.WaitStatus
	Text    string
	Crashed bool   // it has written why
	Quit    bool   // and that is SIGQUIT
	Memory  string // the kernel has killed it for want of memory: where that is limited
}

// ProgramGone says that the program is gone, and that the wrapper it was started
// by goes on.
type ProgramGone struct{ From }

// Stopped says that the process has been stopped for so long now.
type Stopped struct {
	From
	For time.Duration
}

// Quiet answers AskQuiet: what the process had written was taken, and its output
// stands at Position.
type Quiet struct {
	From
	Number   uint64
	Position Position
}

// OutputSettled answers FinishOutput.
type OutputSettled struct{ From }

// Wrote says that a process has written something since that was last said, or since it
// began.
type Wrote struct{ From }

// Continued says that the whole job was stopped on purpose, which the clock of the head
// does not count, and goes on.
type Continued struct{}

// Differs says in what the standard outputs of two replicas of a rank differ. It
// may be said again.
type Differs struct {
	Rank int
	Text string
}

// Committed says that an entry is kept, which this head has proposed or the
// arbiter. They come in the order of the log. Pieces are not for the head.
type Committed struct{ Entry decision.Entry }

// Disconnected says why the connection to the agent of a node has ended.
type Disconnected struct {
	Node detect.ID
	Text string
}

// Suspected says that a node may be lost.
type Suspected struct {
	Node        detect.ID
	Testimonies []detect.Testimony
}

// Retired says that this head may not decide any more.
type Retired struct{ Why string }

// Opened answers Open.
type Opened struct {
	Found *decision.Folders
	Err   string // "" if there is none
}

// Published answers Publish.
type Published struct {
	Set *checkpoint.Set
	Err string // "" if the set is complete
}

// Failed says that an agent cannot do what is needed for the job.
type Failed struct{ Err string }

// Signalled is a signal to the head.
type Signalled struct{ Signal syscall.Signal }

// Deadlocked says that processes wait for each other for ever, and that the job is
// to end for that.
type Deadlocked struct{ Text string }

// Tick says that a time has passed that Deadline had named.
type Tick struct{}

func (Begin) event()         {}
func (Started) event()       {}
func (Joined) event()        {}
func (Said) event()          {}
func (Unheard) event()       {}
func (Exited) event()        {}
func (ProgramGone) event()   {}
func (Stopped) event()       {}
func (Quiet) event()         {}
func (OutputSettled) event() {}
func (Wrote) event()         {}
func (Continued) event()     {}
func (Differs) event()       {}
func (Committed) event()     {}
func (Disconnected) event()  {}
func (Suspected) event()     {}
func (Retired) event()       {}
func (Opened) event()        {}
func (Published) event()     {}
func (Failed) event()        {}
func (Signalled) event()     {}
func (Deadlocked) event()    {}
func (Tick) event()          {}
