package recovery

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/job"
)

// record holds, in order, the decisions that were kept. It outlives the heads of a
// cluster. One head at a time adds to it.
type record struct {
	snapshot Snapshot
	spares   int // processes that wait without a slot
	keeping  []entry
	waits    bool              // the head waits until a decision is kept, and handles no event before
	events   []func() []Action // events that the head has yet to handle
	deaths   []*proc           // by epoch, from 1: the deaths

	unwanted map[job.Endpoint]bool // joiners that were dismissed

	publishing []Action          // sets that the driver is completing
	whole      map[uint64]bool   // sets of which every rank has written its file
	ended      map[uint64]string // outcomes of sets

	heads     int  // number of heads still to be lost
	lostHeads int  // number of heads lost so far
	hasty     bool // heads are lost in the middle of other events

	// A test breaks one of these rules.
	unkept     DecisionKind  // kind of decision that is not kept
	unrepeated job.OrderKind // kind of order that a successor does not repeat
	unsaid     job.ReplyKind // kind of reply that agents do not repeat
	twice      job.OrderKind // kind of order that agents pass on twice
}

// entry is a decision that is being kept: its effect on the record, and the
// actions that follow.
type entry struct{ kept, then func() }

func (c *cluster) keep(kept, then func()) {
	c.keeping = append(c.keeping, entry{kept, then})
}

// recorded lists the possible events of the record.
func (c *cluster) recorded() (all []func()) {
	if len(c.keeping) > 0 {
		all = append(all, func() {
			e := c.keeping[0]
			c.keeping = c.keeping[1:]
			e.kept()
			if c.heads > 0 && c.rng.IntN(20) == 0 { // the decision is kept, but the head is lost before it acts on it
				c.succeed()
				return
			}
			e.then()
		})
	}
	if len(c.publishing) > 0 {
		all = append(all, func() {
			set := c.publishing[0].Set
			c.publishing = c.publishing[1:]
			c.ended[set] = "complete"
			c.keep(func() { c.snapshot.End(set) }, func() {
				c.tell(func() []Action { c.head.sets.Published(set, true); return nil })
			})
		})
	}
	if c.spares > 0 && c.crashes > 0 && c.rng.IntN(200) == 0 {
		all = append(all, func() {
			c.crashes--
			c.spares--
			c.seen["death spare"]++
			c.tell(func() []Action { return c.head.SpareGone(c.now) })
		})
	}
	return all
}

// tell passes an event to the head, as soon as no decision is being kept.
func (c *cluster) tell(event func() []Action) {
	if c.waits {
		c.seen["an event waits"]++
	}
	c.events = append(c.events, event)
	c.catchUp()
}

func (c *cluster) catchUp() {
	for !c.waits && len(c.events) > 0 {
		event := c.events[0]
		c.events = c.events[1:]
		acts := event()
		c.knowsHolders()
		c.apply(acts)
	}
}

// knowsHolders checks that the head knows exactly those holders of copies of
// the last backup that were reported to a head.
func (c *cluster) knowsHolders() {
	if c.head.over {
		return
	}
	for b := range c.head.backups.each() {
		if b != c.head.backups.attempt {
			c.knowsHoldersOf(b)
		}
	}
}

func (c *cluster) knowsHoldersOf(b *backup) {
	for rank, copies := range b.copies {
		for _, k := range copies {
			if q := c.find(k.process, k.incarnation); k.stored && !q.dead && !q.holds(rank, b.number) {
				c.fail("the head believes that %v#%d holds the backup %d of rank %d", q.p, q.incarnation, b.number, rank)
			}
		}
		for _, q := range c.procs {
			if q.declared || !q.repeated || !q.reported[copyOf{rank, b.number}] || !q.holds(rank, b.number) {
				continue
			}
			if !slices.ContainsFunc(b.stored(rank), func(k holder) bool { return k.process == q.p && k.incarnation == q.incarnation }) {
				c.fail("the head does not know that %v#%d holds the backup %d of rank %d", q.p, q.incarnation, b.number, rank)
			}
		}
	}
}

