package verify

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A rank is all replicas of one rank, with links and a head that announces deaths. It runs
// in one goroutine, and one seed determines all events. One of the replicas may err.
type rank struct {
	rng          *rand.Rand
	sampled      []int // number of sampled tasks of each section; 0: it is not verified
	nodes        []*node
	links        [][]*wire // by sender, then receiver
	deaths       []int     // dead replicas, in the head's order
	crashes      int       // number of deaths still to come
	faulty       int       // the replica that errs; -1: none
	mode         mode
	odds         int  // the replica errs once in that many runs
	wild         bool // all replicas err, in one of a few ways
	diverged     bool // the faulty replica has entered a section with other memory
	errors       int
	reruns       int
	cut          int   // the first section after a cut; from there on fewer tasks are sampled; 0: none
	deathsBefore int   // number of deaths before that cut; all replicas know of them before they enter that section
	ended        error // why the job has ended; no replica continues then
	by           *node // the replica that has found the error
}

// mode is the way in which a replica errs.
type mode int

const (
	once   mode = iota // in one run
	often              // in many runs, each time differently
	always             // in the same way, whenever it runs a task
	worse              // in one run, and in every run of later sections
	modes
)

type wire struct {
	words  []Word
	closed bool
}

// node is one replica.
type node struct {
	*rank
	id      int
	m       *Machine
	section int
	inside  bool
	todo    []int // sampled tasks that have not run
	shared  bool  // the results of the other tasks have arrived
	again   []int // tasks to repeat
	dead    bool
	handled int   // number of deaths that it has handled
	erred   int   // the first section in which it has erred
	failed  error // the error that it has found
	lone    bool
	left    map[int]*Result
	warned  map[int]bool // sections for which a sound replica has sent its results
	alone   map[int]bool // sections that it judged while no other replica was live
}

func newRank(seed uint64) *rank {
	rng := rand.New(rand.NewPCG(seed, 3))
	r := &rank{rng: rng, faulty: -1, odds: 1}
	replicas := 1 + rng.IntN(4)
	for range 1 + rng.IntN(5) {
		r.sampled = append(r.sampled, rng.IntN(4))
	}
	r.crashes = rng.IntN(replicas + 1)
	for i := range replicas {
		r.nodes = append(r.nodes, &node{rank: r, id: i, m: New(i, replicas), left: make(map[int]*Result), warned: make(map[int]bool), alone: make(map[int]bool)})
		r.links = append(r.links, make([]*wire, replicas))
		for k := range replicas {
			r.links[i][k] = &wire{}
		}
	}
	return r
}

// value returns the right result of a task.
func value(section, index int) uint64 { return uint64(section)<<8 | uint64(index) }

// result returns the result of a run.
func (n *node) result(index int) uint64 {
	right := value(n.section, index)
	switch {
	case n.wild:
		return right + uint64(n.rng.IntN(4)/2*n.rng.IntN(3))<<32
	case n.id != n.faulty, n.mode == once && n.errors > 0, n.mode == worse && n.errors > 0 && n.erred == n.section:
		return right
	case n.mode == worse && n.errors > 0:
		return right | 1<<32
	case n.rng.IntN(n.odds) > 0 && n.mode != always:
		return right
	}
	n.errors++
	n.erred = n.section
	if n.mode == always {
		return right | 1<<32
	}
	return right | uint64(n.errors)<<40
}

func (n *node) entry(index int) uint64 {
	if n.diverged && n.id == n.faulty {
		return 1
	}
	return 0
}

// run drives the rank until every live replica has passed all sections, or the
// job has ended.
func (r *rank) run() error {
	for range 100_000 {
		if r.ended != nil {
			return nil
		}
		var moves []func()
		for _, n := range r.nodes {
			if !n.dead {
				moves = append(moves, n.moves()...)
			}
		}
		if len(moves) == 0 {
			for _, n := range r.nodes {
				if !n.dead && n.section < len(r.sampled) {
					return fmt.Errorf("hang: replica %d waits for %d in section %d", n.id, n.m.Missing(), n.section)
				}
			}
			return nil
		}
		moves[r.rng.IntN(len(moves))]()
	}
	return errors.New("no end")
}

