package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// Action is one thing that the driver has to do. None of them blocks the head:
// what has an answer comes as an event.
type Action interface{ action() }

// To says which process an action is about; see From.
type To = From

// Role is what a process is started for.
type Role uint8

// The roles.
const (
	First  Role = iota // it is there from the beginning
	Joiner             // it takes the place of another one; what it writes is no output before Resume
	Spare              // it waits for a place; what it writes belongs to no rank before Move
)

// Start has a process started, and an output made for it: that of its rank, or
// of no rank for a spare. Answer Started. An agent that has had this Start
// ignores it.
type Start struct {
	To
	Process job.Process
	Role    Role
}

// Adopt has an output made for a process that was started under another head, as
// Start does. It comes before anything is heard of the process.
type Adopt struct {
	To
	Process job.Process
	Role    Role // Joiner if it has no state yet
	Gone    bool // nothing will come of it, not even that it has exited
}

// Kill sends a signal to the process and all that it has started.
type Kill struct {
	To
	Signal syscall.Signal
}

// Send hands a message to a process. An agent keeps from the process what that
// has heard from an earlier head.
type Send struct {
	To
	Message *job.Message
}

// Link gives two processes of one host the two ends of a link. Lower comes first
// in job.Process.Compare of the processes.
type Link struct {
	Node          detect.ID
	Lower, Higher job.Process // by which their agent knows them
	Kind          string
	Ring          int
	Meet          *[2]job.Peer // describes the two if one of them comes later than the other
}

// AskQuiet asks for Quiet with that number once all that the process has written
// so far was taken. A process that is gone never answers.
type AskQuiet struct {
	To
	Number uint64
}

// Mute drops what the process writes from now on: it is written again later, or
// was written before.
type Mute struct{ To }

// Resume has the output of a process that writes nothing now go on from there.
// Its agent hears of it too, once in each Generation.
type Resume struct {
	To
	Position   Position
	Generation uint32 // rollbacks so far
	Anew       bool   // what is out after that may be wrong, and is put out again
}

// Move makes the output of a spare part of that of a rank.
type Move struct {
	To
	Process job.Process
}

// FinishOutput lets the output of a process that is gone come to its end. Answer
// OutputSettled, after what it has said of its own death was printed.
type FinishOutput struct {
	To
	Process      job.Process // as whose last words are printed
	Died, Itself bool        // it was not at its end; nobody has killed it
}

// Propose has an entry kept. Answer Committed, in the order of the proposals; at
// once where nobody else keeps any. If that cannot be done now, it is tried until
// it can, or the answer is Retired.
type Propose struct{ Entry decision.Entry }

// Open looks for files, of that job. Answer Opened.
type Open struct{ Job checkpoint.Job }

// Publish makes a set of files complete. Answer Published.
type Publish struct {
	Dir string
	Set *checkpoint.Set
}

// Discard removes what there is of a set of files that will never be complete.
type Discard struct {
	Dir string
	Set uint64
}

// Declared tells of a verdict, for the timeline.
type Declared struct{ Verdict decision.Verdict }

// Log tells the user something.
type Log struct {
	Level Level
	At    time.Duration // since all had joined
	Text  string
}

// Level says who wants to hear of something.
type Level uint8

// The levels.
const (
	Note    Level = iota // everybody: the words of a process, as they are
	Warning              // all but those who want to hear nothing
	Detail               // those who want to hear everything
	Reason               // everybody: why the job has failed
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
func (Propose) action()      {}
func (Open) action()         {}
func (Publish) action()      {}
func (Discard) action()      {}
func (Declared) action()     {}
func (Log) action()          {}
