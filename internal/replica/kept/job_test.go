package kept

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// longest is the longest interval between settled points that a replica proposes.
const longest = 3

// job is a simulated job: the processes of ranks with two replicas each, and the decisions
// of its head about them.
type job struct {
	rng    *rand.Rand
	prog   *program
	types  [][]uint64 // lists of section types that replicas propose to keep
	config Config
	procs  [][2]*process
	truth  []truth
	backup []backup
	cut    uint64 // safe point of the cut in progress; 0: none
	kills  []kill
	rest   bool // the cut is cancelled, and there are no more
	noCuts bool
	err    error
	seen   seen
	weight []int // by process: its relative speed
}

// truth records the effects of a rank on the outside world.
type truth struct {
	decisions map[int]choice // by receive
	once      map[uint64]uint64
	lines     []uint64
}

// backup is the state of a rank at a cut.
type backup struct {
	image  [][]uint64
	at     place
	core   core
	passed uint64
	lines  uint64
}

// kill is a death that happens after a given moment, as soon as a process is in the given
// state.
type kill struct {
	from  int
	state int
}

// seen counts events.
type seen struct{ deaths, seconds, joins, rollbacks, missed int }

func (j *job) fail(format string, args ...any) {
	if j.err == nil {
		j.err = fmt.Errorf(format, args...)
	}
}

func newJob(seed uint64) *job {
	j := &job{rng: rand.New(rand.NewPCG(seed, 5))}
	j.prog = newProgram(j.rng)
	j.types = [][]uint64{{0, 1, 2}, {0, 1, 2, 3}, {0, 2}}
	if j.rng.IntN(4) == 0 {
		j.types = j.types[1:2]
	}
	j.config = Config{Room: uint64(j.rng.IntN(40)), Strays: uint64(j.rng.IntN(20)),
		First: Plan{Types: j.types[0], Share: uint16(1<<14 + j.rng.IntN(1<<15)), Next: uint64(1 + j.rng.IntN(longest))}}
	j.begin()
	if j.rng.IntN(6) > 0 {
		for range 1 + j.rng.IntN(4) {
			j.kills = append(j.kills, kill{from: j.rng.IntN(900), state: j.rng.IntN(9)})
		}
	}
	return j
}

// begin begins the job. Its first backup is the initial state of all ranks.
func (j *job) begin() {
	j.truth = nil
	for r := range j.prog.ranks {
		at := place{sent: make(map[stream]uint64), any: make(map[uint64]uint64)}
		var im [][]uint64
		for _, i := range j.prog.ranks[r].registeredArrays() {
			im = append(im, make([]uint64, j.prog.ranks[r].sizes[i]))
		}
		j.backup = append(j.backup, backup{image: im, at: at, core: newCore()})
		j.truth = append(j.truth, truth{decisions: make(map[int]choice), once: make(map[uint64]uint64)})
	}
	j.procs = make([][2]*process, len(j.prog.ranks))
	j.weight = nil
	for range j.procs {
		j.weight = append(j.weight, 1+j.rng.IntN(4), 1+j.rng.IntN(4))
	}
	j.restore()
}

// restore makes all processes begin with the backup of their rank.
func (j *job) restore() {
	for r := range j.procs {
		for k := range j.procs[r] {
			b := &j.backup[r]
			p := j.newProcess(r, k, New(j.configOf(k)))
			p.core, p.passed, p.lines = b.core.clone(), b.passed, b.lines
			p.load(b.image, b.at)
			if b.at.pc == 0 {
				for i := range p.mem {
					clear(p.mem[i]) // both replicas initialize everything
				}
			}
			j.procs[r][k] = p
		}
		t, at := &j.truth[r], j.backup[r].at
		t.lines = t.lines[:at.lines]
		for n := range t.once {
			if n >= at.onces {
				delete(t.once, n)
			}
		}
		for _, o := range j.prog.ranks[r].ops[at.pc:] {
			if o.kind == post {
				delete(t.decisions, o.id)
			}
		}
	}
}

