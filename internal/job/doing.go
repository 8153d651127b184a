package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Doing is the current activity of a process. The process reports it from time to time.
type Doing struct {
	State    State  `json:"state"`
	Section  uint64 `json:"section,omitempty"` // number of the section that the process is in, from 0
	At       string `json:"at,omitempty"`      // file:line of that section, or of the safe point
	Task     string `json:"task,omitempty"`    // the task that runs in the section, with file:line of its launch
	Point    uint64 `json:"point,omitempty"`   // number of safe points that it has reached
	From     uint64 `json:"from,omitempty"`    // in StateAgain: number of the safe point at which the run began
	To       uint64 `json:"to,omitempty"`      // in StateAgain: number of the last safe point that the run before had reached
	Messages uint64 `json:"messages,omitempty"`
	// Done of Total is the progress that the program reports. Total is 0 if it has reported
	// no total.
	Done  int64 `json:"done,omitempty"`
	Total int64 `json:"total,omitempty"`
	// Arrived is the part of the state that a joiner has received, from 0 to 1.
	Arrived float64 `json:"arrived,omitempty"`
	// Idle is the time since the last progress: a task, a message, a section or a safe
	// point.
	Idle  time.Duration `json:"idle"`
	Waits []Wait        `json:"waits,omitempty"` // calls that have waited for a second or longer
	// Blocked: at the last check no goroutine of the program could continue by itself. A
	// process that computes or reads a file is not blocked.
	Blocked bool `json:"blocked,omitempty"`
	// Sent counts, while the process is Blocked, the messages that the program has sent on
	// the communicators that it has not freed.
	Sent uint64 `json:"sent,omitempty"`
}

// State names the current activity of a process.
type State string

// The states of a process that has joined.
const (
	StateRuns      State = "runs"       // in the program, outside of a section
	StateSection   State = "section"    // in a section
	StateOnce      State = "once"       // in intra.Once
	StateSafePoint State = "safe point" // waits in a safe point
	StateJoining   State = "joining"    // waits for the state of its rank
	StateBack      State = "going back" // rolls back to a backup
	StateAgain     State = "runs again" // repeats, alone, what it has done since safe point From
	StateFinished  State = "finished"   // its program has returned
)

// Wait describes what a goroutine of a process waits for.
type Wait struct {
	Call string `json:"call"`         // name of the call, like Recv
	At   string `json:"at,omitempty"` // file:line
	// Ranks lists the ranks that the goroutine waits for: all of them, or any one of them
	// if One is set. If Ranks is empty and One is not set, it waits for the other replicas
	// of its own rank, or, in a safe point, for all processes.
	Ranks []int `json:"ranks,omitempty"`
	One   bool  `json:"one,omitempty"`
	Tag   *int  `json:"tag,omitempty"` // nil: any tag, or a call without a tag
	// Moving: the other programs have done their part of the call, and links carry the
	// rest.
	Moving bool          `json:"moving,omitempty"`
	For    time.Duration `json:"for"`
}

// String returns the call and the ranks that it waits for, like "Recv from 1 tag 7".
func (w *Wait) String() string {
	var b strings.Builder
	b.WriteString(w.Call)
	switch {
	case len(w.Ranks) == 0 && w.One:
		b.WriteString(" for any rank")
	case len(w.Ranks) > 0:
		fmt.Fprintf(&b, " %s %s", w.preposition(), w.ranks())
	}
	if w.Tag != nil {
		fmt.Fprintf(&b, " tag %d", *w.Tag)
	}
	return b.String()
}

func (w *Wait) preposition() string {
	switch w.Call {
	case "Recv", "Probe":
		return "from"
	case "Send", "Ssend":
		return "to"
	}
	return "for"
}

// shownRanks bounds the ranks that String names.
const shownRanks = 8

func (w *Wait) ranks() string {
	n := len(w.Ranks)
	if w.One && n > 1 {
		return fmt.Sprintf("any of %d ranks", n)
	}
	var names []string
	for _, r := range w.Ranks[:min(n, shownRanks)] {
		names = append(names, strconv.Itoa(r))
	}
	if n > shownRanks {
		names = append(names, fmt.Sprintf("%d more", n-shownRanks))
	}
	return strings.Join(names, ", ")
}
