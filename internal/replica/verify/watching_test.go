package verify

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
)

// A watching is the replicas of a rank that check for divergence, with links and a head.
// It runs in one goroutine, and one seed determines all events.
type watching struct {
	rng     *rand.Rand
	course  []Place // all places of the program, in order
	nodes   []*watcher
	words   [][][]watchedWord // by sender, then receiver
	deaths  []int
	crashes int
	joins   int  // number of joins still to come
	strict  bool // the job ends when a difference is reported
	again   bool // the replacement of the faulty process errs, too
	meets   bool // replicas wait for each other in their sections, as if they shared tasks
	ended   bool // the job has ended
	faulty  int  // replica whose state becomes wrong; -1: none
	from    int  // first place of the course at which the state is wrong
	to      int  // place of the course at which the fault ends
	reports []report
}

// report is the report of a replica about a difference.
type report struct {
	by    int
	found Difference
	of    *Block
}

type watchedWord struct {
	*WatchWord
	finished bool
}

// watcher is one replica.
type watcher struct {
	*watching
	id       int
	w        *Watch
	next     int // next place of the course
	reached  [2]uint64
	stopped  bool // it stopped at the previous place
	hashes   bool // it is making its table at that place
	finished bool
	replaced bool
	dead     bool
	handled  int
	level    int
	hashed   map[Place]bool
	got      map[Place]map[int]bool // hashes received from replicas that no joiner has replaced since
}

// mostLevel is the highest level in the simulation.
const mostLevel = 2

func newWatching(seed uint64) *watching {
	rng := rand.New(rand.NewPCG(seed, 31))
	k := &watching{rng: rng, faulty: -1, joins: rng.IntN(4), strict: rng.IntN(2) == 0, meets: rng.IntN(2) == 0, again: rng.IntN(2) == 0}
	var sections, points uint64
	pointsFrom := rng.IntN(12)
	for i := range 4 + rng.IntN(20) {
		if i < pointsFrom || rng.IntN(2) == 0 {
			sections++
			k.course = append(k.course, Place{AtSection, sections})
		} else {
			points++
			k.course = append(k.course, Place{AtSafePoint, points})
		}
	}
	n := 1 + rng.IntN(4)
	if rng.IntN(4) > 0 {
		k.faulty, k.from = rng.IntN(n), rng.IntN(len(k.course))
		k.to = k.from + 1 + rng.IntN(len(k.course))
	}
	k.crashes = rng.IntN(n + 1)
	for i := range n {
		k.nodes = append(k.nodes, &watcher{watching: k, id: i, w: NewWatch(i, n), hashed: make(map[Place]bool), got: make(map[Place]map[int]bool)})
		k.words = append(k.words, make([][]watchedWord, n))
	}
	return k
}

// wrong reports whether the state of n is wrong at a place of the course.
func (n *watcher) wrong(i int) bool {
	return n.id == n.faulty && (n.again || !n.replaced) && i >= n.from && i < n.to
}

// content returns the state of n at a place, in blocks.
func (n *watcher) content(i int) (blocks []uint64) {
	at := n.course[i]
	blocks = []uint64{at.Number, uint64(at.Kind), 7}
	if n.wrong(i) {
		blocks[1] |= 1 << 40
	}
	return blocks
}

// run drives the replicas until all live ones have reached the end of the course.
func (k *watching) run() error {
	for range 100_000 {
		if k.ended {
			return nil
		}
		var moves []func() error
		for _, n := range k.nodes {
			if !n.dead {
				moves = append(moves, n.moves()...)
			}
		}
		if k.rng.IntN(10) == 0 {
			k.join()
			continue
		}
		if len(moves) == 0 {
			for _, n := range k.nodes {
				if !n.dead && !n.finished {
					return fmt.Errorf("hang: replica %d before place %d, stopped %v, target %v: %s", n.id, n.next, n.stopped, n.w.target, k.describe())
				}
			}
			return nil
		}
		if err := moves[k.rng.IntN(len(moves))](); err != nil {
			return err
		}
	}
	return fmt.Errorf("no end")
}

func (k *watching) describe() (text string) {
	for _, n := range k.nodes {
		text += fmt.Sprintf("\n%d: before place %d, stopped %v, finished %v, dead %v, target %v, over %v, told %d, asked %+v, tries %d;", n.id, n.next, n.stopped, n.finished, n.dead, n.w.target, n.w.over, n.w.sentTo, n.w.asked, n.w.tries)
		for p := range n.w.peers {
			text += fmt.Sprintf(" %d: %v %v", p, n.w.peers[p].target, n.w.peers[p].table)
		}
	}
	return text
}

