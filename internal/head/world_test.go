package head

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// A world is a whole job in one goroutine, driven by one seed: a head, the
// agents of its hosts and their processes, the log of the decisions, and
// faults. Time is virtual.
type world struct {
	spec   spec
	random *rand.Rand
	now    time.Duration
	config Config

	head     *Head
	term     uint64
	on       *agent           // the agent on the host of the head, nil for the first head
	state    *decision.State  // state that follows from the log
	proposed []decision.Entry // proposals of the head that are not kept yet
	losing   []detect.ID      // nodes that are about to be declared lost
	waiting  []Event          // events from the driver, for the head
	disk     []Published      // sets that are being made complete
	agents   []*agent
	packets  []*packet
	outputs  map[From]*outlet

	began     time.Duration  // when all processes had joined
	started   map[From]bool  // all processes that were ever started
	doomed    map[int]uint32 // scheduled kills that were decided while all processes lived, with the incarnations of their victims
	heads     int            // number of heads that may still be lost
	faults    int            // number of faults of processes and hosts that may still occur
	early     int            // the move at which a host is lost, 0: none
	calm      int            // moves before the first fault
	stable    int            // moves before the first loss of a head
	signal    bool           // a signal was sent to the head
	refused   bool           // a first process could not be started, or folders could not be read
	leaves    int            // number of requests to leave still to come
	joins     int            // number of hosts still to join
	changes   int            // number of requests still to come that set the numbers of replicas
	setAt     map[int]int    // by rank: the move at which its last number of replicas was kept
	links     int            // number of broken links
	broken    map[ends]bool  // links that the head knows to be broken
	retired   bool
	hadBackup bool // there was a backup when the end was decided
	hadSet    bool // there was a complete set of files when the end was decided
	mourned   int  // deaths that were kept before the release
	moves     int
	idle      int                   // number of moves since a move last had an effect
	left      map[detect.ID]bool    // hosts that have left, and whose agents have ended
	notified  map[detect.ID]bool    // hosts whose agents were given notice
	handing   bool                  // the head is about to hand over
	reliefs   map[job.Endpoint]bool // processes that were placed to relieve others
	seen      map[string]int
	tracing   bool
	trace     []string
	bad       error
}

// spec is a kind of job, with its faults.
type spec struct {
	name       string
	degrees    []int
	nodes      int // number of hosts; 1: only the head's own host
	spares     int
	steps      uint64 // safe points of the program
	kills      []job.Kill
	weibull    *Weibull
	replace    bool
	backup     uint64
	auto       bool
	files      uint64 // safe points from one set to the next
	restart    bool
	heads      int // number of heads that may be lost
	faults     int // number of faults of processes and hosts
	hosts      bool
	links      bool // links may break
	stops      bool
	signals    bool
	unreliable bool // some starts of processes fail
	retires    bool
	direct     bool
	states     bool // states of replicas may differ
	sample     bool // some tasks are compared, and processes are blamed
	leaves     int  // requests to leave, of hosts and processes
	vacant     int  // replicas of each rank that are missing at the start
	joins      int  // hosts that join the running job
	changes    int  // number of requests that set the numbers of replicas
	slots      int  // of each host, 0: plenty
	slow       bool // the log is slow while the job begins, and a host is lost meanwhile
}

func (s *spec) replicated() bool { return s.nodes >= 3 }