// apply carries out actions of the head.
func (c *cluster) apply(acts []Action) {
	for i, a := range acts {
		q := c.find(a.To, a.Incarnation)
		switch a.Kind {
		case Send:
			c.seen["order "+string(a.Order.Kind)]++
			q.toAgent = append(q.toAgent, a.Order)
			switch a.Order.Kind {
			case job.OrderAdmit, job.OrderRollback:
				q.member = true
			case job.OrderComplete:
				c.complete = a.Order.Number
			case job.OrderResume:
				c.rolling = false
			}
		case Start, Relieve:
			c.start(a)
		case Connect:
			for _, p := range a.Peers {
				o := c.find(p.Process, p.Incarnation)
				if o.declared {
					continue // the process is dead, but the head does not know that yet
				}
				o.toAgent = append(o.toAgent, connected{q})
				q.toAgent = append(q.toAgent, connected{o}) // the head receives it at another time
			}
		case Dismiss:
			if q != nil {
				q.dead = true
			}
			c.unwanted[job.Endpoint{Process: a.To, Incarnation: a.Incarnation}] = true
			c.seen["dismissed"]++
		case Later:
			c.later = append(c.later, c.now+a.Pause)
			c.seen["requested again later"]++
		case Keep:
			if a.Decision.Kind == c.unkept {
				continue
			}
			c.checkTargets(a.Decision)
			c.waits = true
			var void []job.Endpoint
			c.keep(func() { void = c.decide(*a.Decision) }, func() {
				c.waits = false
				c.apply(acts[i+1:])
				if relieves(a.Decision.Joined) || len(a.Decision.Departed) > 0 {
					c.tellDeaths()
					c.events = slices.Insert(c.events, 0, func() []Action { return c.head.Admitted(void, c.now) })
				}
				c.catchUp()
			})
			return
		case Publish:
			c.keep(func() {
				c.snapshot.Wrote(a.Set, a.Files)
				c.whole[a.Set] = true
			}, func() { c.publish(a) })
		case Abandon:
			c.keep(func() {
				c.snapshot.End(a.Set)
				if c.ended[a.Set] == "complete" {
					c.fail("set %d is complete and given up", a.Set)
				}
				c.ended[a.Set] = "given up"
				c.seen["abandoned"]++
			}, func() {})
		case Lose:
			c.lost = a.Loss.Why
			if c.possible() && !c.noProcess() {
				c.fail("gave up (%v) although every rank has a live replica or a complete backup", a.Loss)
			}
		}
	}
}

// renews checks that every copy for which the head waits is in flight, because no process
// would send it again. It checks only while no report of a death is on its way to the
// head.
func (c *cluster) renews() {
	h := c.head
	if c.waits || len(c.events) > 0 || h.over || h.back.phase != none || slices.ContainsFunc(c.procs, func(q *proc) bool { return q.dead && !q.declared }) {
		return
	}
	for b := range h.backups.each() {
		for rank, copies := range b.copies {
			for _, k := range copies {
				if q := c.find(k.process, k.incarnation); !k.stored && !c.comes(q, rank, b.number) {
					c.fail("the head waits for %v#%d to hold the backup %d of rank %d, and no process sends it", q.p, q.incarnation, b.number, rank)
				}
			}
		}
	}
}

// comes reports whether q is about to store a copy, or to report one.
func (c *cluster) comes(q *proc, rank int, number uint64) bool {
	said := func(w any) bool {
		r, ok := w.(job.Reply)
		return ok && r.Kind == job.ReplyStored && r.Rank == rank && r.Number == number
	}
	if slices.ContainsFunc(q.says, said) || slices.ContainsFunc(q.toHead, said) || slices.ContainsFunc(c.data, func(d *packet) bool {
		return d.to == q && d.kind == "slot" && d.rank == rank && d.slot.number == number
	}) {
		return true
	}
	for _, from := range c.procs {
		copied := func(p job.Copy) bool { return p.Source == from.p && (from == q || p.Holder == q.p) }
		ordered := func(w any) bool {
			o, ok := w.(job.Order)
			return ok && o.Number == number && (o.Kind == job.OrderRenew && o.Rank == rank && o.Process == q.p ||
				o.Kind == job.OrderGo && from.p.Rank == rank && slices.ContainsFunc(o.Plan, copied))
		}
		if from.declared {
			continue
		}
		if slices.ContainsFunc(from.toAgent, ordered) || slices.ContainsFunc(from.orders, ordered) ||
			from.m.at == number && !from.m.copied && from.p.Rank == rank && slices.ContainsFunc(from.m.plan, copied) {
			return true
		}
	}
	return false
}

