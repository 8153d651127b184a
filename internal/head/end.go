package head

import (
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// farewell says how the head ends the processes when the job has ended.
type farewell uint8

const (
	byWord   farewell = iota // it sends a message, and kills them a while later
	atOnce                   // it kills them: they would not understand a message
	bySignal                 // it has sent a signal, and kills them a while later
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

// settle ends the job once its outcome is set.
func (h *Head) settle() {
	if h.outcome != nil && h.phase != over {
		h.phase = over
		h.propose(decision.Entry{Kind: decision.Decided, Code: h.outcome.code, Text: h.outcome.text})
	}
}

// finish ends every process, now that the end of the job is kept.
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

// releaseIfComplete releases the processes when all live ones have finished.
func (h *Head) releaseIfComplete() {
	if h.phase != working || !h.hasBegun || !h.complete() || h.mayGoBack() {
		return
	}
	h.phase = released
	h.detailf("all have finished")
	h.freeSpares()
	h.propose(decision.Entry{Kind: decision.Released})
}

// mayGoBack reports whether the job rolls back, or an event waits that may cause that.
func (h *Head) mayGoBack() bool {
	d := h.recovery.decides
	return d != nil && (d.Returning() || len(h.recovery.events) > 0)
}

// release lets the processes exit.
func (h *Head) release() {
	for _, m := range h.all {
		if m.role != Spare && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindRelease})
		}
	}
	h.after(releaseGrace, timer{kind: killEverybody})
}

// interrupt handles a signal to the head. It ends the processes at once, before the end is
// kept; a second signal kills them.
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

// InterruptCode returns the exit code after a signal, by the convention of shells.
func InterruptCode(s syscall.Signal) int { return 128 + int(s) }