func (n *node) moves() (all []func()) {
	for from := range n.nodes {
		if w := n.links[from][n.id]; len(w.words) > 0 {
			all = append(all, func() {
				word := w.words[0]
				w.words = w.words[1:]
				n.perform(n.m.Receive(from, &word))
			})
		}
	}
	if n.handled < len(n.rank.deaths) {
		if d := n.rank.deaths[n.handled]; len(n.links[d][n.id].words) == 0 {
			all = append(all, func() { n.handled++; n.perform(n.m.Dead(d)) })
		}
	}
	if n.crashes > 0 && n.live() > 1 && n.rng.IntN(25) == 0 {
		all = append(all, n.crash)
	}
	switch {
	case n.section == len(n.sampled):
	case n.cut > 0 && n.section >= n.cut && n.handled < n.deathsBefore:
	case !n.inside:
		all = append(all, n.enter)
	case len(n.todo) > 0:
		all = append(all, func() {
			i := n.todo[0]
			n.todo = n.todo[1:]
			n.perform(n.m.Ran(i, 0, Run{Hash: n.result(i), Core: n.id}))
		})
	case !n.shared:
		all = append(all, func() {
			n.shared = true
			n.perform(n.m.Complete())
		})
	case len(n.again) > 0:
		all = append(all, func() {
			i := n.again[0]
			n.again, n.reruns = n.again[1:], n.reruns+1
			n.perform(n.m.Ran(i, n.entry(i), Run{Hash: n.result(i), Core: n.id}))
		})
	default:
		r, err := n.m.Done()
		switch {
		case err != nil:
			all = append(all, func() { n.ended, n.by = err, n })
		case r != nil:
			all = append(all, func() { n.leave(r) })
		}
	}
	return all
}

func (n *node) enter() {
	if n.sampled[n.section] == 0 {
		n.section++
		return
	}
	n.inside, n.shared, n.todo = true, false, nil
	tasks := make([]int, n.sampled[n.section])
	for i := range tasks {
		tasks[i], n.todo = 10*i, append(n.todo, i)
	}
	n.m.Enter(uint64(n.section), 7, tasks)
}

func (n *node) leave(r *Result) {
	n.left[n.section], n.alone[n.section] = r, n.m.alone()
	for p := range n.nodes {
		if s := n.m.peers[p].said[uint64(n.section)]; p != n.id && p != n.faulty && s != nil && s.first != nil {
			n.warned[n.section] = true
		}
	}
	n.m.Leave()
	n.inside = false
	n.section++
}

func (n *node) perform(acts []Action) {
	for _, a := range slices.Clone(acts) {
		switch a.Kind {
		case Say:
			if w := n.links[n.id][a.Peer]; !w.closed {
				w.words = append(w.words, *a.Word)
			}
		case Rerun:
			n.again = append(n.again, a.Index)
		}
	}
	if _, err := n.m.Done(); err != nil && n.failed == nil {
		n.failed, n.lone = err, n.m.alone()
	}
}

func (r *rank) live() (n int) {
	for _, x := range r.nodes {
		if !x.dead {
			n++
		}
	}
	return n
}

// crash kills a node. Its last messages to each other replica are lost.
func (n *node) crash() {
	n.dead = true
	n.crashes--
	for _, w := range n.links[n.id] {
		w.closed = true
		w.words = w.words[:n.rng.IntN(len(w.words)+1)]
	}
	n.rank.deaths = append(n.rank.deaths, n.id)
	// The other replicas may reach a cut that this replica had passed, and sample fewer tasks from
	// there on.
	ahead := n.inside && n.cut == 0 && n.sampled[n.section] > 1
	for _, o := range n.nodes {
		ahead = ahead && (o.dead || o.section < n.section)
	}
	if ahead {
		n.cut, n.deathsBefore = n.section, len(n.rank.deaths)
		n.sampled[n.section] = 1
	}
}
