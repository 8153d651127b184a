package simulation

import (
	"encoding/json"
	"fmt"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// The keys of notes.
const (
	cutNote      = "cut"
	replacedNote = "replaced"
)

// drainedNote is that all that a process has sent was received.
func drainedNote(p job.Process) string { return fmt.Sprint("drained ", p) }

// setNote is what is known of a set of files.
type setNote struct {
	Whole []checkpoint.File // every rank has its own
	Ended bool              // it is complete, or given up
}

// keepSet has it kept what became of a set.
func (h *head) keepSet(set uint64, n setNote, act func()) {
	b, err := json.Marshal(n)
	if err != nil {
		h.w.fail("keep %+v: %v", n, err)
	}
	h.note(fmt.Sprint("set ", set), b, act)
}

// mayBeLost reports whether another head can take the place of this one.
func (h *head) mayBeLost() bool {
	return h.w.heirs > 0 && !h.released && !h.decided && h.state.notes[replacedNote] == nil
}

// succeed: the head is lost, and another one takes its place, which knows what
// was kept. Its agents repeat what processes have said, and what the lost head
// was to say is lost, from some point on.
func (w *world) succeed() {
	old := w.head
	w.heirs--
	w.seen["a head is lost"]++
	if len(old.record) > 0 {
		w.seen["a decision is lost"]++
	}
	h := &head{w: w, members: old.members, standing: make(map[job.Process]standing), through: make(map[int]bool),
		due: make(map[job.Process]uint32), state: old.state, spares: w.spec.spares,
		truth: newWitness()}
	rest := false // somebody has finished
	for _, v := range h.state.Verdicts {
		h.verdicts = append(h.verdicts, v.Verdict)
	}
	for _, v := range h.verdicts {
		h.standing[v.Process] = gone
	}
	for _, p := range w.processes {
		at := h.state.Places[p.self]
		if at.Status == decision.Done {
			h.standing[p.self] = finished
		}
		if h.state.Through[p.self.Rank] && at.Status != "" {
			rest = true
		}
		if h.state.notes[drainedNote(p.self)] != nil {
			h.through[p.self.Rank] = true
		}
		p.declared = h.standing[p.self] == gone
		p.gone = p.declared
		if p.dead && p.declared {
			continue
		}
		p.events = p.events[:w.random.IntN(len(p.events)+1)]
		p.told = p.obeyed
		for _, e := range append(p.queue, p.events...) {
			if o, ok := e.(job.Order); ok && o.Kind == job.OrderGo {
				p.told = o.Number
			}
		}
		p.says, p.said = append(p.said, p.says...), nil
		if p.dead && w.random.IntN(2) == 0 { // its host was lost with it
			p.says = nil
		}
	}
	w.head = h
	for _, v := range h.verdicts {
		for _, p := range w.processes {
			if !p.dead {
				p.events = append(p.events, verdict(v))
			}
		}
	}
	if !w.spec.recovers() {
		h.settleRanks()
		h.releaseIfComplete()
		return
	}
	past, err := h.past()
	if err != nil {
		w.fail("%v", err)
		return
	}
	var acts []recovery.Action
	h.meet(&past, rest)
	past.Complete = 0 // who holds it nobody repeats
	h.folded = past
	h.decides, acts = recovery.Resume(h.config(), past, h.now())
	for _, p := range w.processes {
		acts = append(acts, h.decides.Repeated(p.self, p.birth, h.now())...)
	}
	h.perform(acts)
}

// meet adds to the past what has become of processes.
func (h *head) meet(past *recovery.Snapshot, rest bool) {
	past.Rest = past.Rest || rest
	past.Through = h.through
	for _, v := range h.verdicts {
		past.Died(v.Process, firstLife, false)
	}
}

// verdict completes what is kept of one.
func verdict(v job.Verdict) job.Verdict {
	v.Incarnation = max(v.Incarnation, firstLife)
	return v
}

// past is what was kept of the decisions about cuts and files.
func (h *head) past() (past recovery.Snapshot, err error) {
	if b := h.state.notes[cutNote]; b != nil {
		if err := json.Unmarshal(b, &past); err != nil {
			return past, fmt.Errorf("read the last cut: %w", err)
		}
	}
	if b := h.state.notes[fmt.Sprint("set ", past.Set)]; b != nil {
		var n setNote
		if err := json.Unmarshal(b, &n); err != nil {
			return past, fmt.Errorf("read the last set: %w", err)
		}
		if n.Ended {
			past.End(past.Set)
		}
		if past.Whole = n.Whole; n.Whole != nil { // its writers may die
			h.truth.over = past.Set
		}
	}
	return past, nil
}

// settleRanks ends a job that has lost a rank while nobody led it.
func (h *head) settleRanks() {
	for rank := range h.w.spec.degrees {
		if h.alive(rank) == 0 && !h.through[rank] {
			h.lose(rank, nil)
		}
	}
	h.settle()
}
