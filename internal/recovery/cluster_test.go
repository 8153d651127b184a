package recovery

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/agent/agentlog"
	"github.com/intrahpc/intra/internal/job"
)

// A cluster is a whole job in one goroutine: the head and processes with their state,
// driven by one seed. Messages between ranks are modelled by their values: in the pass
// after safe point k every process needs the value of the previous rank at k. That value
// was sent before k. So it is in flight in a cut at k, and is lost unless the cut waits
// for it. A process can send a value again until it leaves a cut: then it frees the
// retained values.
type cluster struct {
	rng      *rand.Rand
	head     *Head
	steps    uint64
	procs    []*proc // all processes, live or dead
	data     []*packet
	want     [][]uint64          // state of each rank at each safe point
	left     map[string][]string // by cut: the joiners, as each process saw them
	crashes  int                 // number of deaths still to come
	leaves   int                 // number of requests to leave still to come
	changes  int                 // number of changes of degrees still to come
	targets  []int               // by rank: how many replicas it is to have, as kept
	disputes int                 // number of disputes about the states of a rank still to come
	defect   *defect             // nil: no process is faulty
	late     bool                // processes die only once some process has finished
	refusals int                 // number of failed starts still to come
	selfish  int                 // number of these deaths in which a process ends by itself
	now      time.Duration
	later    []time.Duration // when the head will request refused processes again
	lost     string
	seen     map[string]int // counts events, for coverage
	bad      error
	broken   rule

	files map[uint64]map[int]slot // by set: the state that each rank wrote
	record

	complete uint64 // the last backup that was announced
	sampled  uint64 // the cut after which not all tasks are compared, 0: none
	rolling  bool
}

// rule names a rule that a test breaks to prove that the checks notice its absence.
type rule int

const (
	keepAll rule = iota
	oneSlot
	ignoreAsk
	noDrain
	overtake
	throwAway
	anyOrder
	takeLate
	newPromise
	noMarker
	oldVerdicts
)

// defect is a process of a rank that computes wrong results after a safe point, and is
// blamed later.
type defect struct {
	rank    int
	since   uint64
	blamed  *job.Endpoint // the process, once it is blamed
	sure    uint64        // the last safe point at which the comparison found it sound
	decided bool          // the job rolls back because of it
}

type copyOf struct {
	rank   int
	number uint64
}

type slot struct {
	number uint64
	value  uint64
	got    map[uint64]uint64
}

// proc is one process.
type proc struct {
	c           *cluster
	p           job.Process
	incarnation uint32
	dead        bool // killed; declared is set once the decision about its death is kept
	dying       bool // the decision about its death is being kept
	declared    bool
	itself      bool // the process ended by itself
	leaves      bool // another process will relieve it
	relieved    bool // it has relieved another process
	relieves    bool // it will relieve the process in its slot
	m           *Member
	gen         uint32 // present generation
	orders      []any  // messages from its agent that were not handled yet: job.Order, connected, died
	says        []any  // messages to its agent: job.Reply, hello, finishedWord or drainedWord
	agent

	waits   bool // a joiner without its state
	inPt    bool // inside a safe point
	point   uint64
	value   uint64
	got     map[uint64]uint64 // values of the previous rank, by safe point
	made    map[uint64]uint64 // its own values that it can send
	known   map[*proc]bool    // processes whose messages it accepts
	gone    map[*proc]bool    // processes of whose death it was informed
	slots   Slots[slot]
	done    bool
	entire  bool        // all its tasks are compared
	writing []job.Reply // files that are being written

	drained  bool            // the process has finished, and reported that all its messages have arrived
	member   bool            // the head has counted it live once
	reported map[copyOf]bool // its copies that were reported to a head

	ret    Return[slot]
	doing  func() // the rest of a step of a rollback; other events may happen in between
	placed bool   // the process was admitted, or has rolled back
}

type connected struct{ q *proc }
type died struct {
	q     *proc
	epoch uint64
}
type hello struct{}
type finishedWord struct{}
type drainedWord struct{}

// packet is a state in flight between two processes.
type packet struct {
	from, to *proc
	kind     string // "state", "slot" or "deal"
	gen      uint32
	rank     int
	full     uint64 // the last backup that the sender knows to be complete
	slot     slot
	known    map[*proc]bool
}

func mix(a, b, k uint64) uint64 {
	x := (a ^ b*0x9e3779b97f4a7c15 + k) * 0xbf58476d1ce4e5b9
	return x ^ x>>29
}

