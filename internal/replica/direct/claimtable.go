package direct

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/sched"
)

// ClaimTable is the protocol as one replica follows it. Its methods are not safe
// for concurrent use; other replicas have tables of their own on the same
// words.
type ClaimTable struct {
	words    Words
	me       int
	replicas int
	live     func(replica int) bool

	section Section
	shape   sched.Shape
	free    sched.Set // tasks that were free here when they were looked at last
	rest    []int     // tasks whose results were not here then
	dead    int       // replicas that were dead then
	mine    []int     // tasks whose result was made here
	owed    [][]int   // per replica: those of mine that it may lack
	given   []bool    // per replica and task: nothing to store there any more
	freed   []int     // replicas whose tasks were given back, and that have not been told
	started []bool    // per task: claimed by this replica for itself
}

// New returns the table of replica me of so many, none of which has entered a
// section. live reports whether a replica is not known to be dead; of one that
// is, no store comes any more, and it stays dead.
func New(words Words, me, replicas int, live func(replica int) bool) *ClaimTable {
	return &ClaimTable{words: words, me: me, replicas: replicas, live: live, owed: make([][]int, replicas)}
}

// Section is what a replica says of a section at its entry.
type Section struct {
	Number    uint64
	Tasks     int
	Signature uint64 // of what was launched
	Own       []int  // tasks that each replica runs for itself, unasked, and calls Ran for; in order
}

// Mismatch says that a peer has launched something else in this section.
type Mismatch struct {
	Peer         int
	Mine, Theirs uint64 // signatures
}

func (m *Mismatch) Error() string {
	return fmt.Sprintf("the tasks, shapes and small arguments have signature %016x, with replica %d %016x", m.Mine, m.Peer, m.Theirs)
}

// Step is what a replica does next.
type Step struct {
	Kind StepKind
	Task int
	Peer int // of Give, Take and Resume
	From int // of Resume
}

// StepKind tells the steps apart.
type StepKind uint8

// The steps.
const (
	Run    StepKind = iota // run Task on the arrays here, then call Ran
	Give                   // copy the results of Task to the arrays of Peer, then call Gave
	Take                   // copy the results of Task from the arrays of Peer, which is dead, then call Took
	Resume                 // copy those of the first From elements only, run Task for the others, then call Took
	Wait                   // for a peer
	Done                   // the results of all tasks are here
)

// Refuse says that this replica completes a section without stores, which the
// others expect.
func (b *ClaimTable) Refuse(number uint64) { b.words.Store(b.me, wordRefused, number+1) }

// Refused reports whether that was the last section that a peer has refused.
func (b *ClaimTable) Refused(peer int, number uint64) bool {
	return b.words.Load(peer, wordRefused) == number+1
}

