package simulation

import (
	"slices"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// witness records which state can be recovered, from the log and from the reports that the
// head has received. While a decision about recovery is being kept, the head handles no
// report. Until then the effect of a report is uncertain.
type witness struct {
	complete uint64                   // the last complete backup
	rolling  bool                     // some processes may have left their generation for a rollback
	tries    map[job.Process]int      // by slot: number of processes that were requested and have not become live
	refused  bool                     // a process could not be started
	holds    map[*process][]witnessed // copies whose reports were sent to the head
	unsure   []*process               // processes with reported copies, of which the head may not have handled all reports
	dying    []*process               // declared dead, but the head may not have handled that yet
	planned  uint64                   // the last backup that was begun
	cut      uint64                   // cut at which all processes are to stop
	given    map[*process]gave        // joiners that get their states in this cut
	set      uint64                   // set of files that is being written
	savers   map[*process]bool        // processes that write it and have not reported the result
	promised map[job.Process]bool     // spares, by name, that get a slot once the decision about it is kept
}

// gave is a state that is being sent in a cut.
type gave struct {
	number uint64
	by     *process
}

// witnessed is a copy of the state of a rank.
type witnessed struct {
	rank       int
	number     uint64
	generation uint32 // generation of the report
	sure       bool   // the head has handled the report
}

func newWitness() witness {
	return witness{tries: make(map[job.Process]int), holds: make(map[*process][]witnessed), given: make(map[*process]gave), savers: make(map[*process]bool), promised: make(map[job.Process]bool)}
}

// succeed keeps only the deaths, because the new head has received no other reports.
func (t *witness) succeed(*leader) {
	clear(t.holds)
	clear(t.given)
	clear(t.promised)
	for _, p := range t.dying {
		p.known = true
	}
	t.unsure, t.dying, t.planned, t.cut = nil, nil, 0, 0
}

// record records a report to the head.
func (t *witness) record(l *leader, p *process, r *job.Reply) {
	c := witnessed{generation: r.Generation}
	switch r.Kind {
	case job.ReplySaved:
		if r.Set == t.set {
			delete(t.savers, p)
		}
		return
	case job.ReplyStored:
		c.rank, c.number = r.Rank, r.Number
	case job.ReplyReady: // the process has the state of the last backup, unless another one was completed since
		if c.rank, c.number = p.self.Rank, t.complete; r.Generation <= l.state.Recovery.Taken {
			return
		}
	default:
		return
	}
	t.holds[p] = append(t.holds[p], c)
	t.unsure = append(t.unsure, p)
}

// catchUp records that the head has handled all reports, unless a decision is being kept.
func (l *leader) catchUp() {
	t := &l.truth
	if l.head == nil || l.deciding > 0 {
		return
	}
	for _, p := range t.unsure {
		for i := range t.holds[p] {
			c := &t.holds[p][i]
			c.sure = c.sure || c.generation == l.state.Recovery.Generation && l.lives(p)
		}
	}
	t.unsure = t.unsure[:0]
	for _, p := range t.dying {
		p.known = true
		if t.set > 0 && t.savers[p] && !l.over {
			l.w.fail("%v has died before it wrote its file, but set %d is not abandoned", p, t.set)
		}
	}
	t.dying = t.dying[:0]
}

// lives reports whether a process has its state, and was not declared dead.
func (l *leader) lives(p *process) bool {
	if p.declared || p.role == head.Spare && p.self == p.from.ID {
		return false
	}
	at, ok := l.state.Recovery.Places[p.self]
	return !ok && p.birth == firstLife || ok && at.Incarnation == p.birth && (at.Status == recovery.Lives || at.Status == recovery.Ended)
}

// alive counts the replicas of a rank that have their state and were not declared
// dead.
func (l *leader) alive(rank int) (n int) {
	for replica := range l.w.spec.degrees[rank] {
		at, ok := l.state.Recovery.Places[job.Process{Rank: rank, Replica: replica}]
		if !ok || at.Status == recovery.Lives || at.Status == recovery.Ended {
			n++
		}
	}
	return n
}

// kept records the effects of an entry that is now in the log.
func (t *witness) kept(l *leader, e decision.Entry) {
	switch e.Kind {
	case decision.Placed:
		if e.Incarnation > firstLife && !e.Spare && !e.Relieves {
			t.tries[e.Process]++
		}
		return
	case decision.Recovery:
	default:
		return
	}
	d := e.Recovery
	switch d.Kind {
	case recovery.Admitted:
		t.join(l, d.Joined)
		for _, j := range d.Joined {
			delete(t.tries, j.Process)
		}
	case recovery.Left:
		if d.Set > 0 {
			t.set = d.Set
			clear(t.savers)
			for rank, replica := range d.Savers {
				t.savers[l.w.holders[l.holder(job.Process{Rank: rank, Replica: replica})]] = true
			}
		}
	case recovery.Complete:
		t.complete = d.Number
	case recovery.RolledBack:
		t.join(l, d.Joined)
		t.rolling = true
		t.planned, t.set, t.cut = 0, 0, 0
		clear(t.given)
	case recovery.Resumed:
		t.rolling = false
		clear(t.tries)
	}
}

// join makes joiners live.
func (t *witness) join(l *leader, joined []recovery.Joined) {
	for _, j := range joined {
		if p := l.w.holders[endpoint(j.Process, j.Incarnation)]; p != nil {
			delete(t.given, p)
			l.w.seen["joined"]++
		}
	}
}

// holder returns the endpoint of the process in a slot.
func (l *leader) holder(p job.Process) job.Endpoint {
	return endpoint(p, l.state.Places[p].Incarnation)
}

// recipient returns the endpoint of the process that gets the state of a slot.
func (l *leader) recipient(p job.Process) job.Endpoint {
	if at, ok := l.state.Reliefs[p]; ok {
		return endpoint(p, at.Incarnation)
	}
	return l.holder(p)
}

// foresee checks that an entry may be proposed.
func (l *leader) foresee(e decision.Entry) {
	t := &l.truth
	switch e.Kind {
	case decision.Placed:
		if e.Incarnation > firstLife && !e.Spare {
			t.promised[e.ID] = true
		}
	case decision.SetWhole, decision.SetAbandoned:
		t.set = 0
	case decision.Decided:
		l.judge(e)
		l.over = true
	case decision.Released:
		l.over = true
	case decision.Recovery:
		if d := e.Recovery; d.Kind == recovery.Complete {
			for rank := range l.w.spec.degrees {
				if l.copies(rank, d.Number, false) == 0 {
					l.w.fail("backup %d is reported complete, but no process holds the state of rank %d", d.Number, rank)
				}
			}
		}
	}
}

// sends records a message of the head, and checks that the head may send it.
func (l *leader) sends(a head.Send) {
	m := a.Message
	to := l.at[a.To]
	if m.Kind == job.KindRelease && !l.state.Released {
		l.w.seen["dismissed"]++
		delete(l.truth.given, to) // its rank has enough replicas
	}
	if m.Kind != job.KindOrder || to == nil {
		return
	}
	t, w, o := &l.truth, l.w, m.Order
	switch o.Kind {
	case job.OrderTransfer:
		t.given[w.holders[l.recipient(o.Process)]] = gave{o.Number, to}
	case job.OrderCutAt:
		w.noteAhead(*o)
		t.cut = o.Number
	case job.OrderCancel:
		t.cut = 0
		clear(t.given)
	case job.OrderGo:
		if o.Number >= t.cut {
			t.cut = 0
		}
		for q, g := range t.given {
			if g.number == o.Number && !q.declared && !g.by.declared {
				w.fail("%v gets its state from %v in cut %d, which ends without it", q, g.by, o.Number)
			}
		}
		clear(t.given)
		if len(o.Plan) > 0 {
			t.planned = o.Number
		}
	}
}

// kills checks that a process may be killed. For a broken link, it must not be the last process of
// its rank, or the job must be able to recover without it.
func (l *leader) kills(a head.Kill) {
	w, p := l.w, l.at[a.To]
	switch {
	case p == nil || p.dead || p.left || !l.lives(p): // the job does not need a joiner
		return
	case l.state.Released:
		w.fail("%v has to be killed, because it does not end when it is released", p)
	case l.over:
		return
	case l.mayFence(p):
		w.seen["a process that leaves is killed"]++
		return
	}
	why := false
	for _, r := range w.broken {
		why = why || r.p == p || r.q == p
	}
	if !why {
		w.fail("%v is killed, but none of its links broke", p)
	}
	w.seen["an end of a link is killed"]++
	if l.alive(p.self.Rank) == 1 {
		w.seen["a link between last replicas is broken"]++
		if !l.survives(p) {
			w.fail("%v is killed because of a broken link, and a backup is lost with it", p)
		}
	}
}

// publishes checks the files of a set that will be made complete.
func (l *leader) publishes(a head.Publish) {
	d := l.w.disk
	if d.given[a.Set.Number] {
		l.w.fail("set %d was abandoned and is made complete", a.Set.Number)
	}
	for rank := range l.w.spec.degrees {
		if f := d.sets[a.Set.Number][rank]; f == nil || f.cut != a.Set.Cut {
			l.w.fail("set %d of cut %d is made complete, and rank %d has %+v", a.Set.Number, a.Set.Cut, rank, f)
		}
	}
}

// passes checks that a process may continue beyond a safe point.
func (l *leader) passes(p *process, point uint64) {
	if p.departed {
		l.w.fail("%v passes safe point %d, but it has left its slot", p, point)
	}
	if l.truth.cut > 0 && point >= l.truth.cut && p.member.Generation() == l.state.Recovery.Generation {
		l.w.fail("%v passes safe point %d, but the cut is at %d", p, point, l.truth.cut)
	}
}

// copies counts the live processes that hold the state of a rank in a backup. sure counts
// only processes of which the head knows; otherwise those of which it may know count, too.
func (l *leader) copies(rank int, number uint64, sure bool) (n int) {
	for p, list := range l.truth.holds {
		if p.known || sure && p.declared {
			continue
		}
		for _, c := range list {
			if _, held := p.slots.Get(rank, number); held && c.rank == rank && c.number == number && (c.sure || !sure) {
				n++
				break
			}
		}
	}
	return n
}

// survives reports whether other processes than v hold all of the backup.
func (l *leader) survives(v *process) bool {
	was := v.known
	v.known = true
	defer func() { v.known = was }()
	for rank := range l.w.spec.degrees {
		if l.copies(rank, l.truth.complete, false) == 0 {
			return false
		}
	}
	return l.truth.complete > 0
}

// room reports whether some host that is neither lost nor about to leave has a free slot. Only
// hosts that have joined have few.
func (l *leader) room() bool {
	return slices.ContainsFunc(l.w.nodes, func(id detect.ID) bool {
		if l.w.lost[id] || l.state.Leaves(id) {
			return false
		}
		used := 0
		for _, p := range l.w.processes {
			if p.from.Node == id && !p.exited {
				used++
			}
		}
		g := l.w.guest(id)
		return g == nil || used < g.slots
	})
}

// exhausted reports whether no further process is possible for some slot.
func (l *leader) exhausted() bool {
	if l.truth.refused || l.tooFewSpares() || !l.room() {
		return true
	}
	for _, n := range l.truth.tries {
		if n >= 3 {
			return true
		}
	}
	return false
}
