package direct

import (
	"hash/maphash"
	"iter"
)

const torn = -1

// replica runs its program as a coroutine.
type replica struct {
	w       *world
	me      int
	table   *ClaimTable
	from    int // the first section of this replica
	section int
	between bool // the replica has not entered the section
	way     Way  // way chosen in the section
	next    func() (struct{}, bool)
	stop    func()
	ended   bool
	dead    bool
	known   []bool // by replica: this replica knows of its death
	yield   func(struct{}) bool
	history uint64 // hash of all values that it has read since its loop last began
	top     uint64 // hash of its knowledge at that time
	stale   bool   // the replica was woken since then
	blocked bool   // the replica sleeps until it is woken
}

// replica returns a replica that begins with section from.
func (w *world) replica(i, from int) *replica {
	r := &replica{w: w, me: i, known: make([]bool, w.shape.replicas), from: from, section: from}
	r.table = New(r, i, w.shape.replicas, func(p int) bool { return !r.known[p] })
	r.next, r.stop = iter.Pull(iter.Seq[struct{}](r.program))
	return r
}

// errStopped ends a coroutine that is not needed any more.
type errStopped struct{}

func (r *replica) program(yield func(struct{}) bool) {
	defer func() {
		if v := recover(); v != nil && v != (errStopped{}) {
			panic(v)
		}
	}()
	r.yield = yield
	for r.section = r.from; r.section < r.w.sections; r.section++ {
		r.between = true
		r.step()
		r.between = false
		r.check("at the entry of", r.section)
		r.complete()
		r.check("after", r.section+1)
	}
	r.ended = true
}

// complete completes a section in the agreed way, or sends if this replica cannot use that
// way.
func (r *replica) complete() {
	r.way = Store
	if r.w.ways {
		last := r.me == r.w.shape.replicas-1
		if r.way = Store; last && r.section == 0 {
			r.way = SendOnly
		} else if last {
			r.way = Send
		}
		mine := r.way
		r.way = agree(agreements{r}, Moment{Section: uint64(r.section)}, mine)
		if r.way == Store && mine == SendOnly {
			r.table.Refuse(uint64(r.section))
			r.way = Send
		}
	}
	if r.way == Store {
		s := Section{Number: uint64(r.section), Tasks: r.w.tasks}
		if r.w.own && r.w.rule != sharedOwn {
			s.Own = []int{0}
		}
		r.table.Enter(s)
		r.step()
		r.w.wakeAll()
		if r.w.own {
			r.atTop()
			r.run(0)
			if to := r.table.Ran(0, nil); len(to) > 0 {
				r.w.fail("replica %d: task 0 of section %d is to be stored into the arrays of %d", r.me, r.section, to)
			}
		}
		r.share()
		return
	}
	for t := range r.w.tasks {
		r.run(t)
	}
}

// agreements are the shared words of all replicas, as accessed by one replica.
type agreements struct{ *replica }

func (a agreements) Load(k int) uint64 {
	a.step()
	return a.saw(a.w.agreed[k])
}

func (a agreements) CompareAndSwap(k int, old, new uint64) bool {
	a.step()
	if a.w.agreed[k] != old {
		a.saw(4)
		return false
	}
	a.saw(5)
	a.w.agreed[k] = new
	return true
}

func (r *replica) share() {
	for {
		r.atTop()
		s, err := r.table.Next()
		for _, p := range r.table.Freed() {
			if r.w.rule != sleepOn {
				r.tell(p)
			}
		}
		if err != nil {
			r.w.fail("replica %d: %v", r.me, err)
		}
		switch s.Kind {
		case Run:
			if r.w.batches {
				r.batch(s.Task)
				break
			}
			along := r.w.elements > 0
			if along {
				r.runAlong(s.Task)
			} else {
				r.run(s.Task)
			}
			for _, p := range r.table.Ran(s.Task, nil) {
				if !along {
					r.copy(s.Task, r.me, p)
				}
				r.gave(s.Task, p)
			}
		case Give:
			r.copy(s.Task, r.me, s.Peer)
			r.gave(s.Task, s.Peer)
		case Take:
			if r.w.rule == neverTake {
				r.run(s.Task)
			} else {
				r.copy(s.Task, s.Peer, r.me)
			}
			r.table.Took(s.Task)
		case Resume:
			from := s.From
			if r.w.rule == fromStart {
				from = 0
			}
			for e := range r.w.each() {
				if e < from {
					r.copyElement(s.Task, e, s.Peer, r.me)
				} else {
					r.runElement(s.Task, e)
				}
			}
			r.table.Took(s.Task)
		case Wait:
			r.blocked = !r.stale
			r.step()
		case Done:
			return
		}
	}
}

// batch claims further tasks, runs all of them, and then stores their results.
func (r *replica) batch(first int) {
	tasks := []int{first}
	for len(tasks) < r.w.tasks {
		t, ok, err := r.table.More()
		if err != nil {
			r.w.fail("replica %d: %v", r.me, err)
		}
		if !ok {
			break
		}
		tasks = append(tasks, t)
	}
	for _, p := range r.table.Freed() {
		r.tell(p)
	}
	peers := make([][]int, len(tasks))
	for i, t := range tasks {
		r.run(t)
		peers[i] = r.table.Ran(t, nil)
	}
	for i, t := range tasks {
		for _, p := range peers[i] {
			r.copy(t, r.me, p)
		}
	}
	for i, t := range tasks {
		for _, p := range peers[i] {
			r.table.Gave(t, p)
		}
	}
	for p := range r.w.replicas {
		if p != r.me {
			r.tell(p)
		}
	}
}

