package section

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/intrahpc/intra/sched"
)

// A cluster is a whole rank in one goroutine: replicas with memory, links with delays, and
// a head that announces deaths. One seed determines all events. A task computes each value
// from the memory at the entry of its section. So a task that runs on wrong memory gives a
// wrong value, and the test finds it.
type cluster struct {
	rng        *rand.Rand
	policy     []sched.Policy // by section
	tasks      []int          // by section: number of tasks
	cores      int            // number of cores of each replica
	inPlace    bool           // updates are received in place
	timed      bool           // replicas know the times of their peers
	held       int            // how often a replica left tasks to its peers
	alone      int            // how often a replica continued alone
	inbox      int64
	nodes      []*node
	links      [][]*wire // by sender, then receiver
	epoch      []int     // the dead replicas, in the head's order
	now        time.Duration
	crashes    int  // number of deaths still to come
	unsafely   bool // updates are received without snapshots
	cuts       int  // number of broken connections still to come
	lost       int  // number of lost updates so far
	uninformed bool // replicas are not informed of lost updates
	most       int  // the most tasks that a replica ran at once
}

// node is one replica. Its memory is one inout region per task: words that
// the task increments by a value that depends on all of them.
type node struct {
	c        *cluster
	id       int
	m        *Machine
	mem      []uint64
	snapshot map[int][]uint64 // by task
	running  []body           // bodies on its cores
	dead     bool
	finished bool
	inside   bool
	times    Times
	handled  int // number of deaths reported by the head that it has handled
	ran      int
	err      error
}

const words = 4

// body is a running task and the number of its remaining steps.
type body struct{ task, left int }

// step is the body of a task. It must start from the memory at the entry of the section.
func step(mem []uint64, section uint64) {
	sum := section + 1
	for _, w := range mem {
		sum = sum*0x9e3779b97f4a7c15 + w
	}
	for i := range mem {
		mem[i] += sum + uint64(i)
	}
}

func newCluster(seed uint64, replicas int) *cluster {
	c := &cluster{rng: rand.New(rand.NewPCG(seed, 1)), cores: 1, inbox: 1 << 30}
	for i := range replicas {
		n := &node{c: c, id: i, m: New(Config{Replica: i, Replicas: replicas, InboxBytes: c.inbox}), snapshot: make(map[int][]uint64)}
		c.nodes = append(c.nodes, n)
		c.links = append(c.links, make([]*wire, replicas))
		for k := range replicas {
			c.links[i][k] = &wire{}
		}
	}
	return c
}

// size gives all nodes memory for the largest section.
func (c *cluster) size() {
	most := 1
	for _, n := range c.tasks {
		most = max(most, n)
	}
	for _, n := range c.nodes {
		n.mem = make([]uint64, most*words)
		for i := range n.mem {
			n.mem[i] = uint64(i)
		}
		n.m.inbox.limit = c.inbox
	}
}

// serial returns the memory after all sections in a run without replicas.
func (c *cluster) serial() []uint64 {
	mem := make([]uint64, len(c.nodes[0].mem))
	for i := range mem {
		mem[i] = uint64(i)
	}
	for s, n := range c.tasks {
		for t := range n {
			step(slot(mem, t), uint64(s))
		}
	}
	return mem
}

// slot returns the memory that a task reads and writes.
func slot(mem []uint64, t int) []uint64 { return mem[t*words : (t+1)*words] }

// run drives the cluster until every live node has finished. It returns an
// error if no move is possible before that.
func (c *cluster) run() error {
	for range 200_000 {
		var moves []func()
		for _, n := range c.nodes {
			if n.err != nil {
				return n.err
			}
			if !n.dead {
				moves = append(moves, n.moves()...)
			}
		}
		if len(moves) == 0 {
			if c.done() {
				return nil
			}
			return fmt.Errorf("hang: %s", c.state())
		}
		moves[c.rng.IntN(len(moves))]()
		c.now += time.Duration(c.rng.IntN(1000)) * time.Microsecond
	}
	return fmt.Errorf("no end: %s", c.state())
}

func (c *cluster) done() bool {
	for _, n := range c.nodes {
		if !n.dead && !n.finished {
			return false
		}
	}
	return true
}

func (c *cluster) state() string {
	s := ""
	for _, n := range c.nodes {
		s += fmt.Sprintf("[%d dead=%v section=%d inside=%v missing=%d finished=%v] ", n.id, n.dead, n.m.Number(), n.inside, n.m.Missing(), n.finished)
	}
	return s
}

// live counts the replicas that have not crashed.
func (c *cluster) live() int {
	n := 0
	for _, x := range c.nodes {
		if !x.dead {
			n++
		}
	}
	return n
}

// crash kills a node. The frame that it is handing over is torn at a random place.
func (c *cluster) crash(n *node) {
	n.dead = true
	c.crashes--
	for to, w := range c.links[n.id] {
		w.closed = true
		// The connection that would report the lost updates may not exist any more.
		if at := slices.IndexFunc(w.frames, func(f frame) bool { return f.lost }); at >= 0 && c.rng.IntN(2) == 0 {
			w.frames = w.frames[:at]
		}
		if k := len(w.frames); k > 0 && to != n.id && len(w.frames[k-1].words) > 0 && c.rng.IntN(2) == 0 {
			w.frames[k-1].torn = 1 + c.rng.IntN(words-1)
		}
	}
	c.epoch = append(c.epoch, n.id)
}

