package intra

import (
	"math/bits"
	"time"

	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// Sharing pays only if a section takes less time with it than without: the
// updates must cost less than the computation they save. That is measured,
// for each type of task and size of its updates, and decided for each replica
// by itself. A replica that does not share runs every task and sends nothing;
// since nobody waits for what nobody has claimed, its peers need not agree.
type decisions struct {
	of map[decisionKey]*decision
}

// decisionKey tells sections apart whose times cannot be compared.
type decisionKey struct {
	task  *Task // of the first task
	tasks int
	bytes int // of all updates, as a power of two
}

// decision is what is known of one kind of section.
type decision struct {
	runs      uint64
	shared    time.Duration // of a whole section when it was shared, average
	alone     time.Duration // of all its bodies, one after the other, average
	measured  int           // shared sections in the average
	replicate bool
}

const (
	// enough measured sections before a decision is made.
	enough = 4
	// A decision changes only for a gain of an eighth, so that noise does
	// not turn it back and forth.
	hysteresis = 8
	// longestPause between two sections that are shared to see whether it
	// pays now. Before, the pauses double.
	longestPause = 1024
)

func newDecisions() decisions { return decisions{of: make(map[decisionKey]*decision)} }

func (d *decisions) about(s *Section) *decision {
	if len(s.tasks) == 0 {
		return new(decision)
	}
	bytes := 0
	for i := range s.tasks {
		bytes += update.Size(s.tasks[i].regions)
	}
	key := decisionKey{s.tasks[0].task, len(s.tasks), bits.Len(uint(bytes))}
	if d.of[key] == nil {
		d.of[key] = new(decision)
	}
	return d.of[key]
}

// policy returns how to run the next section of this kind. The sections that
// try sharing again are counted, not timed, so that all replicas try at once.
func (d *decision) policy() sched.Policy {
	d.runs++
	again := d.runs&(d.runs-1) == 0 || d.runs%longestPause == 0
	if d.replicate && !again {
		return sched.Replicate
	}
	return sched.Adaptive
}

// learn takes in a section that ran with that policy and took that long; of
// its n bodies this replica ran some, in the time spent.
func (d *decision) learn(p sched.Policy, took, spent time.Duration, ran, n int) {
	if ran == 0 {
		return
	}
	alone := spent * time.Duration(n) / time.Duration(ran)
	d.alone = average(d.alone, alone)
	if p == sched.Replicate {
		return
	}
	if d.replicate { // a trial: what was measured long ago means nothing
		d.replicate = took > d.alone-d.alone/hysteresis
		d.shared, d.measured = took, enough/2
		return
	}
	d.shared = average(d.shared, took)
	d.measured++
	d.replicate = d.measured >= enough && d.shared > d.alone+d.alone/hysteresis
}

// average weighs the newest of a series by a quarter.
func average(old, now time.Duration) time.Duration {
	if old == 0 {
		return now
	}
	return (3*old + now) / 4
}

// word is the decision as the report names it.
func (d *decision) word() string {
	if d.replicate {
		return "replicate"
	}
	return "share"
}
