package job

import (
	"fmt"
	"strconv"
	"strings"
)

// Verification says which tasks are run by all replicas of a rank, which compare
// what comes of them.
type Verification struct {
	Share float64 `json:"share"` // of all tasks; 1: all of them
	Seed  uint64  `json:"seed"`  // of their choice, and of the hashes
}

// usualShare is that of -sdc sample.
const usualShare = 0.01

// ParseVerification reads sample, sample=P, dual or off, for which it returns nil.
func ParseVerification(s string) (*Verification, error) {
	mode, share, given := strings.Cut(s, "=")
	switch {
	case s == "off":
		return nil, nil
	case s == "dual":
		return &Verification{Share: 1}, nil
	case s == "sample":
		return &Verification{Share: usualShare}, nil
	case mode == "sample" && given:
		part, percent := strings.CutSuffix(share, "%")
		p, err := strconv.ParseFloat(part, 64)
		if percent {
			p /= 100
		}
		if err != nil || !(p > 0 && p <= 1) {
			return nil, fmt.Errorf("%q is no share of the tasks: want a number above 0, up to 1, or percent, like 1%%", share)
		}
		return &Verification{Share: p}, nil
	}
	return nil, fmt.Errorf("%q: want sample, sample=P, dual or off", s)
}

// Corruption is what a process has counted about the tasks that it has verified.
type Corruption struct {
	Compared int64 `json:"compared"` // tasks, each counted by one replica
	Differed int64 `json:"differed"`
	Repaired int64 `json:"repaired"`
	// Undecided: one more has differed, and nobody can be convicted, as all replicas
	// say.
	Undecided bool `json:"undecided,omitempty"`
	// Convicted are those of this rank, itself too, whose results were wrong.
	Convicted []Conviction `json:"convicted,omitempty"`
}

// Conviction says that a process has come to a wrong result.
type Conviction struct {
	Process     Process `json:"process"`
	Incarnation uint32  `json:"incarnation"`
	Core        int     `json:"core"` // processor that it ran on; -1: not known
	Section     uint64  `json:"section"`
	Task        int     `json:"task"`
	Kernel      string  `json:"kernel"`
	Message     string  `json:"message,omitempty"` // that was wrong, in place of a task
	Seconds     float64 `json:"seconds"`           // since it erred, as far as that is known
	// Lost: its memory cannot be repaired. It says so itself, and waits for its end.
	Lost bool `json:"lost,omitempty"`
}
