package recovery

import (
	"fmt"
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// moves lists the possible moves of a process.
func (q *proc) moves() []func() {
	c := q.c
	var all []func()
	switch {
	case len(q.toHead) > 0:
		all = append(all, q.deliver)
	case q.dead && !q.declared && !q.dying && len(q.says) == 0:
		all = append(all, func() { c.declare(q) })
	}
	if len(q.says) > 0 {
		all = append(all, q.note)
	}
	if q.dead {
		return all
	}
	if len(q.writing) > 0 {
		all = append(all, q.written)
	}
	if len(q.toAgent) > 0 {
		all = append(all, q.passOn)
	}
	if len(q.orders) > 0 {
		all = append(all, q.order)
	}
	if len(q.log.Repeat(0)) == 0 && c.refusals > 0 && q.incarnation > 1 && c.rng.IntN(4) == 0 {
		all = append(all, func() { c.refuse(q) })
	}
	switch {
	case q.ret.Pending():
		if f := q.goBack(); f != nil {
			all = append(all, f)
		}
	case q.waits:
	case q.done:
		if !q.drained && q.received() {
			all = append(all, func() {
				q.drained = true
				q.says = append(q.says, drainedWord{})
			})
		}
	case q.inPt:
		if f := q.safePoint(); f != nil {
			all = append(all, f)
		}
	default:
		if f := q.pass(); f != nil {
			all = append(all, f)
		}
	}
	return all
}

// received reports whether every message of q has arrived.
func (q *proc) received() bool {
	c := q.c
	for _, o := range c.procs {
		if o.p.Rank == (q.p.Rank+1)%len(c.want) && !o.declared && !o.waits && (o.gen != q.gen || o.ret.Pending() || o.point < c.steps) {
			return false
		}
	}
	return true
}

// written completes a file, or makes its writing fail.
func (q *proc) written() {
	r := q.writing[0]
	q.writing = q.writing[1:]
	if q.c.rng.IntN(10) == 0 {
		r.File, r.Text = nil, "no space left on device"
	}
	q.says = append(q.says, r)
}

// publish makes a set complete: all its files are of the same cut, and hold the
// state of each rank at that cut.
func (c *cluster) publish(a Action) {
	c.seen["publish"]++
	if was := c.ended[a.Set]; was == "given up" {
		c.fail("set %d was %s", a.Set, was)
	}
	if len(a.Files) != len(c.want) {
		c.fail("set %d has %d files", a.Set, len(a.Files))
	}
	for rank, f := range a.Files {
		s, ok := c.files[a.Set][rank]
		if !ok || f.Rank != rank || s.number != a.Cut || f.Bytes != int64(a.Cut) || s.value != c.want[rank][a.Cut] {
			c.fail("set %d at %d: rank %d has the file %+v with state of %d", a.Set, a.Cut, rank, f, s.number)
		}
	}
	c.publishing = append(c.publishing, a)
}

// order handles the next message from the head.
func (q *proc) order() {
	o := q.orders[0]
	q.orders = q.orders[1:]
	switch o := o.(type) {
	case connected:
		q.says = append(q.says, job.Reply{Kind: job.ReplyLinked, Process: o.q.p, Incarnation: o.q.incarnation})
	case died:
		q.gone[o.q] = true
		delete(q.known, o.q)
		q.m.Died(o.q.p)
		if later := q.c.current(o.q.p); later != nil && later.incarnation > o.q.incarnation && q.links[later] { // the process knows its peers by slot, so it cannot distinguish the two
			delete(q.known, later)
		}
	case job.Order:
		q.obey(o)
	}
}

func (q *proc) obey(o job.Order) {
	c := q.c
	if o.Kind == job.OrderAsk && c.broken == newPromise {
		q.m.asked = false
	}
	q.say(q.m.Order(o, q.point))
	switch o.Kind {
	case job.OrderGo:
		q.entire = o.Entire
	case job.OrderComplete:
		q.slots.Complete(o.Number, o.Older)
	case job.OrderRenew:
		if s, ok := q.slots.Get(o.Rank, o.Number); ok {
			if to := c.current(o.Process); to != nil {
				c.data = append(c.data, &packet{from: q, to: to, kind: "slot", gen: q.gen, full: q.slots.Full(), rank: o.Rank, slot: s})
			}
			return
		}
		if o.Number >= q.slots.Full() { // otherwise the process knows from a copy that a newer backup is already complete
			c.fail("%v does not hold the backup %d of rank %d that it is to give away", q.p, o.Number, o.Rank)
		}
	case job.OrderRollback:
		if q.ret.Pending() {
			c.seen["a rollback overtakes another one"]++
		}
		q.done, q.drained, q.waits, q.inPt, q.gen = false, false, false, false, o.Generation
		q.slots.Back(o.Number, o.Older)
	case job.OrderResume:
		q.m, q.entire = NewMember(q.p, q.gen, o.Next), o.Entire
	}
	q.ret.Order(o)
}

// goBack returns the next step of a process in a rollback.
func (q *proc) goBack() func() {
	if f := q.doing; f != nil {
		return func() {
			q.doing = nil
			f()
		}
	}
	before := q.ret
	s := q.ret.Next(q.p)
	q.ret = before // the machine computes the step again when the move is made
	if s.Kind == Await {
		return nil
	}
	return func() { q.stepBack(q.ret.Next(q.p)) }
}

func (q *proc) stepBack(s ReturnStep[slot]) {
	c, o := q.c, s.Order
	did := func() {
		if c.broken == anyOrder {
			s.Order = *q.ret.order
		}
		q.say(q.ret.Did(s))
	}
	switch s.Kind {
	case Give:
		for _, d := range o.Deals {
			if d.From != q.p || d.To == q.p {
				continue
			}
			to := c.current(d.To)
			s, ok := q.slots.Get(d.To.Rank, o.Number)
			if !ok {
				c.fail("%v does not hold the backup %d of rank %d", q.p, o.Number, d.To.Rank)
				return
			}
			if to != nil {
				c.data = append(c.data, &packet{from: q, to: to, kind: "deal", gen: o.Generation, rank: d.To.Rank, slot: s})
			}
		}
		did()
	case Stop, Tell: // these steps release the lock
		q.doing = did
	case Restore:
		state := s.State
		if s.Own {
			var ok bool
			if state, ok = q.slots.Get(q.p.Rank, o.Number); !ok {
				c.fail("%v does not hold the backup %d of its own rank", q.p, o.Number)
				return
			}
		} else {
			q.store(q.p.Rank, state)
		}
		q.set(state)
		q.placed = true
		q.known = make(map[*proc]bool)
		for _, peer := range o.Peers {
			if p := c.current(peer.Process); p != nil && !q.gone[p] {
				q.known[p] = true
			}
		}
		did()
		if c.broken == throwAway {
			q.ret.given = nil
		}
	}
}

// input finds the value of the previous rank at safe point k, if some process
// can send it.
func (q *proc) input(k uint64) (uint64, bool) {
	c := q.c
	n := len(c.want)
	if n == 1 || k == 0 {
		return 0, true
	}
	if v, ok := q.got[k]; ok {
		return v, true
	}
	for o := range q.known {
		if o.p.Rank == (q.p.Rank+n-1)%n && !o.declared && o.gen == q.gen && !o.ret.Pending() {
			if v, ok := o.made[k]; ok {
				return v, true
			}
		}
	}
	return 0, false
}

// pass returns the move from one safe point to the next, or to the end.
func (q *proc) pass() func() {
	c := q.c
	if q.point == c.steps {
		return func() {
			q.done = true
			q.says = append(q.says, finishedWord{})
		}
	}
	in, ok := q.input(q.point)
	if !ok {
		return nil
	}
	return func() {
		delete(q.got, q.point)
		q.point++
		q.value = mix(q.value, in, q.point)
		q.made[q.point] = q.value
		if q.value != c.want[q.p.Rank][q.point] {
			c.fail("%v#%d has the wrong state at %d", q.p, q.incarnation, q.point)
		}
		if q.point == 1 {
			q.says = append(q.says, job.Reply{Kind: job.ReplyFirst, Generation: q.gen})
		}
		if c.broken == ignoreAsk {
			q.m.asked = false
		}
		if q.m.Due() {
			q.m.Enter(q.point)
			q.inPt = true
		}
	}
}

// safePoint returns the next move in a safe point, or nil.
func (q *proc) safePoint() func() {
	c := q.c
	before := *q.m
	s := q.m.Next()
	*q.m = before // the machine computes the step again when the move is made
	switch s.Kind {
	case Wait:
		return nil
	case Back:
		return func() { q.inPt = false } // the order was already handled
	case Drain:
		if !q.m.Cancelled() && !q.quiet(s.Number) && c.broken != noDrain {
			return nil
		}
	}
	return func() { q.step(q.m.Next()) }
}

// quiet reports whether every message to q from before the cut is available.
func (q *proc) quiet(number uint64) bool {
	for r := range q.c.want {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(q.known)), func(o *proc) bool {
			return o.p.Rank == r && !o.declared && o.gen == q.gen && !o.ret.Pending() && o.point >= number
		}) {
			return false
		}
	}
	_, ok := q.input(number)
	return ok
}