func (n *watcher) moves() (all []func() error) {
	add := func(f func()) { all = append(all, func() error { f(); return nil }) }
	for from := range n.nodes {
		if q := n.words[from][n.id]; len(q) > 0 {
			add(func() {
				n.words[from][n.id] = q[1:]
				if q[0].finished {
					n.w.Finished(from)
				} else {
					n.receive(from, q[0].WatchWord)
					n.sends(n.w.Receive(from, q[0].WatchWord))
				}
				n.propose()
			})
		}
	}
	if n.handled < len(n.deaths) {
		if d := n.deaths[n.handled]; len(n.words[d][n.id]) == 0 {
			add(func() { n.handled++; n.w.Dead(d) })
		}
	}
	if n.crashes > 0 && n.live() > 1 && n.rng.IntN(25) == 0 {
		add(func() { n.crashes--; n.die() })
	}
	switch {
	case n.finished:
	case n.stopped:
		all = append(all, n.step)
	case n.next < len(n.course) && n.meets && n.ahead():
	case n.next < len(n.course):
		all = append(all, n.advance)
	default:
		add(n.finish)
	}
	if len(all) == 1 && n.stopped && !n.hashes { // the step only checks again
		if w := *n.w; n.waits(&w) {
			return nil
		}
	}
	return all
}

// ahead reports whether n has to wait for the results of a replica that is behind.
func (n *watcher) ahead() bool {
	return slices.ContainsFunc(n.nodes, func(o *watcher) bool { return !o.dead && !o.finished && o.next < n.next-1 })
}

func (n *watcher) receive(from int, w *WatchWord) {
	if w.Kind != WatchHashes {
		return
	}
	if n.got[w.Place] == nil {
		n.got[w.Place] = make(map[int]bool)
	}
	n.got[w.Place][from] = true
}

// waits reports whether the next step of a copy of w changes nothing.
func (n *watcher) waits(w *Watch) bool {
	step, _, out := w.Step()
	return step == WatchWait && len(out) == 0
}

func (n *watcher) propose() {
	if kind, wants := n.w.Wants(); wants && !n.finished {
		n.sends(n.w.Propose(Place{kind, n.reached[kind] + 1}))
	}
}

// advance moves the program to its next place.
func (n *watcher) advance() error {
	at := n.course[n.next]
	n.reached[at.Kind] = at.Number
	n.next++
	if n.w.Stops(at) {
		n.stopped, n.hashes = true, true
		return nil
	}
	if n.w.target.Number > 0 && n.w.target.Before(at) && n.w.target.Kind == at.Kind && !n.w.Over() {
		return fmt.Errorf("replica %d has passed the place %v at which all stop", n.id, n.w.target)
	}
	if at.Number%(1<<n.level) == 0 && n.w.Found() == nil {
		of := slices.Clone(n.content(n.next - 1))
		n.hashed[at] = true
		n.sends(n.w.Pass(at, of))
		n.level = n.rng.IntN(mostLevel + 1)
		n.propose()
	}
	return nil
}

// step performs the next step of the protocol for a replica that has stopped.
func (n *watcher) step() error {
	if n.hashes {
		n.hashes = false
		n.w.Stop(n.course[n.next-1], Table{append([]uint64{3}, n.content(n.next-1)...)})
		return nil
	}
	step, of, out := n.w.Step()
	n.sends(out)
	switch step {
	case WatchLeave:
		n.stopped = false
	case WatchGive:
		bytes := binary.LittleEndian.AppendUint64(nil, n.content(n.next - 1)[of.Block])
		n.send(of.Peer, watchedWord{WatchWord: &WatchWord{Kind: WatchBlock, Place: n.course[n.next-1], Item: of.Item, Block: of.Block, Bytes: bytes}})
	case WatchTell:
		return n.tell(of)
	}
	return nil
}

