package direct

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/sched"
)

// ClaimTable is the protocol of one replica. Its methods are not safe for concurrent use.
// Each replica has its own table; all tables use the same words.
type ClaimTable struct {
	words    Words
	me       int
	replicas int
	live     func(replica int) bool

	section Section
	shape   sched.Shape
	free    sched.Set // tasks that were unclaimed here when look last ran
	rest    []int     // tasks whose results were missing here when look last ran
	dead    int       // number of dead replicas when look last ran
	mine    []int     // tasks whose results this replica has computed or taken over
	owed    [][]int   // by replica: tasks in mine whose results it may lack
	given   []bool    // by replica and task: this replica has claimed it there, or needs to store nothing there
	freed   []int     // replicas at which release gave back a claim, until Freed returns them
	started []bool    // by task: this replica has claimed it in its own arrays
	same    []bool    // by replica: it is known to have launched the same tasks
}

// New returns the table of replica me of that many replicas, before its first section.
// live returns false for a replica that is known to be dead. A dead replica stores nothing any
// more, and stays dead.
func New(words Words, me, replicas int, live func(replica int) bool) *ClaimTable {
	return &ClaimTable{words: words, me: me, replicas: replicas, live: live, owed: make([][]int, replicas), same: make([]bool, replicas)}
}

// Section is the declaration of a replica at the entry of a section.
type Section struct {
	Number    uint64
	Tasks     int
	Signature uint64 // signature of the launched tasks
	Own       []int  // tasks that every replica runs for itself, in ascending order; they need no Run step, only Ran
}

// Mismatch reports that a peer has launched other tasks in this section.
type Mismatch struct {
	Peer         int
	Mine, Theirs uint64 // signatures of the two sections
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the tasks, shapes and small arguments have signature %016x, with replica %d %016x", m.Mine, m.Peer, m.Theirs)
}

// Step is the next action of a replica.
type Step struct {
	Kind StepKind
	Task int
	Peer int // the peer of a Give, Take or Resume
	From int // the first element that a Resume runs
}

// StepKind is the kind of a Step.
type StepKind uint8

// The steps of a replica.
const (
	Run    StepKind = iota // run Task on the arrays of this replica, then call Ran
	Give                   // copy the results of Task to the arrays of Peer, then call Gave
	Take                   // copy the results of Task from the arrays of the dead Peer, then call Took
	Resume                 // copy the results of the first From elements from the arrays of the dead Peer, run Task for the others, then call Took
	Wait                   // wait for a peer
	Done                   // the results of all tasks are in the arrays of this replica
)

// Refuse declares that this replica completes a section without stores, although
// its peers expect them.
func (b *ClaimTable) Refuse(number uint64) { b.words.Store(b.me, wordRefused, number+1) }

// Refused reports whether section number is the last one that peer has refused.
func (b *ClaimTable) Refused(peer int, number uint64) bool {
	return b.words.Load(peer, wordRefused) == number+1
}

// Enter opens a section. From now on peers may store the results of its tasks into the
// arrays of this replica. The peers must already know the positions of those arrays.
func (b *ClaimTable) Enter(s Section) {
	b.section = s
	b.shape = sched.Shape{Policy: sched.Adaptive, Tasks: s.Tasks, Replicas: b.replicas, Backward: s.Number%2 == 1}
	b.free.Reset(s.Tasks, b.replicas, true)
	b.rest, b.mine, b.freed, b.dead = b.rest[:0], b.mine[:0], b.freed[:0], 0
	for p := range b.owed {
		b.owed[p] = b.owed[p][:0]
	}
	b.given = resize(b.given, s.Tasks*b.replicas)
	b.started = resize(b.started, s.Tasks)
	clear(b.same)
	b.words.Store(b.me, wordSignature, s.Signature)
	own := s.Own
	for t := range s.Tasks {
		s := free
		if len(own) > 0 && own[0] == t {
			own, s = own[1:], claimed
			b.free.Remove(t)
		}
		b.words.Mark(firstReached+t, 0)
		b.words.Store(b.me, first+t, b.as(b.me, s))
		b.rest = append(b.rest, t)
	}
}

