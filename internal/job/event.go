package job

import "errors"

// Event is an event that the head sends to a process: a Verdict, Order, Connected,
// Release or End.
type Event interface{ event() }

// Event returns the event that a message of the head carries, or nil. It never returns
// Connected, which holds a link.
func (m *Message) Event() Event {
	switch m.Kind {
	case KindVerdict:
		return *m.Verdict
	case KindOrder:
		return *m.Order
	case KindRelease:
		return Release{}
	case KindEnd:
		return End{Code: m.Code, Text: m.Text}
	}
	return nil
}

func (Verdict) event() {}
func (Release) event() {}
func (End) event()     {}

// Release is the event that every live process has finished. The process flushes its links
// and exits.
type Release struct{}

// End is the event that the job ends early. The process stops now. A process that tries to
// join gets it as an error.
type End struct {
	Code int    // exit code of the job
	Text string // reason for the end
}

func (e End) Error() string { return "the job has ended: " + e.Text }

// FailureKind is the way in which the program of a process failed.
type FailureKind string

// The ways to fail.
const (
	FailError      FailureKind = "error"      // run returned an error
	FailPanic      FailureKind = "panic"      // run or a task panicked
	FailDivergence FailureKind = "divergence" // two replicas diverged
	FailFinding    FailureKind = "finding"    // checked mode found a wrong clause
	FailRefused    FailureKind = "refused"    // the process cannot run as the job requires
	FailCorruption FailureKind = "corruption" // results of a task differ, and no replica can be blamed
)

// Failure is the last report of a process whose run failed.
type Failure struct {
	Kind FailureKind `json:"kind"`
	Text string      `json:"text"`
}

// ErrRefused means that one side refused the other in the handshake.
var ErrRefused = errors.New("handshake refused")

// ErrHeadGone means that the control connection has ended. Without it the process is no
// longer part of the job. An error that wraps ErrHeadGone also wraps io.EOF.
var ErrHeadGone = errors.New("the launcher is gone")
