package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
)

// Event is an event that the driver passes to the head, in the order in which the events
// happen.
type Event interface{ event() }

// From names the process that an event is about, and the node that has seen it. ID is the
// name by which its agent knows the process; Incarnation distinguishes it from earlier and
// later processes of that name. The head ignores an event about a process that it does not
// know on that node: the event is from before a death.
type From struct {
	Node        detect.ID
	ID          job.Process
	Incarnation uint32
}

// Begin is the first event of a job.
type Begin struct{}

// Started reports that the process runs as PID, or could not be started.
type Started struct {
	From
	PID int
	Err string // "" if it runs
}

// Joined reports that the process has authenticated itself and waits for its Setup.
type Joined struct {
	From
	Hello *job.Hello
}

// Said passes on a message of a process that has joined. The driver keeps job.KindTrace
// from the head.
type Said struct {
	From
	Message *job.Message
}

// Unheard reports that the control connection of a process is unusable in one direction or
// both.
type Unheard struct {
	From
	Why  Silence
	Text string
}

// Silence says why the control connection of a process is unusable.
type Silence string

// The causes.
const (
	SilenceEnd      Silence = "end"      // the connection has ended
	SilenceRefused  Silence = "refused"  // by one side in the handshake
	SilenceNonsense Silence = "nonsense" // it has sent a malformed message
	SilenceUntold   Silence = "untold"   // a message of the head cannot be sent to it
)

// Exited reports that the process has exited. All its messages have been passed on before.
type Exited struct {
	From
	Exit
}

// Exit is how a process ended.
type Exit struct {
	Status  syscall.WaitStatus
	Text    string
	Crashed bool   // the Go runtime has written the text of a crash
	Quit    bool   // the crash is SIGQUIT
	Memory  string // not "": the kernel has killed it for want of memory; where that is limited
}

// ProgramGone reports that the program has exited, while the wrapper that started it still
// runs.
type ProgramGone struct{ From }

// Stopped reports that the process has been stopped for For.
type Stopped struct {
	From
	For time.Duration
}

// Quiet answers AskQuiet: all output that the process had written has been taken, and ends
// at Position.
type Quiet struct {
	From
	Number   uint64
	Position Position
}

// OutputSettled answers FinishOutput.
type OutputSettled struct{ From }

// Wrote reports that a process has written output since the last Wrote, or since it began.
type Wrote struct{ From }

// Continued reports that the whole job continues after it was stopped on purpose. The
// head's clock does not count the time between.
type Continued struct{}

// Differs reports how the standard outputs of two replicas of a rank differ. It may be
// repeated.
type Differs struct {
	Rank int
	Text string
}

// Committed reports that an entry is kept, which this head or the arbiter has proposed.
// The events arrive in the order of the log. The driver keeps pieces of entries from the
// head.
type Committed struct{ Entry decision.Entry }

// Disconnected reports why the connection to the agent of a node has ended.
type Disconnected struct {
	Node detect.ID
	Text string
}

// Suspected reports that a node may be lost.
type Suspected struct {
	Node        detect.ID
	Testimonies []detect.Testimony
}

// Retired reports that this head may not decide any more.
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

// Failed reports that an agent cannot do its part of the job.
type Failed struct{ Err string }

// Signalled is a signal to the head.
type Signalled struct{ Signal syscall.Signal }

// Leave reports that a node, or a process if Node is 0, is to leave the job. Within bounds the
// time for that; 0: unbounded.
type Leave struct {
	Node        detect.ID
	Process     job.Process
	Incarnation uint32
	Reason      string
	Within      time.Duration
}

// Deadlocked reports that processes wait for each other forever. The head ends the job.
type Deadlocked struct{ Text string }

// StandApart reports that replicas of a rank have taken different courses, of which one never
// ends. The head ends the job, or warns, as for every difference between replicas.
type StandApart struct{ Apart *stuck.Apart }

// Tick reports that the time of Deadline has passed.
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
func (StandApart) event()    {}
func (Leave) event()         {}
func (Tick) event()          {}
