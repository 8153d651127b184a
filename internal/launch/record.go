package launch

import (
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/intrahpc/intra/internal/agentwire"
	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
)

// record has what a head decides kept on other hosts before the head acts on
// it, so that whoever takes its place knows all that has had an effect.
type record struct {
	propose func(arbiter.Entry) error
	queue   []decision // not kept yet, in order
	asked   int        // of those, how many have been proposed
	trying  bool       // a timer runs to propose the others
}

type decision struct {
	entry arbiter.Entry
	act   func()
}

// waits: something is decided and not done yet.
func (r *record) waits() bool { return r != nil && len(r.queue) > 0 }

// proposeAgain is how long a head waits that may not decide for the moment.
const proposeAgain = 50 * time.Millisecond

// maxDecision bounds the text of a decision, in bytes as they are kept.
const maxDecision = 8 << 10

// shorten cuts a text so that it takes no more than maxDecision bytes in JSON,
// where one byte may take six.
func shorten(s string) string {
	end, size := 0, 0
	for end < len(s) {
		_, n := utf8.DecodeRuneInString(s[end:])
		if size += len(agentwire.Encode(s[end:end+n])) - len(`""`); size > maxDecision {
			break
		}
		end += n
	}
	return s[:end]
}

// decide calls act once e is kept, in the order of the calls; at once where
// nobody could take the head's place.
func (h *head) decide(e arbiter.Entry, act func()) {
	switch {
	case h.retired:
		return
	case h.record == nil:
		act()
		return
	}
	e.Text = shorten(e.Text)
	h.record.queue = append(h.record.queue, decision{e, act})
	h.proposeAll()
}

// proposeAll proposes what is to be, in order.
func (h *head) proposeAll() {
	r := h.record
	if r == nil || r.trying {
		return
	}
	for r.asked < len(r.queue) {
		err := r.propose(r.queue[r.asked].entry)
		switch {
		case err == nil:
			r.asked++
			continue
		case errors.Is(err, arbiter.ErrNotHead): // until Yield this may pass
			r.trying = true
			h.after(proposeAgain, func() {
				r.trying = false
				h.proposeAll()
			})
		default:
			h.retire(fmt.Sprintf("its decisions cannot be replicated: %v", err))
		}
		return
	}
}

// kept: the next decision is.
func (h *head) kept() {
	r := h.record
	if !r.waits() {
		return
	}
	act := r.queue[0].act
	r.queue, r.asked = r.queue[1:], r.asked-1
	act()
}

// retire leaves the job to whoever takes this head's place. The processes live
// on without it.
func (h *head) retire(why string) {
	if h.retired {
		return
	}
	h.retired = true
	h.ledger.decide(ExitLost, "this head gives up: "+why+"; the job continues without it where most of the hosts are")
	h.warnf("%s", h.ledger.text)
	for _, m := range h.order {
		if !m.gone || m.dying != nil && !m.dead { // so its verdict, if there is one, is another head's
			m.end = "left"
		}
	}
	h.phase, h.left, h.record = over, 0, nil
}

// deciders says who keeps the decisions after one of those was lost. That the
// job now ends with this head is not only for those who want to hear everything.
func (h *head) deciders(d arbiter.Deciders) {
	if len(d.Members) == 1 {
		h.warnf("%s", d.Text)
		return
	}
	h.eventf("%s", d.Text)
}

// notePlace notes where a process runs.
func (h *head) notePlace(m *member) {
	if m.old || m.spare || m.node == 0 {
		return
	}
	h.decide(arbiter.Entry{Kind: arbiter.Placed, Process: m.process, Incarnation: m.incarnation, Node: m.node, PID: m.pid}, func() {})
}

// drainedNote is the key of the note that all that a process has sent was
// received.
func drainedNote(p job.Process) string { return fmt.Sprintf("drained %v", p) }

// firedNote is the key of the note that a scheduled kill has come about.
func firedNote(i int) string { return fmt.Sprintf("kill %d", i) }

// markFired notes that a scheduled kill comes about.
func (h *head) markFired(i int) {
	h.kills[i].fired = true
	h.decide(arbiter.Entry{Kind: arbiter.Note, Key: firedNote(i), Value: []byte("fired")}, func() {})
}

// confirmEvery is how often agents are told what of the output is out.
const confirmEvery = 100 * time.Millisecond

// confirm tells the agents what of the output is out, so that they need not
// keep it, until the head ends.
func (h *head) confirm(all []*member) {
	tick := time.NewTicker(confirmEvery)
	defer tick.Stop()
	type rank struct {
		number  int
		outputs *output.Rank
		told    [2]output.Written
	}
	var ranks []*rank
	for _, m := range all {
		if m.process.Replica == 0 && !m.spare { // they write to the same
			ranks = append(ranks, &rank{number: m.process.Rank, outputs: m.outputs.Rank()})
		}
	}
	for {
		select {
		case <-h.done:
			return
		case <-tick.C:
		}
		for _, r := range ranks {
			for st, w := range r.outputs.Written() {
				if w != r.told[st] {
					r.told[st] = w
					h.post(func() { h.tellWritten(r.number, w) })
				}
			}
		}
	}
}

func (h *head) tellWritten(rank int, w output.Written) {
	for _, m := range h.order {
		if r, ok := m.agent.(*remote); ok && m.process.Rank == rank {
			r.written(m.id, w)
		}
	}
}