func resize(s []bool, n int) []bool {
	if cap(s) < n {
		return make([]bool, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Close abandons the section and prevents new claims by peers. It reports whether no live
// peer still stores into the arrays of this replica. The caller repeats the call until it
// returns true.
func (b *ClaimTable) Close() (quiet bool) {
	quiet = true
	for t := range b.section.Tasks {
		if w := b.word(b.me, t); w.state == free {
			b.words.CompareAndSwap(b.me, first+t, b.as(b.me, free), b.as(b.me, done))
		}
		if w := b.word(b.me, t); w.state == claimed && w.owner != b.me && b.live(w.owner) {
			quiet = false
		}
	}
	return quiet
}

// as packs the word of a task of this section.
func (b *ClaimTable) as(owner int, s state) uint64 {
	return word{b.section.Number + 1, owner, s}.pack()
}

func (b *ClaimTable) word(replica, task int) word { return unpack(b.words.Load(replica, first+task)) }

// here reports whether a word belongs to the present section of this replica.
func (b *ClaimTable) here(w word) bool { return w.section == b.section.Number+1 }

// Next decides what to do now. Several steps may be in progress at once. Wait and Done
// then mean that no further step can start.
//
// Next reads all words only when a replica has died, or when no task is left in free.
func (b *ClaimTable) Next() (Step, error) {
	dead := 0
	for p := range b.replicas {
		if !b.live(p) {
			dead++
		}
	}
	if dead != b.dead {
		if s, ok := b.look(); ok {
			return s, nil // the next call looks for more
		}
		b.dead = dead
	}
	if s, ok, err := b.give(); ok || err != nil {
		return s, err
	}
	for {
		if t, ok := sched.Next(b.shape, b.me, view{b}); ok {
			b.free.Remove(t)
			if b.word(b.me, t).state != free {
				continue
			}
			if ok, err := b.claim(t); ok || err != nil {
				return Step{Kind: Run, Task: t}, err
			}
			continue
		}
		if s, ok := b.look(); ok {
			return s, nil
		}
		if len(b.rest) == 0 {
			return Step{Kind: Done}, nil
		}
		if _, ok := b.free.First(0, b.section.Tasks, false); !ok {
			return Step{Kind: Wait}, nil
		}
	}
}

// More claims another task of this replica's own block, to run in a batch with the one for
// which Next has returned Run. Ran is called for each task of the batch, and Gave for each
// of its results, in any order: tasks of a batch are tasks in progress at once. ok is false
// if no such task is left.
func (b *ClaimTable) More() (task int, ok bool, err error) {
	lo, hi := sched.Block(b.section.Tasks, b.replicas, b.me)
	for !ok && err == nil {
		if task, ok = b.free.First(lo, hi, b.shape.Backward); !ok {
			break
		}
		b.free.Remove(task)
		if ok = b.word(b.me, task).state == free; ok {
			ok, err = b.claim(task)
		}
	}
	return task, ok, err
}

// look reads the words of the tasks whose results are missing here. If the owner of such a
// task is dead, look takes the task over.
func (b *ClaimTable) look() (s Step, ok bool) {
	rest := b.rest[:0]
	for _, t := range b.rest {
		w := b.word(b.me, t)
		if w.state == claimed && w.owner != b.me && !b.live(w.owner) && !ok {
			s, ok = b.inherit(t, w)
			w = b.word(b.me, t)
		}
		if w.state == computed || w.state == done {
			continue
		}
		if rest = append(rest, t); w.state == free {
			b.free.Add(t)
		}
	}
	b.rest = rest
	return s, ok
}

// inherit takes over a task that a dead replica had claimed in the arrays of this replica.
// The word of the owner for its own arrays shows how far it got. If it had computed the
// whole task, its arrays hold the result, and the step copies the result from there. If it
// had marked the first From elements as reached, no other elements can have been stored
// here. Then the step copies those elements and runs the rest. Otherwise nothing was
// stored here, and the task becomes free again.
func (b *ClaimTable) inherit(t int, w word) (s Step, ok bool) {
	s = Step{Kind: Take, Task: t, Peer: w.owner}
	mine := b.as(b.me, claimed)
	switch b.word(w.owner, t) {
	case word{w.section, w.owner, computed}:
	case word{w.section, w.owner, claimed}:
		if s.From = int(b.words.Load(w.owner, firstReached+t)); s.From > 0 {
			s.Kind = Resume
			break
		}
		fallthrough
	default:
		b.words.CompareAndSwap(b.me, first+t, w.pack(), b.as(b.me, free))
		return Step{}, false
	}
	return s, b.words.CompareAndSwap(b.me, first+t, w.pack(), mine)
}

// give finds a result that this replica has and that a peer lacks, because the peer
// entered the section after this replica had claimed the task.
func (b *ClaimTable) give() (Step, bool, error) {
	for p := range b.owed {
		for k := 0; k < len(b.owed[p]) && b.live(p); {
			t := b.owed[p][k]
			w := b.word(p, t)
			switch {
			case w.section <= b.section.Number:
				k = len(b.owed[p]) // the peer has not entered this section
				continue
			case b.here(w) && w.state == claimed && !b.live(w.owner):
				k++ // another replica has claimed the task there, but may give the claim back
				continue
			}
			ok, err := false, error(nil)
			if b.here(w) && w.state == free {
				if ok, err = b.claimAt(p, t); err != nil {
					return Step{}, false, err
				}
			}
			b.owed[p] = slices.Delete(b.owed[p], k, k+1)
			b.given[p*b.section.Tasks+t] = true
			if ok {
				return Step{Kind: Give, Task: t, Peer: p}, true, nil
			}
		}
	}
	return Step{}, false, nil
}

// claim claims a task here and at every live peer that has entered the section. All
// replicas claim in the same order. If the claim fails at a peer, this replica owes it the
// result. If the claim fails here, claim gives the other claims back.
func (b *ClaimTable) claim(t int) (ok bool, err error) {
	for p := range b.replicas {
		switch {
		case p == b.me:
			ok = b.words.CompareAndSwap(p, first+t, b.as(p, free), b.as(b.me, claimed))
			b.started[t] = ok
		case b.live(p):
			var won bool
			won, err = b.claimAt(p, t)
			b.given[p*b.section.Tasks+t] = won
		}
		if err != nil || p == b.me && !ok {
			b.release(t)
			return false, err
		}
	}
	return ok, nil
}

// claimAt claims a task in the arrays of a peer, and checks that the peer has
// launched the same tasks.
func (b *ClaimTable) claimAt(p, t int) (bool, error) {
	if !b.words.CompareAndSwap(p, first+t, b.as(p, free), b.as(b.me, claimed)) {
		return false, nil
	}
	if b.same[p] {
		return true, nil
	}
	if theirs := b.words.Load(p, wordSignature); theirs != b.section.Signature {
		b.words.Store(p, first+t, b.as(p, free))
		return false, &Mismatch{Peer: p, Mine: b.section.Signature, Theirs: theirs}
	}
	b.same[p] = true
	return true, nil
}

// release gives back the claims of a task that did not run. The replicas at which they
// were made may sleep while they wait for the result, so Freed returns them.
func (b *ClaimTable) release(t int) {
	for p := range b.replicas {
		if g := &b.given[p*b.section.Tasks+t]; *g {
			*g = false
			b.words.Store(p, first+t, b.as(p, free))
			if !slices.Contains(b.freed, p) {
				b.freed = append(b.freed, p)
			}
		}
	}
	if b.started[t] {
		b.started[t] = false
		b.words.Store(b.me, first+t, b.as(b.me, free))
	}
}

// Freed returns, and forgets, the replicas to wake because a claim was given back there.
// The slice is valid until the next call of a method.
func (b *ClaimTable) Freed() []int {
	freed := b.freed
	b.freed = b.freed[:0]
	return freed
}

// Along appends to peers those whose arrays may receive results of task t while it still
// runs: the results of the elements that Reached has counted, first to last. A replica
// that takes the task over continues after these elements. So each element must be
// computed before it is counted, and no other element may depend on it.
func (b *ClaimTable) Along(t int, peers []int) []int {
	for p := range b.replicas {
		if b.given[p*b.section.Tasks+t] && b.live(p) {
			peers = append(peers, p)
		}
	}
	return peers
}

// Reached records that the results of the first n elements of a task are in the arrays of
// this replica.
func (b *ClaimTable) Reached(t, n int) { b.words.Mark(firstReached+t, uint64(n)) }

// Ran records that the body of a task has returned. It appends to peers those to which the
// results must be copied now. Gave follows for each of them.
func (b *ClaimTable) Ran(t int, peers []int) []int {
	b.made(t)
	return b.Along(t, peers)
}

// Gave records that the results of a task are in the arrays of a peer.
func (b *ClaimTable) Gave(t, peer int) { b.words.Store(peer, first+t, b.as(b.me, done)) }

// Took records that the results of a task are in the arrays of this replica, copied from a
// dead peer in whole or in part.
func (b *ClaimTable) Took(t int) { b.made(t) }

// made records that the results of a task are in the arrays of this replica, and may be
// stored elsewhere.
func (b *ClaimTable) made(t int) {
	b.words.Store(b.me, first+t, b.as(b.me, computed))
	b.mine = append(b.mine, t)
	for p := range b.owed {
		if p != b.me && !b.given[p*b.section.Tasks+t] {
			b.owed[p] = append(b.owed[p], t)
		}
	}
}

// Received yields the tasks of the section whose results peers have stored here.
func (b *ClaimTable) Received(yield func(task int) bool) {
	if len(b.mine) == b.section.Tasks {
		return
	}
	for t := range b.section.Tasks {
		if b.word(b.me, t).state == done && !yield(t) {
			return
		}
	}
}

// view is the table in the form that the scheduler uses. A task that some replica has
// claimed is not open. This replica never has to wait before it runs an open task.
type view struct{ *ClaimTable }

func (v view) Todo(t int) bool { return v.free.Has(t) }

func (v view) Expected(int) bool { return false }

func (v view) Gone(p int) bool { return !v.live(p) }

func (v view) Sooner(int, int) bool { return false }

// First implements sched.Index.
func (v view) First(lo, hi int, back bool) (task int, ok bool) { return v.free.First(lo, hi, back) }

// Open implements sched.Index.
func (v view) Open(i int) int { return v.free.Count(i) }
