package job

import (
	"fmt"
	"strconv"
	"strings"
)

// Verification selects the tasks that all replicas of a rank run to compare the results,
// and the safe points at which they compare their state.
type Verification struct {
	Share float64 `json:"share"` // share of the tasks that are compared; 1: all
	State uint64  `json:"state"` // states are compared at each safe point whose number is a multiple of State; 0: never
	Seed  uint64  `json:"seed"`  // seed for the choice of tasks and for the hashes
	// Backups: the job takes backups. If tasks are sampled, replicas compare all tasks
	// until the first backup is complete (Order.Entire), so that the state in this backup
	// is correct.
	Backups bool `json:"backups,omitempty"`
}

// Samples reports whether replicas compare only some of the tasks.
func (v *Verification) Samples() bool { return v != nil && v.Share > 0 && v.Share < 1 }

// usualShare is the Share of -sdc sample.
const usualShare = 0.01

// ParseVerification parses sample, sample=P or dual; state or state=N; or one of each,
// separated by a comma. For off it returns nil.
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

// Corruption holds the counts and findings of a process about the tasks and states that it
// has compared.
type Corruption struct {
	Compared int64 `json:"compared"` // number of tasks and states; each is counted by one replica
	Differed int64 `json:"differed"`
	Repaired int64 `json:"repaired"`
	// Undecided: a further task or state has differed, and no process can be blamed. All
	// replicas of the rank report it.
	Undecided bool `json:"undecided,omitempty"`
	// Dispute is the dispute because of which this process has stopped; nil: none.
	Dispute *Dispute `json:"doubt,omitempty"`
	// Disputed lists the generations in which replicas differed and this process stopped
	// because of that. The job has rolled back from all of them since.
	Disputed []uint32 `json:"doubted,omitempty"`
	// Blames lists the processes of this rank that were blamed for wrong results. This
	// process may be one of them.
	Blames []Blame `json:"convicted,omitempty"`
}

// Blame blames a process for a wrong result, message or state.
type Blame struct {
	Process     Process `json:"process"`
	Incarnation uint32  `json:"incarnation"`
	Core        int     `json:"core"` // processor on which it ran; -1: unknown
	Section     uint64  `json:"section"`
	Task        int     `json:"task"`
	Kernel      string  `json:"kernel"`
	Message     string  `json:"message,omitempty"`    // the wrong message, if it is not a task
	Point       uint64  `json:"point,omitempty"`      // safe point at which its state was wrong, if it is not a task
	Seconds     float64 `json:"seconds"`              // time from the fault to its detection, if known
	Generation  uint32  `json:"generation,omitempty"` // number of rollbacks before the report
	// Sure is the last safe point at which the comparison found the process sound; 0: none. Results
	// after it may be wrong in tasks that were not compared.
	Sure uint64 `json:"sure,omitempty"`
	// Whole: replicas have compared all results of the process.
	Whole bool `json:"whole,omitempty"`
	// Lost: its memory cannot be repaired. The process reports this itself, and waits to be
	// killed.
	Lost bool `json:"lost,omitempty"`
}

// Dispute means that the results of a rank may be wrong, and no process can be blamed. The
// process that reports it has stopped until the job rolls back or ends.
type Dispute struct {
	// Kind is the way in which the program has failed, perhaps because of a wrong result.
	// Empty: the registered states of the replicas of its rank differ.
	Kind       FailureKind `json:"kind,omitempty"`
	Point      uint64      `json:"point"`                // safe point that the process has not passed
	Below      uint64      `json:"below,omitempty"`      // first safe point after the error, so only earlier backups are sound; 0: none is after it
	Generation uint32      `json:"generation,omitempty"` // number of rollbacks before the report
	Text       string      `json:"text"`                 // description, with all hashes if there are any
}

// Differs reports whether replicas have differed. Otherwise only the program has failed.
func (d *Dispute) Differs() bool { return d.Kind != FailError && d.Kind != FailPanic }

// NewDispute returns the dispute about the failure of a program.
func NewDispute(f Failure, point uint64, generation uint32) *Dispute {
	return &Dispute{Kind: f.Kind, Point: point, Generation: generation, Text: clip(f.Text)}
}