// gave records that the results of a task are in the arrays of a peer, and wakes the peer.
func (r *replica) gave(t, p int) {
	r.table.Gave(t, p)
	r.tell(p)
}

// tell wakes a peer that may sleep.
func (r *replica) tell(p int) {
	r.step()
	r.w.wake(p)
}

// step ends the turn of this replica.
func (r *replica) step() {
	r.saw(9)
	if !r.yield(struct{}{}) {
		panic(errStopped{})
	}
}

func (r *replica) atTop() {
	r.history, r.stale = 0, false
	x := r.table
	b := append64(r.w.encoded[:0], uint64(r.section), uint64(x.dead))
	b = appendInts(appendInts(b, x.mine), x.rest)
	for _, owed := range x.owed {
		b = appendInts(b, owed)
	}
	for _, bools := range [][]bool{x.given, x.started, x.same, r.known} {
		b = appendBools(append64(b, uint64(len(bools))), bools...)
	}
	for t := range x.section.Tasks {
		b = appendBools(b, x.free.Has(t))
	}
	r.w.encoded = b
	r.top = maphash.Bytes(seed, b)
}

func (r *replica) saw(v uint64) uint64 {
	r.history = maphash.Comparable(seed, [2]uint64{r.history, v + 1})
	return v
}

// run runs a task in place.
func (r *replica) run(t int) {
	for e := range r.w.each() {
		r.runElement(t, e)
	}
}

// runAlong runs a task and stores each element into the arrays of the peers.
func (r *replica) runAlong(t int) {
	peers := r.table.Along(t, nil)
	for e := range r.w.each() {
		rule := r.w.rule
		if rule == computedLast {
			r.table.Reached(t, e+1)
		}
		r.runElement(t, e)
		if rule != storedFirst && rule != computedLast {
			r.table.Reached(t, e+1)
		}
		for _, p := range peers {
			r.copyElement(t, e, r.me, p)
		}
		if rule == storedFirst {
			r.table.Reached(t, e+1)
		}
	}
}

// runElement runs a task for one element.
func (r *replica) runElement(t, e int) {
	at := &r.w.arrays[r.me][r.w.at(t, e)]
	r.step()
	if *at != r.section {
		r.w.fail("replica %d runs task %d of section %d on contents after section %d", r.me, t, r.section, *at)
	}
	*at = torn
	if r.w.rule == noSnapshot {
		r.tear(t, e)
	}
	r.saw(1)
	r.step()
	if *at != torn {
		r.w.fail("replica %d: another one writes where task %d of section %d runs", r.me, t, r.section)
	}
	*at = r.section + 1
	r.saw(2)
}

// tear stores into the arrays of the peers while the task runs.
func (r *replica) tear(t, e int) {
	for p := range r.w.arrays {
		if r.table.given[p*r.w.tasks+t] {
			r.w.arrays[p][r.w.at(t, e)] = torn
		}
	}
}

// copy copies the result of a task.
func (r *replica) copy(t, from, to int) {
	for e := range r.w.each() {
		r.copyElement(t, e, from, to)
	}
}

func (r *replica) copyElement(t, e, from, to int) {
	source, target := &r.w.arrays[from][r.w.at(t, e)], &r.w.arrays[to][r.w.at(t, e)]
	for range 2 {
		r.step()
		if *source != r.section+1 {
			r.w.fail("replica %d copies task %d of section %d from %d, where it is at %d", r.me, t, r.section, from, *source)
		}
		if other := r.w.replicas[to]; !other.dead && (other.section != r.section || other.way != Store || other.between) {
			r.w.fail("replica %d stores task %d of section %d into the arrays of %d, which is in section %d", r.me, t, r.section, to, other.section)
		}
		if *target != torn {
			*target = torn
		} else {
			*target = r.section + 1
		}
		r.saw(3)
	}
	*target = r.section + 1
}

// check checks the arrays between two sections, when only the program may use them.
func (r *replica) check(when string, want int) {
	for t, got := range r.w.arrays[r.me] {
		if got != want {
			r.w.fail("replica %d %s section %d: element %d is at %d", r.me, when, r.section, t, got)
		}
	}
}

// Load implements Words.
func (r *replica) Load(replica, k int) uint64 {
	r.step()
	return r.saw(r.w.words[replica][k])
}

// Store implements Words.
func (r *replica) Store(replica, k int, v uint64) {
	r.step()
	r.saw(0)
	r.w.words[replica][k] = v
}

// Mark implements Words. No other replica reads the word while this replica lives.
func (r *replica) Mark(k int, v uint64) {
	r.step()
	r.saw(6)
	r.w.words[r.me][k] = v
}

// CompareAndSwap implements Words.
func (r *replica) CompareAndSwap(replica, k int, old, new uint64) bool {
	r.step()
	w := &r.w.words[replica][k]
	was := unpack(*w)
	gate := *w == old || r.w.rule == noGate && replica != r.me && was.state != claimed
	if !gate {
		r.saw(4)
		return false
	}
	r.saw(5)
	*w = new
	return true
}