func newWorld(s spec, seed uint64, tracing bool) *world {
	w := &world{spec: s, tracing: tracing, random: rand.New(rand.NewPCG(seed, 15)), state: decision.NewState(), outputs: make(map[From]*outlet),
		started: make(map[From]bool), doomed: make(map[int]uint32), broken: make(map[ends]bool), heads: s.heads, left: make(map[detect.ID]bool), notified: make(map[detect.ID]bool), setAt: make(map[int]int), reliefs: make(map[job.Endpoint]bool), seen: make(map[string]int)}
	w.faults = w.random.IntN(s.faults + 1)
	if s.hosts && (s.slow || w.random.IntN(20) == 0) {
		w.early = 1 + w.random.IntN(30)
	}
	if s.leaves > 0 {
		w.leaves = 1 + w.random.IntN(s.leaves)
	}
	if s.joins > 0 {
		w.joins = 1 + w.random.IntN(s.joins)
	}
	if s.changes > 0 {
		w.changes = 1 + w.random.IntN(s.changes)
	}
	w.calm, w.stable = w.random.IntN(2)*w.random.IntN(500), w.random.IntN(2)*w.random.IntN(700)
	w.config = Config{Degrees: s.degrees, Of: make(map[job.Process]detect.ID), Link: job.LinkSHM, Replace: s.replace, Kills: s.kills, Weibull: s.weibull,
		Self: FirstHead, FirstHost: "h1", Replicated: s.replicated(), Direct: map[bool]job.Direct{true: job.DirectOn}[s.direct]}
	w.config.Backup.Every, w.config.Backup.Auto = s.backup, s.auto
	if s.changes > 0 {
		w.config.Least = slices.Repeat([]int{1}, len(s.degrees))
	}
	if s.sample {
		w.config.Setup.Verify = &job.Verification{Share: 0.01}
	}
	if s.files > 0 {
		w.config.Checkpoint = &Checkpoint{Dir: "files", Every: s.files}
	}
	if s.restart {
		w.config.Restart = "files"
	}
	listen := ""
	if s.nodes > 1 {
		listen = "host:0"
	}
	for i := range s.nodes {
		id := FirstHead + 1 + detect.ID(i)
		w.config.Nodes = append(w.config.Nodes, Node{ID: id, Name: fmt.Sprint("h", i+1), Slots: cmp.Or(s.slots, 8), Listen: listen})
		w.agents = append(w.agents, &agent{w: w, node: id})
	}
	n := 0
	for _, p := range job.Processes(s.degrees) {
		if p.Replica > 0 && p.Replica >= s.degrees[p.Rank]-s.vacant {
			continue
		}
		w.config.Of[p] = w.config.Nodes[(p.Rank+p.Replica)%s.nodes].ID
		n++
	}
	if s.leaves > 0 && s.replicated() {
		w.config.Home, w.config.Drain = w.config.Nodes[0].ID, true
		w.config.Members = []detect.ID{FirstHead}
		for _, n := range w.config.Nodes[1:] {
			w.config.Members = append(w.config.Members, n.ID)
		}
		w.state.Members = slices.Clone(w.config.Members)
	}
	for i := range s.spares {
		w.config.Spares = append(w.config.Spares, w.config.Nodes[(n+i)%s.nodes].ID)
	}
	w.config.Doubtful = w.doubtful
	w.head = New(w.config)
	w.do(w.head.Step(Begin{}, w.now))
	return w
}

func (w *world) doubtful(id detect.ID) bool { return w.agent(id).lost }

func (w *world) agent(id detect.ID) *agent { return w.agents[id-FirstHead-1] }

func (w *world) failf(format string, args ...any) {
	if w.bad == nil {
		w.bad = fmt.Errorf(format, args...)
	}
}

func (w *world) note(what string, x any) {
	if w.tracing {
		w.trace = append(w.trace, fmt.Sprintf("%4d %8.3f %s", w.moves, w.now.Seconds()*1e3, what+describe(x)))
	}
}

// run makes moves until the job is over.
func (w *world) run() error {
	for w.bad == nil && !w.head.Ended() {
		if w.moves++; w.moves > 60000 {
			w.failf("the job hangs")
			break
		}
		w.move()
	}
	if w.bad == nil {
		w.judge()
	}
	return w.bad
}

// step passes an event to the head, and carries out the actions that follow.
func (w *world) step(e Event) {
	w.note("", e)
	if s, ok := e.(OutputSettled); ok {
		w.outputs[s.From].settled = true
	}
	if s, ok := e.(Started); ok && s.Err != "" && w.outputs[s.From] != nil { // the process was never started
		w.outputs[s.From].settled = true
	}
	w.do(w.head.Step(e, w.now))
}

// move makes one random move.
func (w *world) move() {
	var all []func()
	if len(w.waiting) > 0 {
		all = append(all, func() {
			e := w.waiting[0]
			w.waiting = w.waiting[1:]
			w.step(e)
		})
	}
	if len(w.disk) > 0 && w.random.IntN(30) == 0 { // the disk is slow
		all = append(all, func() {
			w.waiting = append(w.waiting, w.disk[0])
			w.disk = w.disk[1:]
		})
	}
	if len(w.proposed) > 0 && (!w.spec.slow || w.state.Started || w.random.IntN(20) == 0) {
		all = append(all, w.commit, w.commit)
	}
	if len(w.losing) > 0 {
		all = append(all, w.declareLost)
	}
	for _, a := range w.agents {
		all = a.moves(all)
	}
	for i, p := range w.packets {
		all = append(all, func() { w.deliver(i, p) })
	}
	if w.early > 0 && w.moves == w.early {
		w.loseHost(w.agents[w.random.IntN(len(w.agents))])
		return
	}
	if w.faults > 0 && w.moves > w.calm && w.random.IntN(60) == 0 {
		w.faults--
		w.inject()
		return
	}
	if w.changes > 0 && w.spec.hosts && w.faults > 0 && w.random.IntN(2) == 0 && w.hitWhileLettingGo() {
		w.faults--
		return
	}
	if w.leaves > 0 && w.random.IntN(80) == 0 {
		w.leaves--
		w.leave()
		return
	}
	if w.changes > 0 && w.random.IntN(60) == 0 && w.setDegrees() {
		w.changes--
		return
	}
	if w.joins > 0 && w.random.IntN(80) == 0 {
		w.joins--
		w.arrive()
		return
	}
	if i := slices.IndexFunc(w.state.Members, func(id detect.ID) bool { return id != w.head.config.Self && w.state.HasLeft(id) }); i >= 0 && w.random.IntN(10) == 0 {
		e := decision.Entry{Kind: decision.Removed, Node: w.state.Members[i]}
		w.keep(e)
		w.step(Committed{e})
		return
	}
	if w.handing && w.random.IntN(5) == 0 {
		w.handOver()
		return
	}
	if w.mayLoseHead() && w.moves > w.stable && w.random.IntN(120) == 0 {
		w.loseHead()
		return
	}
	if w.spec.signals && !w.signal && w.random.IntN(2000) == 0 {
		w.signal = true
		w.step(Signalled{Signal: []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[w.random.IntN(2)]})
		return
	}
	if w.spec.retires && !w.retired && w.random.IntN(2000) == 0 {
		w.retired = true
		w.step(Retired{"it is cut off"})
		return
	}
	at, ok := w.head.Deadline()
	if len(all) == 0 && !ok {
		if w.idle++; w.idle > 2000 { // some moves are only rarely chosen
			w.failf("nothing moves")
		}
		return
	}
	w.idle = 0
	if len(all) == 0 || ok && w.random.IntN(100) == 0 {
		if at, ok := w.head.Deadline(); ok {
			w.now = max(w.now, at)
			w.step(Tick{})
			return
		}
	}
	w.now += time.Duration(w.random.IntN(int(2 * time.Millisecond)))
	if ok && at <= w.now {
		w.step(Tick{})
		return
	}
	all[w.random.IntN(len(all))]()
}

