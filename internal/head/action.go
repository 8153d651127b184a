package head

import (
	"encoding/json"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Action is one step that the driver takes for the head. No action blocks the head: answers
// arrive as events.
type Action interface{ action() }

// To names the process that an action is about; see From.
type To = From

// Role is the purpose of a process.
type Role uint8

// The roles.
const (
	First  Role = iota // started with the job
	Joiner             // the process replaces a dead one; its writes do not count as output before Resume
	Spare              // the process waits for a slot; its writes belong to no rank before Move
)

// Start starts a process and makes an output for it: the output of its rank or, for a spare,
// an output of no rank. The answer is Started. An agent ignores a Start that it has received
// before.
type Start struct {
	To
	Process job.Process
	Role    Role
}

// Adopt makes an output for a process that was started under an earlier head, as Start does.
// It precedes all events about the process.
type Adopt struct {
	To
	Process job.Process
	Role    Role // Joiner if the process has no state yet
	Gone    bool // no event about the process will follow, not even Exited
}

// Kill sends a signal to the process and all processes that it has started.
type Kill struct {
	To
	Signal syscall.Signal
}

// Send sends a message to a process. Its agent discards a message that the process has
// received from an earlier head.
type Send struct {
	To
	Message *job.Message
}

// Link gives two processes of one host the two ends of a link. Lower comes first
// in job.Process.Compare of the processes.
type Link struct {
	Node          detect.ID
	Lower, Higher job.Process // the names by which their agent knows the two processes
	Kind          string
	Ring          int
	Meet          *[2]job.Peer // describes the two if one of them is a joiner
}

// AskQuiet requests a Quiet with the same number. The driver answers once it has taken all output
// that the process has written so far. It does not answer for a process that has exited.
type AskQuiet struct {
	To
	Number uint64
}

// Mute discards the output that the process writes from now on: it has been printed already,
// or the process will write it again.
type Mute struct{ To }

// Resume continues the output of a process at Position. The process must not write meanwhile.
// The driver also sends Resume to the process's agent, once in each Generation.
type Resume struct {
	To
	Position   Position
	Generation uint32 // rollbacks so far
	Anew       bool   // output after Position may be wrong and is printed again
}

// Move makes the output of a spare a part of its new rank's output.
type Move struct {
	To
	Process job.Process
}

// FinishOutput completes the output of a process that has exited. The driver prints the process's
// report of its own death, and then answers OutputSettled.
type FinishOutput struct {
	To
	Process      job.Process // the slot that the printed report names
	Died, Itself bool        // Died: it died before its end; Itself: no signal killed it
}

// Free lets the agent of a node that was given notice exit, because its last process is gone. If
// Why is not empty, the node cannot leave for that reason; then the agent and its processes end at
// once.
type Free struct {
	Node detect.ID
	Why  string
}

// Admit makes a host that has joined a part of the job.
type Admit struct{ Host decision.Host }

// HandOver makes another host the head. The driver answers Retired once this head may make no more
// decisions. It does not answer while no other host can become the head.
type HandOver struct{}

// Propose requests that an entry be kept. The driver repeats the proposal until it succeeds, or
// answers Retired. Once the entry is kept, it answers Committed, in the order of the proposals. If
// the decisions are not replicated, it answers immediately.
type Propose struct{ Entry decision.Entry }

// Open looks for the files of a job. The answer is Opened.
type Open struct{ Job checkpoint.Job }

// Publish makes a set of files complete. The answer is Published.
type Publish struct {
	Dir string
	Set *checkpoint.Set
}

// Discard removes the files of a set that will never be complete.
type Discard struct {
	Dir string
	Set uint64
}

// Declared reports a verdict, for the timeline.
type Declared struct{ Verdict decision.Verdict }

// Log prints a message to the user.
type Log struct {
	Level Level
	At    time.Duration // time since all processes had joined
	Text  string
}

// Level is the verbosity from which a message is printed.
type Level uint8

// The levels.
const (
	Note    Level = iota // always shown: a text that a process wrote, unchanged
	Warning              // shown unless the user wants no messages
	Detail               // shown only if the user wants all messages
	Reason               // always shown: why the job has failed
)

func (Start) action()        {}
func (Adopt) action()        {}
func (Kill) action()         {}
func (Send) action()         {}
func (Link) action()         {}
func (AskQuiet) action()     {}
func (Mute) action()         {}
func (Resume) action()       {}
func (Move) action()         {}
func (FinishOutput) action() {}
func (Free) action()         {}
func (Admit) action()        {}
func (HandOver) action()     {}
func (Propose) action()      {}
func (Open) action()         {}
func (Publish) action()      {}
func (Discard) action()      {}
func (Declared) action()     {}
func (Log) action()          {}

// Position is a position in the output of a process, in a form that only the driver knows.
// It is kept with decisions.
type Position = json.RawMessage
