package simulation

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// tell tells those who decide of an event, and does what they want: at once,
// or when something has been kept, or when what an event before it led to has
// been done, if it is part of that.
func (h *head) tell(event func() []recovery.Action) {
	if h.keeping {
		h.w.seen["an event waits"]++
	}
	h.events = append(h.events, event)
	h.catchUp()
}

// perform does what was decided, all of it before the next event.
func (h *head) perform(acts []recovery.Action) {
	was := h.acting
	h.acting = true
	h.apply(acts)
	h.acting = was
	h.catchUp()
}

// catchUp tells of the events that wait, and draws the conclusions.
func (h *head) catchUp() {
	for !h.keeping && !h.acting {
		if len(h.events) == 0 {
			h.settle()
			h.releaseIfComplete()
			return
		}
		event := h.events[0]
		h.events = h.events[1:]
		h.acting = true
		h.apply(event())
		h.acting = false
	}
}

// apply does what was decided.
func (h *head) apply(acts []recovery.Action) {
	for i, a := range acts {
		p := h.members[a.To]
		switch a.Kind {
		case recovery.Keep:
			h.folded.Apply(*a.Decision)
			past, err := json.Marshal(&h.folded)
			if err != nil {
				h.w.fail("keep %+v: %v", a.Decision, err)
			}
			h.keeping = true
			h.note(cutNote, past, func() {
				h.keeping = false
				h.perform(acts[i+1:])
			})
			return
		case recovery.Start:
			h.standing[a.To] = coming
			h.truth.tries[a.To]++
			h.due[a.To] = a.Incarnation
			h.enlarge()
			h.recruit(a.To)
		case recovery.Send:
			h.sends(p, a.Order)
			if p.birth == a.Incarnation && !p.dead {
				h.pass(p, a.Order)
			}
		case recovery.Connect:
			for _, q := range a.Peers {
				h.introduce(p, h.members[q])
			}
		case recovery.Dismiss:
			h.dismiss(a.To)
		case recovery.Publish:
			h.check(a)
			h.keepSet(a.Set, setNote{Whole: a.Files}, func() { h.publishing = append(h.publishing, a.Set) })
		case recovery.Abandon:
			h.w.seen["files abandoned"]++
			h.truth.set, h.truth.over = 0, a.Set
			h.keepSet(a.Set, setNote{Ended: true}, func() { h.w.disk.given[a.Set] = true })
		case recovery.Lose:
			h.give(a.Loss)
		}
	}
}

// pass passes an order on.
func (h *head) pass(p *process, o job.Order) {
	if o.Kind == job.OrderGo { // its agent knows what it has heard
		if o.Generation == 0 && o.Number <= p.told {
			return
		}
		p.told = o.Number
	}
	switch o.Kind {
	case job.OrderCutAt:
		h.w.noteAhead(o)
	case job.OrderAdmit:
		h.joined(p)
	case job.OrderRollback:
		clear(h.through)
		for q, s := range h.standing {
			if s == finished {
				h.standing[q] = running
			}
		}
		h.joined(p)
	}
	p.events = append(p.events, o)
}

// joined: a newcomer lives from here on.
func (h *head) joined(p *process) {
	if h.standing[p.self] == coming {
		h.standing[p.self] = running
		if !h.truth.rolling { // else not before all are back
			delete(h.truth.tries, p.self)
		}
		h.w.seen["joined"]++
	}
}

// enlarge has it kept that processes are replaced.
func (h *head) enlarge() {
	if h.asks {
		return
	}
	h.asks = true
	h.note(replacedNote, []byte("replaced"), func() {
		h.w.heirs = 0
		h.may = true
		for _, p := range slices.SortedFunc(maps.Keys(h.due), job.Process.Compare) {
			h.recruit(p)
		}
	})
}

// recruit gets the process that is due for a seat.
func (h *head) recruit(seat job.Process) {
	birth, due := h.due[seat]
	if !due || !h.may {
		return
	}
	delete(h.due, seat)
	w := h.w
	p := w.newProcess(seat, birth, true)
	h.members[seat] = p
	switch {
	case h.spares > 0:
		h.spares--
		w.seen["a spare is used"]++
	case !w.spec.start || w.spec.gone > 0 && w.steps >= w.spec.gone:
		w.seen["somebody cannot be started"]++
		h.truth.refused = true
		p.dead, p.gone, p.declared = true, true, true
		h.standing[seat] = gone
		h.tell(func() []recovery.Action {
			return h.decides.Refused(p.self, p.birth, "it cannot be started", h.now())
		})
		return
	}
	w.seen["started"]++
	h.tell(func() []recovery.Action { return h.decides.Arrived(p.self, p.birth, h.now()) })
}

// introduce makes the link between a newcomer and another process.
func (h *head) introduce(p, q *process) {
	q.meets = append(q.meets, p)
}

// dismiss lets a newcomer go that the job does not need any more.
func (h *head) dismiss(seat job.Process) {
	h.standing[seat] = gone
	if _, due := h.due[seat]; due {
		delete(h.due, seat)
		return
	}
	p := h.members[seat]
	p.dismissed = true
	p.events = append(p.events, job.Release{})
	h.w.seen["dismissed"]++
}
