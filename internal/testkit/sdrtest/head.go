package sdrtest

import (
	"bytes"
	"fmt"

	"github.com/intrahpc/intra/transport/sdr"
)

// Recovery makes a job take cuts at times that depend on the seed, replace replicas that
// died, and roll back to the last complete cut when a rank has lost all its replicas.
type Recovery struct {
	Cuts int // maximum number of cuts
	Rare int // mean number of steps between two cuts
}

// head is the oracle that plans the cuts. Its messages to and from the processes arrive in
// order, each after an arbitrary delay.
type head struct {
	run         *run
	phase       phase
	cut         uint64
	begun       int
	at          int // safe point of the cut
	closed      bool
	incarnation uint32
	waiting     map[*Process]bool // processes whose answers are awaited
	taken       []*snapshot       // per rank, at this cut
	backup      []*snapshot       // per rank, at the last complete cut
	joiners     []*Process
	joins       int
	rollbacks   int
	cancelled   int
	completed   int
	err         error
}

type phase uint8

const (
	idle     phase = iota
	counting       // the processes report how many safe points they have entered
	draining       // the processes reach the cut
	joining        // joiners start
	rolling        // all processes roll back to a cut
)

// snapshot is the state with which a process begins at a cut.
type snapshot struct {
	safe     int
	position []byte
	state    []byte // of the program
	record   *Record
}

type orderKind uint8

const (
	ask orderKind = iota
	cutAt
	cancel
	goOn
	rollBack
)

// order is a message from the head to a process.
type order struct {
	kind     orderKind
	verdicts int // number of deaths reported before it
	cut      uint64
	at       int
	joined   []sdr.Joiner
	back     *start
}

// start describes how a process begins at a cut.
type start struct {
	incarnation uint32
	from        *snapshot  // the snapshot of its rank
	roster      []*Process // live processes
	join        bool       // the process joins others that have not rolled back and keep their incarnations; otherwise all have incarnation
}

// word is a message from a process to the head.
type word struct {
	kind  orderKind // ask: the count; cutAt: drained; goOn: ready; cancel: the program has returned
	cut   uint64
	count int
	taken *snapshot
	back  *start
}

func newHead(r *run) *head {
	h := &head{run: r, waiting: make(map[*Process]bool), taken: make([]*snapshot, len(r.job.Degrees))}
	for _, p := range r.processes {
		p.cuts.member = true
	}
	return h
}

// live yields the live processes; with members set, only those that communicate.
func (h *head) live(members bool) []*Process {
	var list []*Process
	for _, p := range h.run.processes {
		if !p.Killed && (p.cuts.member || !members) {
			list = append(list, p)
		}
	}
	return list
}

func (h *head) tell(p *Process, o order) {
	o.verdicts = len(h.run.dead)
	p.cuts.orders = append(p.cuts.orders, o)
}

// expect sends an order to all of list, and waits for their answers.
func (h *head) expect(list []*Process, o order) {
	clear(h.waiting)
	for _, p := range list {
		h.waiting[p] = true
		h.tell(p, o)
	}
}

// quiet reports whether no message is under way.
func (h *head) quiet() bool {
	if h.phase != idle {
		return false
	}
	for _, p := range h.run.processes {
		if !p.Killed && len(p.cuts.orders)+len(p.cuts.words) > 0 {
			return false
		}
	}
	return true
}

// choices lists the possible next events between the head and the processes.
func (h *head) choices(list []func()) []func() {
	rec := h.run.job.Recovery
	if h.phase == idle && !h.closed && h.begun < rec.Cuts && h.run.random.IntN(rec.Rare) == 0 {
		list = append(list, h.begin)
	}
	if (h.phase == counting || h.phase == draining) && h.run.random.IntN(40*rec.Rare) == 0 {
		list = append(list, h.cancel)
	}
	for _, p := range h.run.processes {
		if p.Killed {
			continue
		}
		if p.ordered() {
			list = append(list, p.obey)
		}
		if len(p.cuts.words) > 0 {
			list = append(list, func() { h.receive(p) })
		}
	}
	return list
}

func (h *head) begin() {
	h.begun++
	h.cut++
	h.phase, h.at = counting, 0
	clear(h.taken)
	h.expect(h.live(true), order{kind: ask, cut: h.cut})
}

func (h *head) cancel() {
	h.cancelled++
	h.phase = idle
	clear(h.waiting)
	for _, p := range h.live(true) {
		h.tell(p, order{kind: cancel, cut: h.cut})
	}
}

