package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Doing is what a process does, as it says itself every now and then.
type Doing struct {
	State    State  `json:"state"`
	Section  uint64 `json:"section,omitempty"` // the number of the section that it is in, from 0
	At       string `json:"at,omitempty"`      // file:line of that section, or of the safe point
	Task     string `json:"task,omitempty"`    // that runs in it, with the place of its launch
	Point    uint64 `json:"point,omitempty"`   // safe points that it has come to
	Messages uint64 `json:"messages,omitempty"`
	// Done of Total: how far the program says that it is; Total 0: it has not said
	// of how much.
	Done  int64 `json:"done,omitempty"`
	Total int64 `json:"total,omitempty"`
	// Arrived is how much of its state a joiner has, from 0 to 1.
	Arrived float64 `json:"arrived,omitempty"`
	// Idle is for how long nothing has been counted: no task, message, section or
	// safe point.
	Idle  time.Duration `json:"idle"`
	Waits []Wait        `json:"waits,omitempty"` // calls that have waited for a second or longer
	// Blocked: no goroutine of the program could go on by itself when that was looked
	// at last. A process that computes, or reads a file, is not.
	Blocked bool `json:"blocked,omitempty"`
}

// State says where a process is.
type State string

// The states of a process that has joined.
const (
	StateRuns      State = "runs"       // in the program, outside of a section
	StateSection   State = "section"    // in one
	StateOnce      State = "once"       // in intra.Once
	StateSafePoint State = "safe point" // waits in one
	StateJoining   State = "joining"    // waits for the state of its rank
	StateBack      State = "going back" // on the way to a backup
	StateFinished  State = "finished"   // its program has returned
)

// Wait is something that a goroutine of a process waits for.
type Wait struct {
	Call string `json:"call"`         // like Recv
	At   string `json:"at,omitempty"` // file:line
	// Ranks are those that it waits for: all of them, or one if One. Without any it
	// waits for the other replicas of its own rank, or, in a safe point, for all
	// processes.
	Ranks []int `json:"ranks,omitempty"`
	One   bool  `json:"one,omitempty"`
	Tag   *int  `json:"tag,omitempty"` // nil: any, or none
	// Moving: nothing is to be done for it by the programs of others.
	Moving bool          `json:"moving,omitempty"`
	For    time.Duration `json:"for"`
}

// String says what is called and for whom it waits, like "Recv from 1 tag 7".
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

// shownRanks are as many as are named.
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