// Enter opens a section: from now on peers may store into the arrays here what
// its tasks write. Where those lie has been said before.
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
	b.words.Store(b.me, wordSignature, s.Signature)
	own := s.Own
	for t := range s.Tasks {
		s := free
		if len(own) > 0 && own[0] == t {
			own, s = own[1:], claimed
			b.free.Remove(t)
		}
		b.words.Store(b.me, firstReached+t, 0)
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

// Close keeps peers from claiming anything more here, for a section that will
// not be completed. It reports whether nobody stores into the arrays here any
// more; until then it is to be called again.
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

// here is whether a word is about the section that this replica is in.
func (b *ClaimTable) here(w word) bool { return w.section == b.section.Number+1 }

// Next decides what to do now. Several steps may be under way here at once;
// Wait and Done then mean that there is nothing to begin.
//
// It looks at all words only when a replica has died, and when nothing is left
// that was free when they were looked at last.
func (b *ClaimTable) Next() (Step, error) {
	dead := 0
	for p := range b.replicas {
		if !b.live(p) {
			dead++
		}
	}
	if dead != b.dead {
		if s, ok := b.look(); ok {
			return s, nil // and there may be more
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

// look looks at the words of the tasks whose results are not here. If the owner
// of one is dead it finds out what of that there is to take.
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

// inherit takes over a task that a dead replica had claimed here. If that one
// has its result the results are to be taken, from arrays that nobody writes
// any more; they may have been stored here in part. If it has those of some
// elements, these may have been, and no others. If it has none nothing was, and
// the task is free again.
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

// give finds something that was done here, and that a peer lacks which has
// come since.
func (b *ClaimTable) give() (Step, bool, error) {
	for p := range b.owed {
		for k := 0; k < len(b.owed[p]) && b.live(p); {
			t := b.owed[p][k]
			w := b.word(p, t)
			switch {
			case w.section <= b.section.Number:
				k = len(b.owed[p]) // it comes later
				continue
			case b.here(w) && w.state == claimed && !b.live(w.owner):
				k++ // it may become free again
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

// claim claims a task for this replica and for all that are in the section.
// All replicas do that in the same order, so of two that want a task one gets
// it wherever both could.
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

// claimAt claims a task in the arrays of a peer, and makes sure that it is the
// same task there.
func (b *ClaimTable) claimAt(p, t int) (bool, error) {
	if !b.words.CompareAndSwap(p, first+t, b.as(p, free), b.as(b.me, claimed)) {
		return false, nil
	}
	if theirs := b.words.Load(p, wordSignature); theirs != b.section.Signature {
		b.words.Store(p, first+t, b.as(p, free))
		return false, &Mismatch{Peer: p, Mine: b.section.Signature, Theirs: theirs}
	}
	return true, nil
}

// release gives claims back of which nothing was made. The replicas in whose arrays they
// were may have gone to sleep over them.
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

// Freed returns the replicas that are to look at their words again, since a claim was given
// back there, and forgets them. The slice is good until the next call of a method.
func (b *ClaimTable) Freed() []int {
	freed := b.freed
	b.freed = b.freed[:0]
	return freed
}

// Along returns the peers whose arrays the results of a task that runs can be
// stored into before all of them are there, from its first element to the last:
// those that Reached has been told of. They are appended to peers. A replica that
// takes over goes on behind them, so these must have been computed before, and
// those of other elements not depend on them.
func (b *ClaimTable) Along(t int, peers []int) []int {
	for p := range b.replicas {
		if b.given[p*b.section.Tasks+t] && b.live(p) {
			peers = append(peers, p)
		}
	}
	return peers
}

// Reached says that the results of the first n elements of a task are in the
// arrays here.
func (b *ClaimTable) Reached(t, n int) { b.words.Mark(firstReached+t, uint64(n)) }

// Ran says that the body of a task has returned, and returns the peers that
// its results are to be copied to now, each followed by Gave. They are
// appended to peers.
func (b *ClaimTable) Ran(t int, peers []int) []int {
	b.made(t)
	return b.Along(t, peers)
}

// Gave says that the results of a task are in the arrays of a peer.
func (b *ClaimTable) Gave(t, peer int) { b.words.Store(peer, first+t, b.as(b.me, done)) }

// Took says that the results of a task are here, from those of a dead peer.
func (b *ClaimTable) Took(t int) { b.made(t) }

// made says that the results of a task are in the arrays here, and may be stored
// elsewhere.
func (b *ClaimTable) made(t int) {
	b.words.Store(b.me, first+t, b.as(b.me, computed))
	b.mine = append(b.mine, t)
	for p := range b.owed {
		if p != b.me && !b.given[p*b.section.Tasks+t] {
			b.owed[p] = append(b.owed[p], t)
		}
	}
}

// Received yields the tasks of the section that others have stored here.
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

// view is the table as the scheduler sees it: what is claimed is not open, and
// nobody waits for anything else.
type view struct{ *ClaimTable }

func (v view) Todo(t int) bool { return v.free.Has(t) }

func (v view) Expected(int) bool { return false }

func (v view) Gone(p int) bool { return !v.live(p) }

func (v view) Sooner(int, int) bool { return false }

// First implements sched.Index.
func (v view) First(lo, hi int, back bool) (task int, ok bool) { return v.free.First(lo, hi, back) }

// Open implements sched.Index.
func (v view) Open(i int) int { return v.free.Count(i) }
