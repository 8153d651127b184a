package direct

import (
	"fmt"
	"hash/maphash"
	"iter"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// world is all replicas of a rank with their words and arrays. They go on one
// at a time, by one access to what they share; a choice says whose turn it is.
type world struct {
	shape
	words    [][]uint64
	arrays   [][]int // per replica and task: how many sections it has been through, or torn
	agreed   []uint64
	replicas []*replica
	deaths   int
	joins    int
	wrong    string
}

// shape is the size of a world.
type shape struct {
	replicas, tasks, sections int
	deaths                    int  // at most
	joins                     int  // at most: the dead come back, where all others are between the same two sections
	own                       bool // each replica runs task 0 itself, before the others
	ways                      bool // the replicas do not all want to store, and the last one cannot
	rule                      rule
}

// rule is one of the protocol's that a test leaves out.
type rule int

const (
	all         rule = iota
	noGate           // stores go to who has not entered, or has left
	noSnapshot       // stores begin before the result is there as a whole
	neverTake        // a task of a dead replica is always run again
	hastyTaking      // a claim is taken over while its owner lives
	oldWords         // who comes has the words of who died
	sharedOwn        // what each replica runs itself can be claimed by others
)

const torn = -1

// replica runs its program as a coroutine.
type replica struct {
	w       *world
	me      int
	table   *ClaimTable
	from    int // its first section
	section int
	between bool // it has not entered
	way     Way  // that it goes in the section
	next    func() (struct{}, bool)
	stop    func()
	ended   bool
	dead    bool
	known   []bool // deaths that it has heard of
	yield   func(struct{}) bool
	history uint64 // of what it has read since it was last at the top of its loop
	top     uint64 // what it knew there
	stale   bool   // a word has changed since then, or a death has been heard of
	blocked bool   // until one does
}

var seed = maphash.MakeSeed()

func newWorld(s shape) *world {
	w := &world{shape: s, agreed: make([]uint64, NumAgreements)}
	for i := range s.replicas {
		w.words = append(w.words, make([]uint64, first+s.tasks))
		w.arrays = append(w.arrays, make([]int, s.tasks))
		w.replicas = append(w.replicas, w.replica(i, 0))
	}
	return w
}

// replica returns one that begins with a section.
func (w *world) replica(i, from int) *replica {
	r := &replica{w: w, me: i, known: make([]bool, w.shape.replicas), from: from, section: from}
	r.table = New(r, i, w.shape.replicas, func(p int) bool { return !r.known[p] })
	r.next, r.stop = iter.Pull(iter.Seq[struct{}](r.program))
	return r
}

// meeting returns the section before which all are that live and know of all
// deaths: there somebody can come back.
func (w *world) meeting() (section int, ok bool) {
	section = -1
	for _, r := range w.replicas {
		if r.dead {
			continue
		}
		for p, other := range w.replicas {
			ok = !other.dead || r.known[p]
			if !ok {
				return 0, false
			}
		}
		if !r.between || r.ended || section >= 0 && r.section != section {
			return 0, false
		}
		section = r.section
	}
	return section, section >= 0
}

// join brings a dead replica back, in another life.
func (w *world) join(i int) {
	section, _ := w.meeting()
	if w.rule != oldWords {
		w.words[i] = make([]uint64, first+w.tasks)
	}
	r := w.replica(i, section)
	r.between = true
	for p, other := range w.replicas {
		if r.known[p] = other.dead && p != i; !other.dead {
			other.known[i] = false
			w.arrays[i] = slices.Clone(w.arrays[p])
		}
	}
	w.replicas[i] = r
	w.joins++
	w.changed()
}

func (w *world) close() {
	for _, r := range w.replicas {
		r.stop()
	}
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

// complete completes a section in the way on which the replicas agree, as far as
// this one can.
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
		r.way = Agree(agreements{r}, Moment{Section: uint64(r.section)}, mine)
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

// agreements are the words that all have in common, as a replica sees them.
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
		if err != nil {
			r.w.fail("replica %d: %v", r.me, err)
		}
		switch s.Kind {
		case Run:
			r.run(s.Task)
			for _, p := range r.table.Ran(s.Task, nil) {
				r.copy(s.Task, r.me, p)
				r.table.Gave(s.Task, p)
			}
		case Give:
			r.copy(s.Task, r.me, s.Peer)
			r.table.Gave(s.Task, s.Peer)
		case Take:
			if r.w.rule == neverTake {
				r.run(s.Task)
			} else {
				r.copy(s.Task, s.Peer, r.me)
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

// step ends the turn of this replica.
func (r *replica) step() {
	r.saw(9)
	if !r.yield(struct{}{}) {
		panic(errStopped{})
	}
}

func (r *replica) atTop() {
	r.history, r.stale = 0, false
	r.top = maphash.Comparable(seed, fmt.Sprint(r.section, r.table.mine, r.table.given, r.table.started, r.known,
		r.table.free, r.table.rest, r.table.owed, r.table.dead))
}

func (r *replica) saw(v uint64) uint64 {
	r.history = maphash.Comparable(seed, [2]uint64{r.history, v + 1})
	return v
}

// run runs a task, which reads and writes the same memory.
func (r *replica) run(t int) {
	at := &r.w.arrays[r.me][t]
	r.step()
	if *at != r.section {
		r.w.fail("replica %d runs task %d of section %d on what is there after %d", r.me, t, r.section, *at)
	}
	*at = torn
	if r.w.rule == noSnapshot {
		r.tear(t)
	}
	r.saw(1)
	r.step()
	if *at != torn {
		r.w.fail("replica %d: another one writes where task %d of section %d runs", r.me, t, r.section)
	}
	*at = r.section + 1
	r.saw(2)
}

// tear stores into the arrays of the peers as the task runs.
func (r *replica) tear(t int) {
	for p := range r.w.arrays {
		if r.table.given[p*r.w.tasks+t] {
			r.w.arrays[p][t] = torn
		}
	}
}

// copy copies the result of a task.
func (r *replica) copy(t, from, to int) {
	source, target := &r.w.arrays[from][t], &r.w.arrays[to][t]
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

// check looks at the arrays between two sections, where they are the
// program's.
func (r *replica) check(when string, want int) {
	for t, got := range r.w.arrays[r.me] {
		if got != want {
			r.w.fail("replica %d %s section %d: task %d is at %d", r.me, when, r.section, t, got)
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
	r.w.changed()
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
	r.w.changed()
	return true
}

func (w *world) changed() {
	for _, r := range w.replicas {
		r.blocked, r.stale = false, true
	}
}

func (w *world) fail(format string, args ...any) {
	if w.wrong == "" {
		w.wrong = fmt.Sprintf(format, args...)
	}
}

// choice is what happens next: a replica goes on, dies, hears of a death, or comes
// back.
type choice struct {
	kind   byte // g, d, h or j
	who, p int
}

func (c choice) String() string { return fmt.Sprintf("%c%d.%d", c.kind, c.who, c.p) }

func (w *world) choices() (all []choice) {
	alive := 0
	for _, r := range w.replicas {
		if !r.dead {
			alive++
		}
	}
	_, meet := w.meeting()
	for i, r := range w.replicas {
		if r.dead {
			if meet && w.joins < w.shape.joins {
				all = append(all, choice{'j', i, 0})
			}
			continue
		}
		if !r.ended && !r.blocked {
			all = append(all, choice{'g', i, 0})
		}
		if !r.ended && w.deaths < w.shape.deaths && alive > 1 {
			all = append(all, choice{'d', i, 0})
		}
		for p, other := range w.replicas {
			if !r.ended && !r.known[p] && p != i && (other.dead || w.rule == hastyTaking && w.deaths < w.shape.deaths) {
				all = append(all, choice{'h', i, p})
			}
		}
	}
	return all
}

func (w *world) do(c choice) {
	r := w.replicas[c.who]
	switch c.kind {
	case 'g':
		r.next()
	case 'd':
		r.dead = true
		w.deaths++
		r.stop()
	case 'j':
		w.join(c.who)
	case 'h':
		r.known[c.p] = true
		r.blocked, r.stale = false, true
		if !w.replicas[c.p].dead {
			w.deaths++
		}
	}
}

// stuck reports replicas that will never go on.
func (w *world) stuck() {
	for _, r := range w.replicas {
		if !r.dead && !r.ended {
			w.fail("replica %d hangs in section %d: %v", r.me, r.section, w.words)
		}
	}
}

// state identifies what can still happen.
func (w *world) state() uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for i, r := range w.replicas {
		for _, v := range w.words[i] {
			maphash.WriteComparable(&h, v)
		}
		for _, v := range w.arrays[i] {
			maphash.WriteComparable(&h, v)
		}
		maphash.WriteComparable(&h, [2]uint64{r.top, r.history})
		maphash.WriteComparable(&h, [4]bool{r.dead, r.ended, r.stale, r.blocked})
		for _, k := range r.known {
			maphash.WriteComparable(&h, k)
		}
		maphash.WriteComparable(&h, [2]int{r.section, int(r.way)})
		maphash.WriteComparable(&h, r.between)
	}
	maphash.WriteComparable(&h, [2]int{w.deaths, w.joins})
	if w.ways {
		maphash.WriteComparable(&h, [4]uint64(w.agreed[:4]))
	}
	return h.Sum64()
}

// explore goes through every order in which things can happen, once for each
// state that they lead to. It returns how many states there are, and the first
// thing that went wrong with how it came to that.
func explore(s shape, most int) (states int, wrong string) {
	seen := make(map[uint64]bool)
	path := []choice{}
	open := [][]choice{} // per step of the path: what else there is
	replay := func() *world {
		w := newWorld(s)
		for _, c := range path {
			w.do(c)
		}
		return w
	}
	w := newWorld(s)
	defer func() { w.close() }()
	for {
		next := w.choices()
		if len(next) == 0 {
			w.stuck()
		}
		if w.wrong != "" {
			return len(seen), fmt.Sprintf("%s\nafter %v", w.wrong, path)
		}
		if at := w.state(); seen[at] {
			next = nil
		} else if seen[at] = true; len(seen) > most {
			return len(seen), "too many states"
		}
		if len(next) > 0 {
			open = append(open, next[1:])
			path = append(path, next[0])
			w.do(next[0])
			continue
		}
		for len(open) > 0 && len(open[len(open)-1]) == 0 {
			open, path = open[:len(open)-1], path[:len(path)-1]
		}
		if len(open) == 0 {
			return len(seen), ""
		}
		last := len(open) - 1
		path[last] = open[last][0]
		open[last] = open[last][1:]
		w.close()
		w = replay()
	}
}

// walk lets things happen in a random order.
func walk(s shape, seed uint64) (wrong string) {
	rnd := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(s)
	defer w.close()
	var path []choice
	for {
		next := w.choices()
		// Deaths are rare, and replicas at very different speeds are not.
		usual := slices.DeleteFunc(slices.Clone(next), func(c choice) bool { return c.kind == 'd' })
		if len(usual) == 0 || rnd.IntN(40) > 0 && len(usual) < len(next) {
			next = usual
		}
		if len(next) == 0 {
			w.stuck()
		}
		if w.wrong != "" {
			return fmt.Sprintf("seed %d: %s\nafter %v", seed, w.wrong, path)
		}
		if len(next) == 0 {
			return ""
		}
		c := next[rnd.IntN(len(next))]
		for range rnd.IntN(1 + rnd.IntN(12)) {
			if path = append(path, c); c.kind != 'g' {
				break
			}
			w.do(c)
			if !slices.Contains(w.choices(), c) || w.wrong != "" {
				c.kind = 0
				break
			}
		}
		if c.kind != 0 {
			path = append(path, c)
			w.do(c)
		}
	}
}

func TestSchedules(t *testing.T) {
	shapes := []shape{
		{replicas: 2, tasks: 2, sections: 1, deaths: 1},
		{replicas: 2, tasks: 1, sections: 2, deaths: 1},
		{replicas: 2, tasks: 1, sections: 2, deaths: 1, joins: 1},
		{replicas: 2, tasks: 1, sections: 2, deaths: 1, ways: true},
		{replicas: 2, tasks: 2, sections: 1, deaths: 1, own: true},
	}
	if os.Getenv("INTRA_SOAK") != "" {
		shapes = append(shapes, shape{replicas: 2, tasks: 2, sections: 2, deaths: 1},
			shape{replicas: 2, tasks: 2, sections: 2, deaths: 1, joins: 1}, shape{replicas: 2, tasks: 1, sections: 3, deaths: 2, joins: 1},
			shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, joins: 1, ways: true},
			shape{replicas: 2, tasks: 2, sections: 2, deaths: 1, own: true}, shape{replicas: 3, tasks: 1, sections: 2, deaths: 2, own: true},
			shape{replicas: 2, tasks: 3, sections: 1, deaths: 1}, shape{replicas: 3, tasks: 1, sections: 1, deaths: 2})
	}
	for _, s := range shapes {
		t.Run(s.String(), func(t *testing.T) {
			states, wrong := explore(s, 50_000_000)
			require.Empty(t, wrong)
			t.Logf("%d states", states)
		})
	}
}

func (s shape) String() string {
	name := fmt.Sprintf("%d replicas, %d tasks, %d sections, %d deaths", s.replicas, s.tasks, s.sections, s.deaths)
	if s.joins > 0 {
		name += fmt.Sprintf(", %d joins", s.joins)
	}
	if s.own {
		name += ", one task run by all"
	}
	if s.ways {
		name += ", in several ways"
	}
	return name
}

func TestWalks(t *testing.T) {
	walks := 1000
	if os.Getenv("INTRA_SOAK") != "" {
		walks = 1_000_000
	}
	for _, s := range []shape{
		{replicas: 2, tasks: 4, sections: 3, deaths: 1},
		{replicas: 3, tasks: 3, sections: 2, deaths: 2},
		{replicas: 4, tasks: 5, sections: 3, deaths: 3},
		{replicas: 3, tasks: 3, sections: 4, deaths: 3, joins: 3},
		{replicas: 3, tasks: 3, sections: 4, deaths: 3, joins: 3, ways: true},
		{replicas: 3, tasks: 4, sections: 4, deaths: 3, joins: 3, ways: true, own: true},
	} {
		t.Run(s.String(), func(t *testing.T) {
			for seed := range uint64(walks) {
				require.Empty(t, walk(s, seed))
			}
		})
	}
}

// TestRulesAreNeeded leaves one rule out at a time.
func TestRulesAreNeeded(t *testing.T) {
	for name, r := range map[string]rule{"the gate": noGate, "run first, then store": noSnapshot,
		"results of the dead are taken": neverTake, "claims end only with their owner": hastyTaking, "who comes has words of its own": oldWords,
		"tasks that all run are nobody else's": sharedOwn} {
		t.Run(name, func(t *testing.T) {
			s := shape{replicas: 2, tasks: 1, sections: 2, deaths: 1, rule: r, own: r == sharedOwn}
			if r == oldWords {
				s.joins = 1
			}
			_, wrong := explore(s, 5_000_000)
			require.NotEmpty(t, wrong)
			require.NotContains(t, wrong, "too many states")
			t.Log(strings.SplitN(wrong, "\n", 2)[0])
		})
	}
}
