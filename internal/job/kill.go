package job

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// KillPoint is a kind of place in a process's execution where it can be
// killed on purpose.
type KillPoint string

// The kill points. KillAfter is a time, the others count events of the
// victim from 0.
const (
	KillAfter   KillPoint = "after"   // a duration after all have joined
	KillSection KillPoint = "section" // in the call that opens a section
	KillTask    KillPoint = "task"    // after a body has started, before its update leaves
	KillUpdate  KillPoint = "update"  // in the middle of the transfer of an update to one peer
	KillMessage KillPoint = "message" // in the middle of the first transmission of a message's payload
)

// Kill asks for the death of one process at one point.
type Kill struct {
	Process Process
	Point   KillPoint
	Count   int64         // for the counted points
	After   time.Duration // for KillAfter
}

// When writes the point as the user gave it.
func (k Kill) When() string {
	if k.Point == KillAfter {
		return k.After.String()
	}
	return fmt.Sprintf("%s:%d", k.Point, k.Count)
}

func (k Kill) String() string { return k.Process.String() + "@" + k.When() }

// ParseKill reads RANK.REPLICA@WHEN, where WHEN is a duration or section:K,
// task:K, update:K, message:K.
func ParseKill(s string) (Kill, error) {
	who, when, ok := strings.Cut(s, "@")
	if !ok {
		return Kill{}, fmt.Errorf("%q is not a kill: want RANK.REPLICA@WHEN, like 0.1@task:3", s)
	}
	p, err := ParseProcess(who)
	if err != nil {
		return Kill{}, err
	}
	point, count, counted := strings.Cut(when, ":")
	if !counted {
		d, err := time.ParseDuration(when)
		if err != nil || d < 0 {
			return Kill{}, fmt.Errorf("%q is not a time to kill at: want a duration like 1.5s, or section:K, task:K, update:K, message:K", when)
		}
		return Kill{Process: p, Point: KillAfter, After: d}, nil
	}
	switch kp := KillPoint(point); kp {
	case KillSection, KillTask, KillUpdate, KillMessage:
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 0 {
			return Kill{}, fmt.Errorf("%q in %q is not a count from 0", count, s)
		}
		return Kill{Process: p, Point: kp, Count: n}, nil
	}
	return Kill{}, fmt.Errorf("unknown kill point %q in %q: want section, task, update or message", point, s)
}
