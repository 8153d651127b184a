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

// Event is an event that the driver passes to the head. The driver passes events in the order
// in which they happen.
type Event interface{ event() }

// From names the process that an event is about, and the node that has observed the event. ID
// is the name by which the agent of that node knows the process. Incarnation distinguishes the
// process from earlier and later ones of that name. The head ignores an event about a process
// that it does not know on that node: the event is from before a death.
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
	Err string // "" if the process runs
}

// Joined reports that the process has authenticated itself and waits for its Setup.
type Joined struct {
	From
	Hello *job.Hello
}

// Said passes on a message of a process that has joined. The driver does not pass on job.KindTrace.
type Said struct {
	From
	Message *job.Message
}

// Unreachable reports that the control connection of a process is unusable in one direction or
// both.
type Unreachable struct {
	From
	Why  Silence
	Text string
}

// Silence is the reason why the control connection of a process is unusable.
type Silence string

// The causes.
const (
	SilenceEnd         Silence = "end"      // the connection has ended
	SilenceRefused     Silence = "refused"  // one side has refused the handshake
	SilenceNonsense    Silence = "nonsense" // the process has sent a malformed message
	SilenceUndelivered Silence = "untold"   // a message of the head cannot be sent to the process
)

// Exited reports that the process has exited. The driver has passed on all its messages
// before.
type Exited struct {
	From
	Exit
}

// Exit is how a process ended.
type Exit struct {
	Status  syscall.WaitStatus
	Text    string
	Crashed bool   // the Go runtime has written the text of a crash
	Quit    bool   // the crash was caused by SIGQUIT
	Memory  string // if the kernel killed the process to free memory: where memory is limited
}

// ProgramGone reports that the program has exited, while the wrapper that started it still
// runs.
type ProgramGone struct{ From }

// Stopped reports that the process has been stopped for For.
type Stopped struct {
	From
	For time.Duration
}

// Quiet answers AskQuiet: the driver has taken all output that the process had written, which
// ends at Position.
type Quiet struct {
	From
	Number   uint64
	Position Position
}

// OutputSettled answers FinishOutput.
type OutputSettled struct{ From }

// Wrote reports that a process has written output since the last Wrote, or since it began.
type Wrote struct{ From }

// Continued reports that the whole job continues after it was stopped on purpose. The head's
// clock does not count the time of the stop.
type Continued struct{}

// Differs reports how the standard outputs of two replicas of a rank differ. It may be
// repeated.
type Differs struct {
	Rank int
	Text string
}

// Committed reports that an entry is kept. This head or the arbiter has proposed the entry.
// The events arrive in the order of the log. If an entry is kept in pieces, the driver passes
// on only the whole one.
type Committed struct{ Entry decision.Entry }

// Disconnected reports why the connection to the agent of a node has ended.
type Disconnected struct {
	Node detect.ID
	Text string
}

// Suspected reports that a node may have failed.
type Suspected struct {
	Node        detect.ID
	Testimonies []detect.Testimony
}

// Retired reports that this head may no longer decide.
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
type Signalled struct {
	Signal syscall.Signal
	Final  bool // it ends the job in any case
}

// End reports that a host has to leave and its processes have nowhere to go. The job is to
// write a last set of files and end, within the time Within; 0: without a limit.
type End struct {
	Reason string
	Within time.Duration
}

// Leave reports that a node, or a process if Node is 0, is to leave the job within the time
// Within; 0: without a limit.
type Leave struct {
	Node        detect.ID
	Process     job.Process
	Incarnation uint32
	Reason      string
	Within      time.Duration
}

// Noticed reports that the agent of a node was given notice that its host goes away. The agent
// repeats it to a successor.
type Noticed struct{ Node detect.ID }

// SetDegrees reports that ranks are to have these numbers of replicas, by rank. MayDegrees allows
// it.
type SetDegrees struct {
	Degrees map[int]int
	Reason  string
}

// HostArrives reports that a host is ready to join the running job.
type HostArrives struct {
	Host   decision.Host
	Beside bool // it is the host of this head
}

// Deadlocked reports that processes wait for each other forever. The head ends the job.
type Deadlocked struct{ Text string }

// StandApart reports that replicas of a rank have taken different courses, so that one of them
// never ends. The head ends the job or warns, as for every difference between replicas.
type StandApart struct{ Apart *stuck.Apart }

// Tick reports that the time that Deadline returned has come.
type Tick struct{}

func (Begin) event()         {}
func (Started) event()       {}
func (Joined) event()        {}
func (Said) event()          {}
func (Unreachable) event()   {}
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
func (Noticed) event()       {}
func (HostArrives) event()   {}
func (SetDegrees) event()    {}
func (End) event()           {}
func (Tick) event()          {}
