package job

import "errors"

// Event is what the head tells a process: a Verdict, Order, Connected, Release
// or End.
type Event interface{ event() }

// Event returns what a process takes a message of the head for, nil if it is
// none of these. Connected comes with a link, which no message holds.
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

// Release: every live process has finished. The process hands over what its
// links still hold and exits.
type Release struct{}

// End: the job is over before its end, the process stops now. As an error it is why a
// process that comes then does not join.
type End struct {
	Code int    // exit code of the job
	Text string // why
}

func (e End) Error() string { return "the job has ended: " + e.Text }

// FailureKind says how a run of the program failed.
type FailureKind string

// The ways to fail.
const (
	FailError      FailureKind = "error"      // run returned an error
	FailPanic      FailureKind = "panic"      // run or a task panicked
	FailDivergence FailureKind = "divergence" // two replicas proved to differ
	FailFinding    FailureKind = "finding"    // checked mode found a wrong clause
	FailRefused    FailureKind = "refused"    // it cannot do what the job was started for
	FailCorruption FailureKind = "corruption" // results of a task differ, and it is not known whose is wrong
)

// Failure is the last word of a process whose run failed.
type Failure struct {
	Kind FailureKind `json:"kind"`
	Text string      `json:"text"`
}

// ErrRefused: the head or the process refused the other in the handshake.
var ErrRefused = errors.New("handshake refused")

// ErrHeadGone: the control connection has ended, and with it the job. It
// always comes with io.EOF.
var ErrHeadGone = errors.New("the launcher is gone")
