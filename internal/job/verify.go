package job

import (
	"fmt"
	"strconv"
	"strings"
)

// Verification says which tasks are run by all replicas of a rank, which compare
// what comes of them, and at which safe points they compare their state.
type Verification struct {
	Share float64 `json:"share"` // of all tasks; 1: all of them
	State uint64  `json:"state"` // compared at each safe point with a multiple of this number; 0: at none
	Seed  uint64  `json:"seed"`  // of the choice of tasks, and of the hashes
	// Backups: there will be some to go back to. Where tasks are sampled all are compared
	// until the first one is complete (Order.Entire), so that what it holds is right.
	Backups bool `json:"backups,omitempty"`
}

// Samples reports whether some tasks are compared and others are not.
func (v *Verification) Samples() bool { return v != nil && v.Share > 0 && v.Share < 1 }

// usualShare is that of -sdc sample.
const usualShare = 0.01

// ParseVerification reads sample, sample=P, dual, state, state=N or one of the first
// three and one of the others with a comma between them; or off, for which it returns nil.
func ParseVerification(s string) (*Verification, error) {
	if s == "off" {
		return nil, nil
	}
	var v Verification
	for mode := range strings.SplitSeq(s, ",") {
		name, value, given := strings.Cut(mode, "=")
		var err error
		switch {
		case name == "state" && v.State == 0:
			v.State = 1
			if given {
				v.State, err = parseEvery(value)
			}
		case name == "sample" && v.Share == 0:
			v.Share = usualShare
			if given {
				v.Share, err = parseShare(value)
			}
		case mode == "dual" && v.Share == 0:
			v.Share = 1
		default:
			err = fmt.Errorf("%q: want sample, sample=P or dual, or state or state=N, or one of each like dual,state; or off", s)
		}
		if err != nil {
			return nil, err
		}
	}
	return &v, nil
}

func parseShare(s string) (float64, error) {
	part, percent := strings.CutSuffix(s, "%")
	p, err := strconv.ParseFloat(part, 64)
	if percent {
		p /= 100
	}
	if err != nil || !(p > 0 && p <= 1) {
		return 0, fmt.Errorf("%q is no share of the tasks: want a number above 0, up to 1, or percent, like 1%%", s)
	}
	return p, nil
}

func parseEvery(s string) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is no number of safe points: want 1 or more, like state=10", s)
	}
	return n, nil
}

// Corruption is what a process has counted about the tasks and states that it has
// compared.
type Corruption struct {
	Compared int64 `json:"compared"` // tasks and states, each counted by one replica
	Differed int64 `json:"differed"`
	Repaired int64 `json:"repaired"`
	// Undecided: one more has differed, and nobody can be convicted, as all replicas
	// say.
	Undecided bool `json:"undecided,omitempty"`
	// Doubt: this process goes no further.
	Doubt *Doubt `json:"doubt,omitempty"`
	// Doubted are the generations in which that was so since something differed, and the
	// job has gone back.
	Doubted []uint32 `json:"doubted,omitempty"`
	// Convicted are those of this rank, itself too, whose results were wrong.
	Convicted []Conviction `json:"convicted,omitempty"`
}

// Conviction says that a process has come to a wrong result, or state.
type Conviction struct {
	Process     Process `json:"process"`
	Incarnation uint32  `json:"incarnation"`
	Core        int     `json:"core"` // processor that it ran on; -1: not known
	Section     uint64  `json:"section"`
	Task        int     `json:"task"`
	Kernel      string  `json:"kernel"`
	Message     string  `json:"message,omitempty"`    // that was wrong, in place of a task
	Point       uint64  `json:"point,omitempty"`      // safe point at which its state was wrong, in place of a task
	Seconds     float64 `json:"seconds"`              // since it erred, as far as that is known
	Generation  uint32  `json:"generation,omitempty"` // how often the job had gone back
	// Sure is the newest safe point by which it was not defective yet, as far as comparing
	// tells; 0: none. What it has done since in tasks that were not compared may be wrong.
	Sure uint64 `json:"sure,omitempty"`
	// Whole: all that it has done was compared.
	Whole bool `json:"whole,omitempty"`
	// Lost: its memory cannot be repaired. It says so itself, and waits for its end.
	Lost bool `json:"lost,omitempty"`
}

// Doubt says that a process goes no further until the job goes back, or ends: what its
// rank has come to may be wrong, and it is not known whose fault that is.
type Doubt struct {
	// Kind says how its program has failed, perhaps because of a wrong result; empty: the
	// registered states of the replicas of its rank differ.
	Kind       FailureKind `json:"kind,omitempty"`
	Point      uint64      `json:"point"`                // the safe point that it has not got past
	Below      uint64      `json:"below,omitempty"`      // of the first safe point that is behind what was wrong; 0: none is
	Generation uint32      `json:"generation,omitempty"` // how often the job had gone back
	Text       string      `json:"text"`                 // with all hashes, if there are some
}

// Differs reports whether replicas have come to different things, and the program has not
// just failed.
func (d *Doubt) Differs() bool { return d.Kind != FailError && d.Kind != FailPanic }

// NewDoubt returns the doubt about what has made a program fail.
func NewDoubt(f Failure, point uint64, generation uint32) *Doubt {
	return &Doubt{Kind: f.Kind, Point: point, Generation: generation, Text: clip(f.Text)}
}