// decide applies a decision, after encoding and decoding it. It returns the joiners for
// which the decision is void.
func (c *cluster) decide(d Decision) (void []job.Endpoint) {
	c.seen["decision "+string(d.Kind)]++
	b, err := json.Marshal(d)
	if err != nil {
		c.fail("%v", err)
	}
	var again Decision
	if err := json.Unmarshal(b, &again); err != nil {
		c.fail("%v", err)
	}
	if d.Kind == RolledBack && !d.Disputed && d.Blamed == nil && !c.rolling && c.everyRank() {
		c.fail("the job rolls back to %d although every rank has a live replica", d.Number)
	}
	if d.Kind == Admitted {
		void = c.letGo(d.Departed)
	}
	c.snapshot.Apply(again)
	if d.Kind == Admitted {
		void = append(void, c.handOver(d.Joined)...)
	}
	if (d.Kind == Left || d.Kind == Resumed) && !d.Entire && c.sampled == 0 {
		c.sampled = d.Number
	}
	switch d.Kind {
	case Complete:
		c.complete = d.Number
	case RolledBack:
		c.rolling, c.complete = true, d.Number
		if f := c.defect; d.Blamed != nil && f != nil {
			if f.decided = true; d.Number > f.since && d.Number > c.sampled {
				c.fail("the job rolls back to %d, although %v erred since %d", d.Number, d.Blamed.Process, f.since)
			}
		}
		for _, q := range c.procs {
			maps.DeleteFunc(q.reported, func(k copyOf, _ bool) bool { return k.number > d.Number })
		}
	case Resumed:
		c.rolling = false
	}
	return void
}

// start gets a process for a slot: a spare if there is one.
func (c *cluster) start(a Action) {
	refused := func() {
		c.tell(func() []Action { return c.head.Refused(a.To, a.Incarnation, "no free slot", true, c.now) })
	}
	switch {
	case c.spares == 0 && !c.head.config.Start: // the last spare has died
		refused()
		return
	case c.refusals > 0 && c.rng.IntN(4) == 0:
		c.refusals--
		if c.spares > 0 {
			c.spares--
		}
		refused()
		return
	}
	c.keep(func() {
		c.spares = max(0, c.spares-1)
		if a.Kind == Relieve {
			c.placeRelief(a.To, a.Incarnation)
			return
		}
		c.snapshot.Placed(a.To, a.Incarnation)
	}, func() { c.begin(a.To, a.Incarnation) })
}

// begin starts the process of an incarnation.
func (c *cluster) begin(p job.Process, incarnation uint32) {
	if c.lostHeads > 0 {
		c.seen["replaced under a successor"]++
	}
	q := c.newProc(p, incarnation)
	q.relieves = c.snapshot.Reliefs[p] == incarnation
	q.waits, q.dead = true, c.unwanted[job.Endpoint{Process: p, Incarnation: incarnation}]
	q.m = NewMember(p, 0, 0)
	setup := job.Message{Kind: job.KindSetup}
	if c.broken != oldVerdicts {
		setup.Epoch = uint64(len(c.deaths))
	}
	q.log.Pass(&setup)
	q.says = append(q.says, hello{})
}

// declare keeps the decision that q is dead.
func (c *cluster) declare(q *proc) {
	q.dying = true
	relieved := false // the decision that a joiner relieves it was kept first
	c.keep(func() {
		if relieved = q.declared; relieved {
			return
		}
		q.declared = true
		c.snapshot.Died(q.p, q.incarnation, q.itself, c.now)
		c.deaths = append(c.deaths, q)
		c.replaced(q.p)
	}, func() {
		if relieved {
			return
		}
		c.tellDeaths()
		c.tell(func() []Action { return c.head.Died(q.p, q.incarnation, q.itself, c.now) })
	})
}

// tellDeaths informs all processes of all deaths. Agents pass on only those that are new
// to the process.
func (c *cluster) tellDeaths() {
	for _, q := range c.procs {
		if !q.dead {
			for i, d := range c.deaths {
				if i+1 > q.verdicts {
					q.toAgent = append(q.toAgent, died{d, uint64(i + 1)})
				}
			}
			q.verdicts = len(c.deaths)
		}
	}
}