func (j *job) configOf(k int) Config {
	c := j.config
	c.Replica = k
	return c
}

func (j *job) newProcess(rank, k int, m *Machine) *process {
	return &process{j: j, rank: rank, k: k, m: m, images: make(map[uint64][][]uint64)}
}

// all yields the live processes.
func (j *job) all() iter.Seq[*process] {
	return func(yield func(*process) bool) {
		for r := range j.procs {
			for p := range j.replicas(r) {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// replicas yields the live replicas of a rank.
func (j *job) replicas(rank int) iter.Seq[*process] {
	return func(yield func(*process) bool) {
		for _, p := range j.procs[rank] {
			if !p.dead && !yield(p) {
				return
			}
		}
	}
}

func (j *job) leader(rank int) *process {
	for p := range j.replicas(rank) {
		return p
	}
	return nil
}

// server returns the process of a rank that sends to replica k of other ranks.
func (j *job) server(rank, k int) *process {
	if p := j.procs[rank][k]; !p.dead {
		return p
	}
	return j.procs[rank][1-k]
}

// settleSends ends the sends of a message that all live replicas of its destination have.
func (j *job) settleSends(rank int, s stream, number uint64) {
	for q := range j.replicas(s.rank) {
		if !q.has(stream{s.ctx, rank}, number) {
			return
		}
	}
	for p := range j.replicas(rank) {
		if list := p.out[s]; number < uint64(len(list)) {
			list[number].done = true
		}
	}
}

// settleAll is settleSends for all messages, after a death.
func (j *job) settleAll() {
	for p := range j.all() {
		for s, list := range p.out {
			for n := range list {
				j.settleSends(p.rank, s, uint64(n))
			}
		}
	}
}

// event performs a random event, and reports whether one was possible.
func (j *job) event() bool {
	i := j.rng.IntN(2 * len(j.procs))
	p := j.procs[i/2][i%2]
	if j.rng.IntN(4) >= j.weight[i] {
		return false
	}
	switch n := j.rng.IntN(40); {
	case n < 22:
		return p.step()
	case n < 28:
		return !p.dead && p.deliver()
	case n < 34:
		return !p.dead && p.messages()
	case n < 36:
		return !p.dead && p.decide()
	case n < 37:
		return p.informs()
	case n < 38:
		return j.rng.IntN(40) == 0 && j.planCut() || j.rng.IntN(40) == 0 && j.cancelCut()
	case n < 39:
		return p.hears()
	}
	return j.endCut()
}

// sweep performs every event that needs no random choice.
func (j *job) sweep() (did bool) {
	for r := range j.procs {
		for k := range j.procs[r] {
			for _, f := range []func(*process) bool{(*process).step, (*process).informs} {
				did = f(j.procs[r][k]) || did
			}
			if p := j.procs[r][k]; !p.dead {
				did = p.hears() || p.deliver() || p.messages() || p.decide() || did
			}
		}
	}
	return j.endCut() || did
}

func (j *job) over() bool {
	for p := range j.all() {
		if !p.finished {
			return false
		}
	}
	return true
}

// run runs the job to its end.
func (j *job) run() error {
	idle := 0
	for now := 0; j.err == nil && !j.over(); now++ {
		if j.kill(now) {
			continue
		}
		if j.event() {
			idle = 0
			continue
		}
		if idle++; idle > 300 {
			if idle = 0; !j.sweep() && j.err == nil {
				return fmt.Errorf("the job hangs: %s", j.describe())
			}
		}
		if now > 2_000_000 {
			return fmt.Errorf("the job does not end: %s", j.describe())
		}
	}
	if j.err != nil {
		return j.err
	}
	return j.compare()
}

func (j *job) describe() (s string) {
	for p := range j.all() {
		s += fmt.Sprintf("\n%v stage %d of operation %d %+v, open %v, inbox %d, held %d", p, p.stage, p.at.pc,
			p.program().ops[min(p.at.pc, len(p.program().ops)-1)], p.m.open, len(p.m.inbox), len(p.held))
	}
	return s
}
