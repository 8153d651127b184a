package job

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// KillPoint is a kind of place in the execution of a process where it can be killed on
// purpose.
type KillPoint string

// The kill points. KillAfter is a time; the others count events of the victim, from 0.
const (
	KillAfter   KillPoint = "after"   // a duration after all processes have joined
	KillSection KillPoint = "section" // in the call that opens a section
	KillTask    KillPoint = "task"    // after a body has started, before its update is sent
	KillUpdate  KillPoint = "update"  // in the middle of the transfer of an update to one peer
	KillMessage KillPoint = "message" // in the middle of the first transmission of a message's payload
	KillLink    KillPoint = "link"    // when a link that is made at its first use has arrived, before a frame uses it
	KillFile    KillPoint = "file"    // at a step of a call of package file; in the middle of a write, half of the bytes are written
	KillJoin    KillPoint = "join"    // at a step of the replacement of a process, see JoinSteps
	KillBackup  KillPoint = "backup"  // at a step of a backup or of the rollback to it, see BackupSteps
)

// The steps of KillJoin and KillBackup, in order. A process is killed when it first reaches
// the step.
var (
	JoinSteps = []string{
		"ask",     // the process was asked for a cut and has not answered yet
		"copy",    // donor: some state has been copied ahead of the cut
		"drain",   // the process is in the cut and has received all earlier messages, but has not reported that
		"state",   // donor: in the middle of the transfer in the cut
		"receive", // joiner: the first state has arrived
		"joined",  // joiner: the process has its whole state, but has not reported that
		"admit",   // the joiners are live in this process, but it has not reported that
		"go",      // the cut has ended
	}
	BackupSteps = []string{
		"copy",     // half of the state is copied
		"send",     // half of the copy is sent
		"receive",  // holder: the first part of the copy has arrived
		"stored",   // the copy is stored, but the process has not reported that
		"complete", // the backup is complete
		"abort",    // the job rolls back, but the program has not returned yet
		"fetch",    // holder: half of a copy is sent to the process that needs it
		"ready",    // the process has rolled back, but has not reported that
		"resume",   // all processes have rolled back
	}
)

// Kill requests the death of one process at one point.
type Kill struct {
	Process Process
	Point   KillPoint
	Count   int64         // for the counted points
	Step    string        // for KillJoin and KillBackup
	After   time.Duration // for KillAfter
}

// When returns the point in the form that ParseKill parses.
func (k Kill) When() string {
	if k.Point == KillAfter {
		return k.After.String()
	}
	if k.Step != "" {
		return fmt.Sprintf("%s:%s", k.Point, k.Step)
	}
	return fmt.Sprintf("%s:%d", k.Point, k.Count)
}

func (k Kill) String() string { return k.Process.String() + "@" + k.When() }

// ParseKill parses RANK.REPLICA@WHEN. WHEN is a duration or section:K, task:K, update:K,
// message:K, link:K, file:K, join:STEP, backup:STEP.
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
			return Kill{}, fmt.Errorf("%q is not a time to kill at: want a duration like 1.5s, or section:K, task:K, update:K, message:K, link:K, file:K, join:STEP, backup:STEP", when)
		}
		return Kill{Process: p, Point: KillAfter, After: d}, nil
	}
	steps := map[KillPoint][]string{KillJoin: JoinSteps, KillBackup: BackupSteps}
	switch kp := KillPoint(point); kp {
	case KillJoin, KillBackup:
		if !slices.Contains(steps[kp], count) {
			return Kill{}, fmt.Errorf("%q in %q is not a step of %s: want %s", count, s, kp, strings.Join(steps[kp], ", "))
		}
		return Kill{Process: p, Point: kp, Step: count}, nil
	case KillSection, KillTask, KillUpdate, KillMessage, KillLink, KillFile:
		n, err := strconv.ParseInt(count, 10, 64)
		if err != nil || n < 0 {
			return Kill{}, fmt.Errorf("%q in %q is not a count from 0", count, s)
		}
		return Kill{Process: p, Point: kp, Count: n}, nil
	}
	return Kill{}, fmt.Errorf("unknown kill point %q in %q: want section, task, update, message, link, file, join or backup", point, s)
}
