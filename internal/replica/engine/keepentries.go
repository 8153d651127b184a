package engine

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/update"
)

// entry describes a section at its entry, so that the same section of a second run can be compared
// with it. A variable that the program has forgotten to register shows in the arguments of tasks,
// even if it affects no message.
type entry struct {
	sum uint64 // signature of the tasks, with the values of their small arguments
	// lacking are the numbers of the small arguments, in order, that were not current on this
	// replica. sum does not include their values.
	lacking []int
}

// entries are the sections that the program has entered since the oldest settled point.
type entries struct {
	dropped int // number of earlier sections
	all     []entry
}

// end returns the number of sections that the program has entered since the job began to keep
// results.
func (e *entries) end() int { return e.dropped + len(e.all) }

// from returns the entries from section n on, where n is an earlier result of end.
func (e *entries) from(n int) []entry { return e.all[n-e.dropped:] }

// forget drops the entries before section n.
func (e *entries) forget(n int) { e.all, e.dropped = slices.Clone(e.from(n)), n }

// record records that the program enters s. The caller holds the lock.
func (k *keeper) record(s *Section) {
	var signature update.Signature
	var e entry
	n := 0
	current := func(mem []byte) bool {
		n++
		if k.machine.Current(spanOf(mem)) {
			return true
		}
		e.lacking = append(e.lacking, n)
		return false
	}
	for i := range s.Tasks {
		signature.AddShape(s.Tasks[i].Kernel.typeSum(), s.Tasks[i].Regions, current)
	}
	e.sum = signature.Sum()
	k.entries.all = append(k.entries.all, e)
}

// repetition compares the sections of a second run with those of the first run.
type repetition struct {
	entries   []entry // sections of the first run that are still to be compared
	signature update.Signature
	small     int // number of small arguments in signature, and of those left out
}

// add adds a task to the section that the second run enters. It is called before the task runs.
func (r *repetition) add(t *Task) {
	if len(r.entries) == 0 {
		return
	}
	lacking := r.entries[0].lacking
	r.signature.AddShape(t.Kernel.typeSum(), t.Regions, func([]byte) bool {
		r.small++
		_, lacked := slices.BinarySearch(lacking, r.small)
		return !lacked
	})
}

// compare returns an error if the section whose tasks were added differs from that of the first
// run.
func (r *repetition) compare() error {
	if len(r.entries) == 0 {
		return nil
	}
	e, sum := r.entries[0], r.signature.Sum()
	r.entries, r.signature, r.small = r.entries[1:], update.Signature{}, 0
	if e.sum == sum {
		return nil
	}
	return fmt.Errorf("%w: this run repeats an earlier one from a settled point (-lag), and the tasks of this section, or scalars that they read, differ: %s",
		ErrDiverged, job.ForgottenState)
}

// CompareRun compares a section whose tasks have run at their launch with the same section of the
// first run. Only a second run has such sections after its first safe point.
func (p *Program) CompareRun() error {
	if p.second == nil || p.Resuming() {
		return nil
	}
	return p.second.repetition.compare()
}

// compareLast compares s with the section in which the first run ended. At that point the second run
// is over, so the tasks of s do not run at their launch.
func (k *keeper) compareLast(s *Section) error {
	p := k.recovering.program
	if p == nil || p.second == nil {
		return nil
	}
	for i := range s.Tasks {
		p.second.repetition.add(&s.Tasks[i])
	}
	return p.second.repetition.compare()
}
