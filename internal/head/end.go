package head

import (
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// farewell says how processes are made to go when the job has ended.
type farewell uint8

const (
	byWord   farewell = iota // they are told, and killed a while later
	atOnce                   // they are killed: they would not understand
	bySignal                 // they have been sent a signal, and are killed a while later
)

// stop ends the job, unless something has ended it before.
func (h *Head) stop(code int, text string, how farewell) {
	if h.phase == over {
		return
	}
	h.decide(code, text, job.Endpoint{})
	h.outcome.how = how
	h.settle()
}

// settle ends the job once how it ends is decided.
func (h *Head) settle() {
	if h.outcome != nil && h.phase != over {
		h.phase = over
		h.propose(decision.Entry{Kind: decision.Decided, Code: h.outcome.code, Text: h.outcome.text})
	}
}

// finish has every process stop, now that it is kept how the job ends.
func (h *Head) finish() {
	if h.outcome.how == bySignal {
		return
	}
	h.act(Log{Level: Reason, At: h.elapsed(), Text: h.outcome.text})
	h.freeSpares()
	if h.outcome.how == atOnce {
		h.killAll()
		return
	}
	for _, m := range h.all {
		if m.role != Spare && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindEnd, Code: h.outcome.code, Text: h.outcome.text})
		}
	}
	h.after(endGrace, timer{kind: killEverybody})
}

// releaseIfComplete lets the processes go when all that live have finished.
func (h *Head) releaseIfComplete() {
	if h.phase != working || !h.hasBegun || !h.complete() || h.mayGoBack() {
		return
	}
	h.phase = released
	h.detailf("all have finished")
	h.freeSpares()
	h.propose(decision.Entry{Kind: decision.Released})
}

// mayGoBack: the job does, or something has happened that may have it do so.
func (h *Head) mayGoBack() bool {
	d := h.recovery.decides
	return d != nil && (d.Returning() || len(h.recovery.events) > 0)
}

// release lets the processes go.
func (h *Head) release() {
	for _, m := range h.all {
		if m.role != Spare && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindRelease})
		}
	}
	h.after(releaseGrace, timer{kind: killEverybody})
}

// interrupt handles a signal to the head. It does not wait until that is kept.
func (h *Head) interrupt(s syscall.Signal) {
	if h.signalled {
		h.killAll()
		h.after(termGrace, timer{kind: abandonAll})
		return
	}
	h.signalled = true
	h.decide(InterruptCode(s), fmt.Sprintf("ended by %s", signalName(s)), job.Endpoint{})
	h.detailf("%s: ending all processes", signalName(s))
	if h.phase != over {
		h.outcome.how = bySignal
		h.settle()
	}
	for _, m := range h.all {
		if m.state.there() {
			h.act(Kill{m.from, syscall.SIGTERM})
		}
	}
	h.after(termGrace, timer{kind: killEverybody})
}

// InterruptCode is the exit code after a signal, as shells count.
func InterruptCode(s syscall.Signal) int { return 128 + int(s) }