func newCluster(seed uint64, degrees []int, c Config, steps uint64) *cluster {
	c.Degrees = degrees
	cl := &cluster{rng: rand.New(rand.NewPCG(seed, 3)), steps: steps, left: make(map[string][]string), files: make(map[uint64]map[int]slot), seen: make(map[string]int),
		record: record{spares: c.Spares, whole: make(map[uint64]bool), unwanted: make(map[job.Endpoint]bool), ended: make(map[uint64]string)}}
	cl.head, cl.targets = NewHead(c), c.targetsOf()
	n := len(degrees)
	for r := range degrees {
		cl.want = append(cl.want, []uint64{uint64(r + 1)})
	}
	for k := uint64(1); k <= steps; k++ {
		for r := range degrees {
			in := uint64(0)
			if k > 1 && n > 1 {
				in = cl.want[(r+n-1)%n][k-1]
			}
			cl.want[r] = append(cl.want[r], mix(cl.want[r][k-1], in, k))
		}
	}
	for _, p := range job.Processes(degrees) {
		q := cl.newProc(p, 1)
		q.value, q.member, q.placed = uint64(p.Rank+1), true, true
		q.m = NewMember(p, 0, cl.head.Next())
	}
	for _, q := range cl.procs {
		for _, o := range cl.procs {
			q.known[o] = true
		}
	}
	return cl
}

func (c *cluster) newProc(p job.Process, incarnation uint32) *proc {
	q := &proc{c: c, p: p, incarnation: incarnation, agent: agent{log: new(agentlog.Process[any, struct{}]), links: map[*proc]bool{}, repeated: true}, got: map[uint64]uint64{}, made: map[uint64]uint64{},
		known: map[*proc]bool{}, gone: map[*proc]bool{}, reported: map[copyOf]bool{}, gen: c.snapshot.Generation, entire: c.head.config.Suspect && c.head.config.First() > 0}
	c.procs = append(c.procs, q)
	return q
}

func (c *cluster) find(p job.Process, incarnation uint32) *proc {
	for _, q := range c.procs {
		if q.p == p && q.incarnation == incarnation {
			return q
		}
	}
	return nil
}

// current returns the process in a slot that is not declared dead.
func (c *cluster) current(p job.Process) *proc {
	for i := len(c.procs) - 1; i >= 0; i-- {
		if q := c.procs[i]; q.p == p && !q.declared && !q.relieves {
			return q
		}
	}
	return nil
}

// joiner returns the process that receives the state of a slot: the one that relieves the
// process there, or the one in the slot.
func (c *cluster) joiner(p job.Process) *proc {
	for i := len(c.procs) - 1; i >= 0; i-- {
		if q := c.procs[i]; q.p == p && !q.declared && q.relieves {
			return q
		}
	}
	return c.current(p)
}

func (c *cluster) noProcess() bool {
	for _, s := range c.head.replicas.slots {
		if s.attempts >= attempts || s.itself || s.hopeless {
			return true
		}
	}
	return !c.head.config.Start && c.head.replicas.spares <= 0
}

// possible is an oracle for the end of a job. Either every rank has a live replica, no
// rank is in dispute and no process has left its generation for a rollback. Or a backup
// was announced as complete, and for each rank a live process holds the state of that
// backup. The head must know of that copy, or a report of it must be in flight.
func (c *cluster) possible() bool {
	complete := c.complete
	if b := c.head.backups.complete; b != nil && (c.head.back.Blamed != nil || c.head.back.Disputed) { // newer backups contain the error
		complete = b.number
	}
	alive, held := true, complete > 0
	for rank := range c.want {
		one, copies := false, false
		for _, q := range c.procs {
			if q.declared {
				continue
			}
			one = one || q.p.Rank == rank && q.member && !c.rolling && !c.head.back.Disputed && c.head.back.Blamed == nil
			copies = copies || q.member && (q.reported[copyOf{rank, complete}] || !q.repeated) &&
				q.holds(rank, complete)
		}
		alive, held = alive && one, held && copies
	}
	return alive || held
}

// everyRank reports whether every rank has a live replica.
func (c *cluster) everyRank() bool {
	for rank := range c.want {
		if !slices.ContainsFunc(c.procs, func(q *proc) bool { return q.p.Rank == rank && q.member && !q.declared }) {
			return false
		}
	}
	return true
}

func (c *cluster) fail(format string, args ...any) {
	if c.bad == nil {
		c.bad = fmt.Errorf(format, args...)
	}
}

