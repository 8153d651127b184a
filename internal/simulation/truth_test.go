package simulation

import (
	"slices"
	"strings"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// witness is what the simulation knows of what can be saved.
type witness struct {
	complete uint64                   // the last backup that was announced
	rolling  bool                     // some have left their lives for a rollback
	tries    map[job.Process]int      // of a seat that were asked for and have not come to live
	refused  bool                     // somebody could not be started
	holds    map[*process][]witnessed // copies of which the head knows
	planned  uint64                   // the last backup that was begun
	cut      uint64                   // that all are to stop at
	given    map[*process]gave        // newcomers that are given their states in this cut
	set      uint64                   // of files that is being written
	over     uint64                   // the last set that was given up, or of which all files were written under another head
	savers   map[*process]bool        // who write it and have not said how that went
}

// gave is a state that is on its way in a cut.
type gave struct {
	number uint64
	by     *process
}

func newWitness() witness {
	return witness{tries: make(map[job.Process]int), holds: make(map[*process][]witnessed), given: make(map[*process]gave), savers: make(map[*process]bool)}
}

// witnessed is a copy of the state of a rank.
type witnessed struct {
	rank   int
	number uint64
}

// hears notes what the head learns of copies.
func (t *witness) hears(p *process, r job.Reply) {
	switch r.Kind {
	case job.ReplyStored:
		t.holds[p] = append(t.holds[p], witnessed{r.Rank, r.Number})
	case job.ReplyReady:
		t.holds[p] = append(t.holds[p], witnessed{p.self.Rank, t.complete})
	}
}

// sends notes what the head says, and looks whether it may.
func (h *head) sends(to *process, o job.Order) {
	t, w := &h.truth, h.w
	switch o.Kind {
	case job.OrderTransfer:
		t.given[h.members[o.Process]] = gave{o.Number, to}
	case job.OrderAdmit:
		for _, q := range o.Joined {
			delete(t.given, h.members[q.Process])
		}
	case job.OrderCutAt:
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
				w.fail("%v is given its state by %v in cut %d, which ends without it", q, g.by, o.Number)
			}
		}
		clear(t.given)
		if len(o.Plan) > 0 {
			t.planned = o.Number
		}
		if o.Set > max(t.set, t.over) {
			t.set = o.Set
			clear(t.savers)
			for _, p := range o.Savers {
				t.savers[h.members[p]] = true
			}
		}
	case job.OrderComplete:
		if o.Number == t.complete { // a joiner hears which copies it may overwrite
			return
		}
		t.complete = o.Number
		for rank := range w.spec.degrees {
			if h.copies(rank) == 0 {
				w.fail("backup %d is said to be complete, and nobody holds the state of rank %d", o.Number, rank)
			}
		}
	case job.OrderRollback:
		t.rolling = true
		t.planned, t.set, t.cut = 0, 0, 0
		clear(t.given)
	case job.OrderResume:
		t.rolling = false
		clear(t.tries)
	}
}

// passes looks whether a process may go on behind a safe point.
func (h *head) passes(p *process, point uint64) {
	if h.truth.cut > 0 && point >= h.truth.cut && p.member.Generation() == h.decides.Generation() {
		h.w.fail("%v passes safe point %d, and the cut is at %d", p, point, h.truth.cut)
	}
}

// copies counts the live processes that hold the state of a rank in the last
// complete backup, as the head knows.
func (h *head) copies(rank int) (n int) {
	for p, list := range h.truth.holds {
		for _, c := range list {
			if _, held := p.slots.Get(rank, h.truth.complete); held && !p.declared && c == (witnessed{rank, h.truth.complete}) {
				n++
				break
			}
		}
	}
	return n
}

// survives reports whether all of a backup is held when a process is not there.
func (h *head) survives(v *process) bool {
	was := v.declared
	v.declared = true
	defer func() { v.declared = was }()
	for rank := range h.w.spec.degrees {
		if h.copies(rank) == 0 {
			return false
		}
	}
	return h.truth.complete > 0
}

// judge looks whether it is true that the job could not be saved, and for the
// reason that is given.
func (h *head) judge() {
	l, w := h.loss, h.w
	if l == nil {
		if h.alive(h.rank) > 0 || h.through[h.rank] {
			w.fail("rank %d is said to be lost, and is not", h.rank)
		}
		return
	}
	alive, held := true, h.truth.complete > 0
	for rank := range w.spec.degrees {
		alive = alive && (h.alive(rank) > 0 && !h.truth.rolling || h.through[rank])
		held = held && h.copies(rank) > 0
	}
	if alive || held && !h.exhausted() {
		w.fail("the job was given up (%v) although every rank has a live replica, or all of a backup is held", l)
	}
	if !l.Back && h.truth.rolling && !held {
		w.fail("%v: not so, a backup is lost on the way back to it", l)
	}
	if l.Back {
		by := slices.ContainsFunc(w.processes, func(p *process) bool { return p.self == l.By && p.declared })
		if !h.truth.rolling || l.Number != h.truth.complete || h.copies(l.Rank) > 0 || !by {
			w.fail("%v: not so (rolling %v, complete %d, %d copies, %v dead %v)", l, h.truth.rolling, h.truth.complete, h.copies(l.Rank), l.By, by)
		}
		return
	}
	if h.alive(l.Rank) > 0 || h.through[l.Rank] {
		w.fail("%v: it is not lost", l)
	}
	b := h.config().Backup
	for why, so := range map[string]bool{
		"no backup was asked for":     b == recovery.Policy{},
		"a job of one rank":           len(w.spec.degrees) == 1,
		"no backup was complete yet":  h.truth.complete == 0,
		"all processes that held":     h.truth.complete > 0 && !held,
		"it cannot be started":        h.truth.refused,
		"no process is left":          !w.spec.start && h.spares == 0,
		"its replacements died too":   h.exhausted(),
		"its program ended by itself": false,
	} {
		if strings.Contains(l.Why, why) && !so {
			w.fail("%v: not so", l)
		}
	}
}

// exhausted reports whether no process can be had for some seat any more.
func (h *head) exhausted() bool {
	if h.truth.refused || !h.w.spec.start && h.spares <= 0 {
		return true
	}
	for _, n := range h.truth.tries {
		if n >= 3 {
			return true
		}
	}
	return false
}