func (q *proc) step(s Step) {
	c := q.c
	switch s.Kind {
	case Pass, GiveUp:
		q.inPt = false
	case Drain:
		if !q.m.Cancelled() {
			if v, ok := q.input(s.Number); ok && len(c.want) > 1 {
				q.got[s.Number] = v
			}
		}
		said := q.m.Drained()
		for i := range said {
			said[i].Sure, said[i].State = c.sure(q), q.value|1
		}
		q.say(said)
	case Donate:
		q.say(q.m.Donated(s.Process, c.rng.IntN(2) == 0))
	case Transfer:
		q.m.Transferred(s.Process)
		if to := c.joiner(s.Process); to != nil {
			c.data = append(c.data, &packet{from: q, to: to, kind: "state", gen: q.gen, slot: q.now(), known: maps.Clone(q.known)})
		}
		c.seen["transfer"]++
	case Admit:
		for _, p := range s.Joined {
			// A dead joiner may have a successor in its slot, which is another process.
			if o := c.find(p.Process, p.Incarnation); !q.gone[o] {
				q.known[o] = true
			}
		}
		clear(q.made)
		q.placed = true
		q.say(q.m.Admitted())
	case Copy:
		q.store(q.p.Rank, q.now())
		q.says = append(q.says, job.Reply{Kind: job.ReplyStored, Generation: q.gen, Number: s.Number, Rank: q.p.Rank, Seconds: 0.001})
		if to := c.current(s.Process); to != nil {
			c.data = append(c.data, &packet{from: q, to: to, kind: "slot", gen: q.gen, full: q.slots.Full(), rank: q.p.Rank, slot: q.now()})
		}
	case Save:
		if c.files[s.Set] == nil {
			c.files[s.Set] = make(map[int]slot)
		}
		if old, ok := c.files[s.Set][q.p.Rank]; ok {
			c.fail("rank %d wrote its file of set %d twice: at %d and %d", q.p.Rank, s.Set, old.number, s.Number)
		}
		c.files[s.Set][q.p.Rank] = q.now()
		q.writing = append(q.writing, job.Reply{Kind: job.ReplySaved, Generation: q.gen, Number: s.Number, Set: s.Set,
			File: &checkpoint.File{Rank: q.p.Rank, Bytes: int64(s.Number)}})
	case Leave:
		clear(q.made) // free the values that were retained from before the cut
		key := fmt.Sprint(q.gen, " ", s.Number)
		joined := fmt.Sprint(s.Joined, " all compared ", q.entire)
		if !slices.Contains(c.left[key], joined) {
			c.left[key] = append(c.left[key], joined)
		}
		if len(c.left[key]) > 1 {
			c.fail("processes left cut %s with different joiners, or ways to compare tasks: %v", key, c.left[key])
		}
		if len(s.Joined) > 0 {
			c.seen["join"]++
		}
		q.inPt = false
	}
}
