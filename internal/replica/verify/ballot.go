package verify

import (
	"fmt"
	"slices"
	"strings"
)

// Run is one execution of a task: the hash of what it wrote, and the processor on
// which it ran.
type Run struct {
	Hash uint64
	Core int
}

// Ballot is what one process has to say of a task.
type Ballot struct {
	Replica int
	Entry   uint64 // hash of the state that the task began from, if it ran again
	Runs    []Run  // the first one, and those after it
}

// Guilty is a replica that came to a wrong result of a task.
type Guilty struct {
	Replica int
	Index   int // of the task among those sampled
	Core    int
}

// Undecided says that replicas differ in the result of a task, and that nobody can
// be convicted.
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

// EntryDiffers says that replicas began a task from different states: that is no
// wrong result of the task.
type EntryDiffers struct {
	Section      uint64
	Task         int
	Replica      int // this one
	Peer         int
	Mine, Theirs uint64
}

func (e *EntryDiffers) Error() string {
	return fmt.Sprintf("replicas %d and %d entered section %d with different memory: what task %d reads has hash %016x here, %016x there",
		e.Replica, e.Peer, e.Section, e.Task, e.Mine, e.Theirs)
}

// entriesDiffer returns two ballots of runs that began from different states.
func entriesDiffer(ballots []Ballot) (a, b *Ballot) {
	for i := range ballots {
		switch b := &ballots[i]; {
		case len(b.Runs) < 2: // it did not run again
		case a == nil:
			a = b
		case a.Entry != b.Entry:
			return a, b
		}
	}
	return nil, nil
}

// judge returns the right result of a task: the one that most processes have come
// to, and at least two, or that of the only process which does not contradict
// itself. One that always errs alike is as sure of its result as one that never
// does.
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

// reports: one of its runs came to that result.
func (b *Ballot) reports(hash uint64) bool {
	return slices.ContainsFunc(b.Runs, func(r Run) bool { return r.Hash == hash })
}

// contradicts: not all of its runs came to the same result.
func (b *Ballot) contradicts() bool {
	return slices.ContainsFunc(b.Runs, func(r Run) bool { return r.Hash != b.Runs[0].Hash })
}

// wrong returns the first run that did not come to the right result.
func (b *Ballot) wrong(right uint64) (r Run, ok bool) {
	i := slices.IndexFunc(b.Runs, func(r Run) bool { return r.Hash != right })
	if i < 0 {
		return Run{}, false
	}
	return b.Runs[i], true
}