// receive handles a message from p.
func (h *head) receive(p *Process) {
	w := p.cuts.words[0]
	p.cuts.words = p.cuts.words[1:]
	switch {
	case w.kind == cancel:
		h.closed = true
		if h.phase == counting || h.phase == draining {
			h.cancel()
		}
		return
	case w.kind == goOn:
		if !h.waiting[p] || w.back != p.cuts.latest {
			return
		}
	case w.cut != h.cut || !h.waiting[p]:
		return
	case w.kind == ask:
		h.at = max(h.at, w.count+1)
	case w.kind == cutAt:
		h.take(p, w.taken)
	}
	delete(h.waiting, p)
	h.advance()
}

// take records the snapshot of p at the cut. All replicas of a rank must have the same position and
// state.
func (h *head) take(p *Process, s *snapshot) {
	other := h.taken[p.Rank]
	if other != nil && (!bytes.Equal(other.position, s.position) || !bytes.Equal(other.state, s.state)) && h.err == nil {
		h.err = fmt.Errorf("cut %d: %v has another position than a replica of its rank", h.cut, p)
	}
	h.taken[p.Rank] = s
}

// advance begins the next phase when all answers have arrived.
func (h *head) advance() {
	if len(h.waiting) > 0 {
		return
	}
	switch h.phase {
	case counting:
		h.phase = draining
		h.expect(h.live(true), order{kind: cutAt, cut: h.cut, at: h.at})
	case draining:
		h.phase = joining
		h.completed++
		if h.backup == nil || h.run.random.IntN(2) == 0 {
			h.backup = append([]*snapshot(nil), h.taken...)
		}
		h.joiners = nil
		h.incarnation++
		for _, slot := range h.vacant() {
			if h.run.random.IntN(4) > 0 {
				p := h.run.joiner(slot[0], slot[1], &start{incarnation: h.incarnation, from: h.taken[slot[0]], roster: h.live(true), join: true})
				p.startAt(p.cuts.latest)
				h.joiners = append(h.joiners, p)
				h.waiting[p] = true
			}
		}
		h.advance()
	case joining:
		h.phase = idle
		var joined []sdr.Joiner
		for _, p := range h.joiners {
			if !p.Killed {
				p.cuts.member = true
				h.joins++
				joined = append(joined, sdr.Joiner{Rank: p.Rank, Replica: p.Replica, Incarnation: p.cuts.incarnation})
			}
		}
		for _, p := range h.live(true) {
			h.tell(p, order{kind: goOn, cut: h.cut, joined: joined})
		}
	case rolling:
		h.phase = idle
		for _, p := range h.live(false) {
			p.cuts.member = true
			h.tell(p, order{kind: goOn})
		}
	}
}

// vacant lists the slots whose process is dead.
func (h *head) vacant() (slots [][2]int) {
	for rank, d := range h.run.job.Degrees {
		for k := range d {
			if h.run.process(rank, k).Killed {
				slots = append(slots, [2]int{rank, k})
			}
		}
	}
	return slots
}

// mayLose reports whether a rank may lose its last replica.
func (h *head) mayLose() bool { return h != nil && h.backup != nil }

// died handles the death of p.
func (h *head) died(p *Process) {
	if h == nil {
		return
	}
	p.cuts.orders, p.cuts.words = nil, nil
	delete(h.waiting, p)
	left := make([]bool, len(h.run.job.Degrees))
	for _, q := range h.live(h.phase != rolling) {
		left[q.Rank] = true
	}
	for _, ok := range left {
		if !ok {
			h.rollBack()
			return
		}
	}
	if h.phase != idle {
		h.advance()
	}
}

// rollBack sends all processes back to the last complete cut.
func (h *head) rollBack() {
	h.rollbacks++
	h.phase, h.closed = rolling, false
	h.cut++ // answers about the last cut are void
	h.incarnation++
	clear(h.waiting)
	back := func(rank int) *start { return &start{incarnation: h.incarnation, from: h.backup[rank]} }
	roster := h.live(false)
	survivors := len(roster)
	var all []*start
	left := make([]bool, len(h.run.job.Degrees))
	for _, p := range roster {
		left[p.Rank] = true
		b := back(p.Rank)
		all = append(all, b)
		p.cuts.latest = b
		h.tell(p, order{kind: rollBack, back: b})
	}
	slots := h.vacant()
	h.run.random.Shuffle(len(slots), func(i, j int) { slots[i], slots[j] = slots[j], slots[i] })
	for _, slot := range slots {
		if rank := slot[0]; !left[rank] || h.run.random.IntN(2) == 0 {
			left[rank] = true
			b := back(rank)
			all = append(all, b)
			roster = append(roster, h.run.joiner(rank, slot[1], b))
		}
	}
	for i, p := range roster {
		all[i].roster = roster
		h.waiting[p] = true
	}
	for _, p := range roster[survivors:] {
		p.startAt(p.cuts.latest)
	}
}
