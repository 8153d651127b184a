package head

import (
	"fmt"
	"syscall"

	"github.com/intrahpc/intra/internal/job"
)

// finish ends every process. The end of the job is kept by now.
func (h *Head) finish() {
	if h.outcome.how == bySignal {
		return
	}
	h.act(Log{Level: Reason, At: h.elapsed(), Text: h.outcome.text})
	h.members.freeSpares()
	if h.outcome.how == atOnce {
		h.members.killAll()
		return
	}
	for _, m := range h.members.all {
		if m.role != Spare && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindEnd, Code: h.outcome.code, Text: h.outcome.text})
		}
	}
	h.after(endGrace, timer{kind: killEverybody})
}

// release lets the processes exit.
func (h *Head) release() {
	for _, m := range h.members.all {
		if m.role != Spare && m.state.there() {
			h.send(m, &job.Message{Kind: job.KindRelease})
		}
	}
	h.after(releaseGrace, timer{kind: killEverybody})
}

// interrupt handles a signal to the head. It signals all processes at once, before the end of
// the job is kept. A second signal kills them.
func (h *Head) interrupt(s syscall.Signal) {
	if h.signalled != 0 {
		h.members.killAll()
		h.after(termGrace, timer{kind: abandonAll})
		return
	}
	h.signalled = s
	h.decide(InterruptCode(s), fmt.Sprintf("ended by %s", signalName(s)), job.Endpoint{})
	h.detailf("%s: ending all processes", signalName(s))
	if h.phase != over {
		h.outcome.how = bySignal
		h.settle()
	}
	for _, m := range h.members.all {
		if m.state.there() {
			h.act(Kill{m.from, syscall.SIGTERM})
		}
	}
	h.after(termGrace, timer{kind: killEverybody})
}

// InterruptCode returns the exit code of a command that a signal has ended, by the convention
// of shells.
func InterruptCode(s syscall.Signal) int { return 128 + int(s) }

// Interrupted returns the signal that ends the job, 0 if none does.
func (h *Head) Interrupted() syscall.Signal { return h.signalled }