// run drives the cluster to its end.
func (c *cluster) run() error {
	for range 400_000 {
		if c.bad != nil || c.lost != "" {
			return c.bad
		}
		if c.finished() {
			return c.check()
		}
		if c.crashes > 0 && c.rng.IntN(60) == 0 && (!c.late || slices.ContainsFunc(c.procs, func(q *proc) bool { return q.done })) {
			c.crash()
		}
		if c.disputes > 0 && (c.rng.IntN(80) == 0 || c.head.Returning() && len(c.head.backups.older) > 0 && c.rng.IntN(3) == 0) {
			c.dispute()
		}
		if c.leaves > 0 && c.rng.IntN(30) == 0 {
			c.leave()
		}
		if c.changes > 0 && c.rng.IntN(50) == 0 {
			c.setDegree()
		}
		if c.crashes > 0 && c.head.cut.phase == deciding && c.rng.IntN(3) == 0 {
			c.crashDeciding()
		}
		if d := c.defect; d != nil && !d.decided && (d.blamed != nil || c.rng.IntN(200) == 0) {
			c.blame()
		}
		if c.heads > 0 && c.rng.IntN(c.risk()) == 0 {
			c.succeed()
			continue
		}
		moves := c.recorded()
		for _, q := range c.procs {
			moves = append(moves, q.moves()...)
		}
		for i, d := range c.data {
			if !slices.ContainsFunc(c.data[:i], func(e *packet) bool { return e.from == d.from && e.to == d.to }) {
				moves = append(moves, func() { c.deliver(i) })
			}
		}
		if len(c.later) > 0 {
			moves = append(moves, c.askAgain)
		}
		if len(moves) == 0 {
			return fmt.Errorf("hang: %s", c.state())
		}
		moves[c.rng.IntN(len(moves))]()
		c.renews()
		c.now += time.Duration(c.rng.IntN(1000)) * time.Microsecond
	}
	return fmt.Errorf("no end: %s", c.state())
}

// askAgain advances the clock to the next time when the head requests a process again.
func (c *cluster) askAgain() {
	at := slices.Min(c.later)
	c.later = slices.DeleteFunc(c.later, func(t time.Duration) bool { return t <= at })
	c.now = max(c.now, at)
	c.tell(func() []Action { return c.head.Conclude(c.now) })
}

func (c *cluster) finished() bool {
	if len(c.keeping)+len(c.publishing)+len(c.events) > 0 {
		return false
	}
	for _, q := range c.procs {
		if !q.declared && (q.dead || !q.done || len(q.writing)+len(q.says)+len(q.toHead) > 0) {
			return false
		}
	}
	return true
}

func (c *cluster) check() error {
	for _, q := range c.procs {
		if !q.dead && !q.waits && q.value != c.want[q.p.Rank][c.steps] {
			return fmt.Errorf("%v ends with the wrong state", q.p)
		}
	}
	if c.snapshot.Set > 0 {
		return fmt.Errorf("set %d is neither complete nor given up", c.snapshot.Set)
	}
	for set := range c.whole {
		if c.ended[set] == "" {
			return fmt.Errorf("every rank has its file of set %d, which is neither complete nor given up", set)
		}
	}
	return nil
}

func (c *cluster) state() string {
	s := c.head.String()
	for _, q := range c.procs {
		if !q.declared {
			s += fmt.Sprintf("\n%v#%d dead %v waits %v in %v point %d done %v drained %v %v says %v %v orders %v %v member %+v", q.p, q.incarnation, q.dead, q.waits, q.inPt, q.point, q.done, q.drained, q.ret.Describe(), q.says, q.toHead, q.toAgent, q.orders, q.m)
		}
	}
	return s
}

func (c *cluster) deliver(i int) {
	d := c.data[i]
	c.data = slices.Delete(c.data, i, i+1)
	q := d.to
	switch d.kind {
	case "state":
		// The donor of a joiner that was not admitted has died, and another donor sends it a
		// newer state.
		if q.placed || !q.m.Takes(d.gen, d.slot.number) && c.broken != takeLate {
			c.seen["late state"]++
			return
		}
		if d.slot.value != c.want[q.p.Rank][d.slot.number] {
			c.fail("%v joins at %d with the wrong state", q.p, d.slot.number)
		}
		q.waits = false
		q.set(d.slot)
		q.gen, q.inPt = d.gen, true
		q.known = maps.Clone(d.known)
		for g := range q.gone {
			delete(q.known, g)
		}
		q.m = NewJoiner(q.p, d.gen, d.slot.number)
		q.say(q.m.Joined())
	case "slot":
		switch {
		case d.gen < q.gen:
			return
		case d.gen > q.gen:
			c.fail("%v is sent a copy of rollback %d, of which it has not heard", q.p, d.gen)
		}
		if c.broken != overtake {
			q.slots.Reached(d.full)
		}
		if !q.store(d.rank, d.slot) {
			return
		}
		q.says = append(q.says, job.Reply{Kind: job.ReplyStored, Generation: q.gen, Number: d.slot.number, Rank: d.rank})
	case "deal":
		if d.gen > q.gen {
			c.seen["a state overtakes its order"]++
		}
		q.ret.Given(d.gen, d.slot)
	}
}

func (q *proc) set(s slot) {
	q.point, q.value, q.got, q.made = s.number, s.value, maps.Clone(s.got), map[uint64]uint64{}
}

func (q *proc) now() slot { return slot{q.point, q.value, maps.Clone(q.got)} }

func (q *proc) store(rank int, s slot) bool {
	if q.c.broken == oneSlot {
		q.slots.ranks = nil
	}
	return q.slots.Put(rank, s.number, s)
}

func (q *proc) holds(rank int, number uint64) bool {
	_, ok := q.slots.Get(rank, number)
	return ok
}

func (q *proc) say(rs []job.Reply) {
	for _, r := range rs {
		q.says = append(q.says, r)
	}
}