// commit keeps the next entry, and informs the head.
func (w *world) commit() {
	e := w.proposed[0]
	w.proposed = w.proposed[1:]
	w.keep(e)
	if w.mayLoseHead() && w.random.IntN(30) == 0 { // the entry is kept, but the head is not informed
		w.loseHead()
		return
	}
	w.step(Committed{e})
}

// keep applies an entry to the log, and checks that the entry is permitted.
func (w *world) keep(e decision.Entry) {
	b, err := e.Encode()
	if err == nil {
		e, err = decision.Decode(b)
	}
	if err != nil {
		w.failf("keep %+v: %v", e, err)
	}
	last, replaced := w.state.Recovery.Complete, len(w.state.Replaced)
	if e.Kind == decision.Placed && e.Incarnation > firstIncarnation {
		w.checkNewcomers(&decision.Place{Node: e.Node}, e.Relieves)
	}
	if e.Kind == decision.Placed && w.late(e.ID) {
		w.checkSpare(e)
	}
	if e.Kind == decision.Placed && e.Relieves {
		w.reliefs[job.Endpoint{Process: e.Process, Incarnation: e.Incarnation}] = true
	}
	for _, v := range w.state.Apply(e) {
		if w.state.Places[v.Process].Incarnation > v.Incarnation && v.Cause != job.CauseRelieved && v.Cause != job.CauseDropped {
			w.seen["a relief replaces a dead process"]++
		} else if w.reliefs[of(decision.Verdict{Verdict: v})] && w.state.Places[v.Process].Incarnation < v.Incarnation {
			w.seen["a relief dies"]++
		}
		switch v.Cause {
		case job.CauseRelieved:
			w.relieved(v)
			continue
		case job.CauseDropped:
			w.dropped(v)
			continue
		}
		w.checkVerdict(v)
	}
	switch {
	case e.Kind == decision.Injected && len(w.state.Injections) > 1 && w.term == 0: // otherwise a successor may have restarted the schedule
		w.seen["one fault after another"]++
	case e.Kind == decision.Fired && w.spec.kills[e.Index].Point == job.KillAfter && !w.state.Released:
		w.doomed[e.Index] = e.Incarnation
	case e.Kind == decision.Degrees:
		for rank := range e.Degrees {
			w.setAt[rank] = w.moves
		}
	case e.Kind == decision.Released:
		w.mourned = len(w.state.Verdicts)
	}
	w.seen["kept "+string(e.Kind)]++
	for _, r := range w.state.Replaced[replaced:] {
		if w.head.grows(r) {
			w.seen["a rank gets another replica"]++
		}
	}
	if e.Kind == decision.Recovery {
		for _, d := range e.Recovery.Departed {
			if !w.state.Departs(d) {
				w.seen["a process that was to be let go stays"]++
			}
		}
		w.seen["kept "+string(e.Recovery.Kind)]++
		if d := e.Recovery; d.Kind == recovery.RolledBack && d.Blamed != nil {
			w.seen["the job rolls back for a blamed process"]++
			if d.Number < last {
				w.seen["back to an older backup"]++
			}
		}
	}
}

// declareLost makes the arbiter declare a node lost.
func (w *world) declareLost() {
	id := w.losing[0]
	w.losing = w.losing[1:]
	if w.random.IntN(2) == 0 {
		w.step(Suspected{Node: id, Testimonies: testimonies(id)})
	}
	e := decision.Entry{Kind: decision.Lost, Node: id, Text: fmt.Sprint("node ", id), At: w.elapsed(), Testimonies: testimonies(id)}
	w.keep(e)
	w.step(Committed{e})
}

func (w *world) elapsed() time.Duration {
	if !w.state.Started {
		return 0
	}
	return w.now - w.began
}