// refuse makes the start of a process fail.
func (c *cluster) refuse(q *proc) {
	c.refusals--
	q.dead, q.dying, q.says = true, true, nil
	c.keep(func() {
		q.declared = true
		c.snapshot.Withdrawn(q.p, q.incarnation, c.now)
		c.deaths = append(c.deaths, q)
	}, func() {
		c.tellDeaths()
		c.tell(func() []Action { return c.head.Refused(q.p, q.incarnation, "too many open files", false, c.now) })
	})
}

// succeed replaces the head by a successor. The last messages of the lost head, and the
// last decisions that it was keeping, are lost. Agents repeat their reports.
func (c *cluster) succeed() {
	c.heads--
	defer func() { c.lostHeads++ }()
	c.seen["a head is lost"]++
	c.lostIn()
	for range c.rng.IntN(len(c.keeping) + 1) { // these decisions were kept, but no process knows of them
		c.keeping[0].kept()
		c.keeping = c.keeping[1:]
	}
	if len(c.keeping) > 0 {
		c.seen["a decision is lost"]++
	}
	for c.crashes > 0 && c.rng.IntN(4) == 0 { // processes on the host of the head die with it
		c.crash()
		c.seen["death with the head"]++
	}
	c.keeping, c.publishing, c.events, c.later, c.waits = nil, nil, nil, nil, false
	for _, q := range c.procs {
		q.dying = false
		if q.declared {
			continue
		}
		q.toAgent = q.toAgent[:c.rng.IntN(len(q.toAgent)+1)] // the other messages were in flight
		q.verdicts = 0
		q.finishing, q.repeated = false, false
		q.toHead = nil
		if q.dead && c.rng.IntN(2) == 0 { // the agent of a process on the host of the head is lost, too
			q.says = nil
			continue
		}
		q.repeat()
		if c.broken == noMarker {
			q.toHead = append([]any{repeated{}}, q.toHead...)
		} else {
			q.toHead = append(q.toHead, repeated{})
		}
	}
	config := c.head.config
	config.Spares, config.Targets = c.spares, c.targets
	var acts []Action
	c.head, acts = Resume(config, c.again(), c.now)
	c.tellDeaths()
	acts = slices.DeleteFunc(acts, func(a Action) bool { return a.Kind == Send && a.Order.Kind == c.unrepeated })
	for _, p := range job.Processes(config.Degrees) {
		if at := c.snapshot.place(p); at.Status == Joining && c.find(p, at.Incarnation) == nil {
			c.seen["an incarnation is carried out by a successor"]++
			c.begin(p, at.Incarnation)
		}
		if next := c.snapshot.Reliefs[p]; next > 0 && c.find(p, next) == nil {
			c.begin(p, next)
		}
	}
	c.apply(acts)
	for _, q := range c.procs {
		if q.leaves && !q.declared {
			c.tell(func() []Action { return c.head.Leave(q.p, q.incarnation, c.now) })
		}
	}
}

// again returns the snapshot as another head reads it.
func (c *cluster) again() (p Snapshot) {
	b, err := json.Marshal(c.snapshot)
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		c.fail("%v", err)
	}
	return p
}

// lostIn counts, by the activity of the head, how often a head was lost.
func (c *cluster) lostIn() {
	h := c.head
	for what, is := range map[string]bool{
		"while files are written":     h.sets.saving.set > 0,
		"while a backup is stored":    h.backups.attempt != nil,
		"with a backup":               h.backups.complete != nil,
		"while asking":                h.cut.phase == asking,
		"while draining":              h.cut.phase == draining,
		"while admitting":             h.cut.phase == admitting,
		"before a rollback":           h.back.phase == replacing && !h.back.begun,
		"in a rollback":               h.back.phase == restoring,
		"in a rollback that failed":   h.back.phase == replacing && h.back.begun,
		"after a rollback":            h.generation > 0 && h.back.phase == none,
		"after a process has joined":  slices.ContainsFunc(h.replicas.slots, func(s *replica) bool { return s.incarnation > 1 && s.alive() }),
		"while a process joins":       slices.ContainsFunc(h.replicas.slots, func(s *replica) bool { return s.status == starting || s.status == arrived }),
		"after a process finished":    h.rest,
		"again":                       c.lostHeads > 0,
		"while a process is relieved": len(h.replicas.reliefs) > 0,
		"after a process was let go":  c.seen["let go"] > 0,
	} {
		if is {
			c.seen["head lost "+what]++
		}
	}
}