// tell checks that the report of n is true.
func (n *watcher) tell(of *Block) error {
	n.watching.reports = append(n.watching.reports, report{n.id, *n.w.Found(), of})
	at := n.course[n.next-1]
	if of != nil {
		mine, theirs := n.content(n.next - 1)[of.Block], binary.LittleEndian.Uint64(of.Bytes)
		if mine == theirs {
			return fmt.Errorf("replica %d reports a difference from %d at %v that does not exist", n.id, of.Peer, at)
		}
		if !n.wrong(n.next-1) && !n.nodes[of.Peer].wrong(n.next-1) {
			return fmt.Errorf("replica %d reports a difference from %d at %v, and both are right", n.id, of.Peer, at)
		}
	}
	for _, o := range n.nodes {
		if !o.dead && !o.finished && (!o.stopped || o.course[o.next-1] != at) && o.handled == len(o.deaths) && n.handled == len(n.deaths) {
			return fmt.Errorf("replica %d reports the difference at %v, but %d has not stopped there", n.id, at, o.id)
		}
	}
	if n.strict {
		n.ended = true
		return nil
	}
	n.sends(n.w.End())
	return nil
}

func (n *watcher) finish() {
	n.finished = true
	if f := n.w.Found(); f != nil && !n.w.Over() {
		n.watching.reports = append(n.watching.reports, report{n.id, *f, nil})
		n.ended = n.strict
	}
	for p := range n.nodes {
		n.send(p, watchedWord{finished: true})
	}
}

func (n *watcher) sends(all []Send) {
	for _, s := range all {
		n.send(s.To, watchedWord{WatchWord: s.Word})
	}
	if !n.finished {
		n.propose()
	}
}

func (n *watcher) send(p int, w watchedWord) {
	if p != n.id && !n.nodes[p].dead {
		n.words[n.id][p] = append(n.words[n.id][p], w)
	}
}

func (k *watching) live() (n int) {
	for _, x := range k.nodes {
		if !x.dead {
			n++
		}
	}
	return n
}

// die kills n. Its last messages to each other replica are lost.
func (n *watcher) die() {
	n.dead = true
	for p, w := range n.words[n.id] {
		n.words[n.id][p] = w[:n.rng.IntN(len(w)+1)]
	}
	for p := range n.nodes {
		n.words[p][n.id] = nil
	}
	n.watching.deaths = append(n.watching.deaths, n.id)
}

// join replaces a dead replica if all live ones are between the same two places, as in a
// cut.
func (k *watching) join() {
	var donor, dead *watcher
	for _, n := range k.nodes {
		switch {
		case n.dead:
			dead = n
		case donor == nil:
			donor = n
		case n.next != donor.next:
			return
		}
		if !n.dead && (n.handled < len(k.deaths) || n.finished || n.stopped) {
			return
		}
	}
	if dead == nil || donor == nil || k.joins == 0 {
		return
	}
	k.joins--
	dead.w, dead.dead, dead.next, dead.reached, dead.level, dead.handled = NewWatch(dead.id, len(k.nodes)), false, donor.next, donor.reached, 0, len(k.deaths)
	dead.finished, dead.hashes = false, false
	dead.replaced, dead.stopped, dead.hashed, dead.got = true, false, make(map[Place]bool), make(map[Place]map[int]bool)
	for _, o := range k.nodes {
		for _, from := range o.got {
			delete(from, dead.id)
		}
		switch {
		case o == dead:
		case o.dead:
			dead.w.Dead(o.id)
		default:
			o.sends(o.w.Alive(dead.id))
		}
	}
}

// missed returns an error if two replicas have both hashed a difference, and it was not
// found. Hashes that a replica sent before its death count.
func (k *watching) missed() error {
	for _, n := range k.nodes {
		for i, at := range k.course {
			for from := range n.got[at] {
				o := k.nodes[from]
				if !n.dead && !n.replaced && !o.replaced && n.hashed[at] && n.wrong(i) != o.wrong(i) && n.w.Found() == nil {
					return fmt.Errorf("replica %d has the hash of %d at %v, which differed, and nothing was found", n.id, o.id, at)
				}
			}
		}
		for _, o := range k.nodes {
			if n.id >= o.id || n.dead || o.dead || n.replaced || o.replaced || n.w.Found() != nil || o.w.Found() != nil {
				continue
			}
			for i, at := range k.course {
				if n.wrong(i) != o.wrong(i) && n.hashed[at] && o.hashed[at] {
					return fmt.Errorf("replicas %d and %d differed at %v, and nothing was found", n.id, o.id, at)
				}
				if at.Number%(1<<mostLevel) == 0 && (!n.hashed[at] || !o.hashed[at]) {
					return fmt.Errorf("replicas %d and %d have not both hashed %v", n.id, o.id, at)
				}
			}
		}
	}
	return nil
}
