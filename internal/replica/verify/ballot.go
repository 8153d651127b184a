package verify

import (
	"fmt"
	"slices"
	"strings"
)

// Run is one execution of a task: the hash of its results, and the processor that ran it.
type Run struct {
	Hash uint64
	Core int
}

// Ballot is the report of one replica about a task.
type Ballot struct {
	Replica int
	Entry   uint64 // hash of the state from which the task began, if it ran again
	Runs    []Run  // the first run, then the repeated ones
}

// Faulty is a replica with a wrong result of a task.
type Faulty struct {
	Replica int
	Index   int // index of the task among the sampled ones
	Core    int
}

// Undecided reports that replicas differ in the result of a task, and that no run shows
// which one is wrong.
type Undecided struct {
	Section uint64
	Task    int
	Ballots []Ballot
}

func (u *Undecided) Error() string {
	var all []string
	for _, b := range u.Ballots {
		var runs []string
		for _, r := range b.Runs {
			runs = append(runs, fmt.Sprintf("%016x on processor %d", r.Hash, r.Core))
		}
		all = append(all, fmt.Sprintf("replica %d: %s", b.Replica, strings.Join(runs, ", ")))
	}
	return fmt.Sprintf("the results of task %d in section %d differ, and it cannot be told whose is wrong (%s)", u.Task, u.Section, strings.Join(all, "; "))
}

// EntryDiffers reports that replicas began a task from different states, so that
// the task itself need not be wrong.
type EntryDiffers struct {
	Section      uint64
	Task         int
	Replica      int // number of this replica
	Peer         int
	Mine, Theirs uint64
}

func (e *EntryDiffers) Error() string {
	return fmt.Sprintf("replicas %d and %d entered section %d with different memory: what task %d reads has hash %016x here, %016x there",
		e.Replica, e.Peer, e.Section, e.Task, e.Mine, e.Theirs)
}

// entriesDiffer returns two ballots of repeated runs that began from different
// states.
func entriesDiffer(ballots []Ballot) (a, b *Ballot) {
	for i := range ballots {
		switch b := &ballots[i]; {
		case len(b.Runs) < 2: // this replica did not repeat the task
		case a == nil:
			a = b
		case a.Entry != b.Entry:
			return a, b
		}
	}
	return nil, nil
}

// judge returns the right result of a task. If at least two replicas report the same result, this
// is the result that most of them report. Otherwise it is the result of the only replica whose
// repeated runs agree. This second rule cannot distinguish a sound replica from one that always
// errs in the same way.
func judge(ballots []Ballot) (right uint64, ok bool) {
	most := 1
	for i := range ballots {
		for _, r := range ballots[i].Runs {
			n := 0
			for k := range ballots {
				if ballots[k].reports(r.Hash) {
					n++
				}
			}
			switch {
			case n > most:
				most, right, ok = n, r.Hash, true
			case n == most && ok && r.Hash != right:
				ok = false
			}
		}
	}
	if most > 1 {
		return right, ok
	}
	sure := -1
	for i := range ballots {
		switch b := &ballots[i]; {
		case b.contradicts():
		case sure >= 0 || len(b.Runs) < 2:
			return 0, false
		default:
			sure = i
		}
	}
	if sure < 0 {
		return 0, false
	}
	return ballots[sure].Runs[0].Hash, true
}

// reports returns whether one of the runs had this result.
func (b *Ballot) reports(hash uint64) bool {
	return slices.ContainsFunc(b.Runs, func(r Run) bool { return r.Hash == hash })
}

// contradicts reports whether the runs had different results.
func (b *Ballot) contradicts() bool {
	return slices.ContainsFunc(b.Runs, func(r Run) bool { return r.Hash != b.Runs[0].Hash })
}

// wrong returns the first run that did not produce the right result.
func (b *Ballot) wrong(right uint64) (r Run, ok bool) {
	i := slices.IndexFunc(b.Runs, func(r Run) bool { return r.Hash != right })
	if i < 0 {
		return Run{}, false
	}
	return b.Runs[i], true
}