// moves lists the possible moves of a node.
func (n *node) moves() []func() {
	c := n.c
	var all []func()
	for from := range c.nodes {
		w := c.links[from][n.id]
		if len(w.frames) > 0 {
			all = append(all, func() { n.deliver(from, w) })
		}
	}
	if c.cuts > 0 && c.rng.IntN(10) == 0 {
		from := c.rng.IntN(len(c.nodes))
		all = append(all, func() { n.cut(c.links[from][n.id]) })
	}
	if n.handled < len(c.epoch) {
		// A death is handled after the link of the dead replica was read to its end.
		if d := c.epoch[n.handled]; len(c.links[d][n.id].frames) == 0 {
			all = append(all, func() { n.m.Dead(d); n.handled++ })
		}
	}
	if c.crashes > 0 && c.live() > 1 && c.rng.IntN(20) == 0 {
		all = append(all, func() { c.crash(n) })
	}
	switch {
	case n.finished:
	case !n.inside:
		all = append(all, n.enter)
	default:
		for i := range n.running {
			all = append(all, func() { n.work(i) })
		}
		// Next claims the task that it returns. So a replica calls it only if it can run the
		// task now.
		if len(n.running) == 0 || len(n.running) < c.cores && c.rng.IntN(2) == 0 {
			if m := n.next(); m != nil {
				all = append(all, m)
			}
		}
	}
	return all
}

func (n *node) enter() {
	s := int(n.m.Number())
	if s == len(n.c.tasks) {
		n.finished = true
		for to := range n.c.nodes {
			n.post(to, frame{bye: true, update: Update{Peer: n.id, Section: n.m.Number()}})
		}
		return
	}
	n.inside = true
	policy := n.c.policy[s]
	if policy == sched.Adaptive && n.c.rng.IntN(4) == 0 {
		policy = sched.Replicate // this replica decides this alone
	}
	patience := 5 * time.Millisecond
	e := Entry{Policy: policy, Tasks: n.c.tasks[s], Signature: uint64(s)*7 + 1,
		Patience: func(int) time.Duration { return patience }}
	if n.c.timed {
		patience *= 10
		e.Times = func(int) *Times { return &n.times }
	}
	acts, err := n.m.Enter(e, n.c.now)
	n.err = err
	n.perform(acts, uint64(s))
	if policy == sched.Replicate {
		for to := range n.c.nodes {
			n.post(to, frame{in: true, update: Update{Peer: n.id, Section: n.m.Number(), Tasks: n.c.tasks[s], Signature: n.m.Signature()}})
		}
	}
}

// next returns the next move of the protocol, nil if it waits for a peer.
func (n *node) next() func() {
	step, acts := n.m.Next(n.c.now)
	if n.err = n.index(); n.err != nil {
		return nil
	}
	if n.m.held > 0 {
		n.c.held++
	}
	switch step.Kind {
	case Done:
		return func() { n.m.Leave(); n.inside = false }
	case Run:
		n.perform(acts, n.m.number)
		n.running = append(n.running, body{step.Task, n.c.rng.IntN(3)})
		last := len(n.running) - 1
		n.c.most = max(n.c.most, last+1)
		return func() { n.work(last) }
	}
	if step.Until > 0 && len(n.running) == 0 {
		return func() { n.c.now = max(n.c.now, step.Until) }
	}
	return nil
}

// index compares the set of open tasks of the machine with a separate check of each task.
func (n *node) index() error {
	n.m.look()
	v := view{n.m}
	open := make([]int, len(n.m.peers))
	for t := range n.m.shape.Tasks {
		want := v.Todo(t) && !v.Expected(t)
		if _, got := v.First(t, t+1, t%2 == 0); got != want {
			return fmt.Errorf("task %d of replica %d: the index says open is %v, its own check %v", t, n.id, got, want)
		}
		if want {
			open[sched.Owner(n.m.shape.Tasks, len(open), t)]++
		}
	}
	for i := range open {
		if got := v.Open(i); got != open[i] {
			return fmt.Errorf("replica %d: %d tasks of the block of %d are open, and the index has %d", n.id, open[i], i, got)
		}
	}
	return nil
}

func (n *node) work(i int) {
	if n.running[i].left--; n.running[i].left >= 0 {
		return
	}
	t := n.running[i].task
	n.running = slices.Delete(n.running, i, i+1)
	n.ran++
	// Wrong times must only cost time, not change results.
	n.times.Took(n.id, time.Duration(n.c.rng.IntN(2)*200+1)*time.Millisecond)
	section := n.m.number
	step(slot(n.mem, t), section)
	n.perform(n.m.Ran(t), section)
	if n.m.shape.Policy == sched.Adaptive && n.c.rng.IntN(8) == 0 { // this replica decides this alone
		n.m.Withdraw()
		n.c.alone++
	}
}

func (n *node) perform(acts []Action, section uint64) {
	for _, a := range acts {
		u := Update{Peer: n.id, Section: section, Task: a.Task, Tasks: n.c.tasks[section],
			Signature: section*7 + 1, Size: words * 8}
		switch a.Kind {
		case Apply:
			copy(slot(n.mem, a.Task), a.Token.([]uint64))
		case Claim:
			n.post(a.Peer, frame{claim: true, update: u})
		case Send:
			n.post(a.Peer, frame{update: u, words: slices.Clone(slot(n.mem, a.Task))})
		}
	}
}
