package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Again requests that the program of a process runs again, alone: at safe point To the process goes
// back to safe point From, although it lacks no results. Safe points count from 1.
type Again struct {
	Process Process `json:"process"`
	From    uint64  `json:"from"`
	To      uint64  `json:"to"`
}

func (a Again) String() string { return fmt.Sprintf("%v@%d-%d", a.Process, a.From, a.To) }

// Fault returns the request as a value of -fault.
func (a Again) Fault() string { return "again:" + a.String() }

// ParseAgain reads RANK.REPLICA@FROM-TO.
func ParseAgain(s string) (Again, error) {
	who, points, _ := strings.Cut(s, "@")
	from, to, ok := strings.Cut(points, "-")
	if !ok {
		return Again{}, fmt.Errorf("%q names no safe points: want RANK.REPLICA@FROM-TO, like 0.1@3-7", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Again{}, err
	}
	a := Again{Process: p}
	for _, x := range []struct {
		text string
		into *uint64
	}{{from, &a.From}, {to, &a.To}} {
		if *x.into, err = strconv.ParseUint(x.text, 10, 64); err != nil || *x.into == 0 {
			return Again{}, fmt.Errorf("%q in %q is not the number of a safe point, from 1", x.text, s)
		}
	}
	if a.To <= a.From {
		return Again{}, fmt.Errorf("%q: want a safe point after %d to go back from", s, a.From)
	}
	return a, nil
}

// Happened reports whether the request has been carried out.
func (a Again) Happened(runs []SecondRun) bool {
	return slices.ContainsFunc(runs, func(r SecondRun) bool { return r.From == a.From && r.To == a.To })
}

// SecondRun is a repeated run of the program from a safe point, by one process alone.
type SecondRun struct {
	From uint64 `json:"from"` // safe point at which it began
	To   uint64 `json:"to"`   // safe point up to which the process had been before
	// time from the last memory that the process had received from its sibling until it knew of
	// the sibling's death; 0 without a death
	Detection float64 `json:"detection_seconds"`
	Age       float64 `json:"age_seconds"`   // age of its image when the process rolled back
	First     float64 `json:"first_seconds"` // time from the rollback to the first SafePoint of the run
	Seconds   float64 `json:"seconds"`       // time from the rollback until the process was at its earlier position again
}
