package head

import (
	"fmt"
	"syscall"
	"time"

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

// onNotice reports whether a signal makes the host of this head leave. The next signal ends
// the job.
func (h *Head) onNotice(e Signalled) bool {
	if e.Final || e.Signal != syscall.SIGTERM || !h.config.Drain || h.noticed || h.signalled != 0 || h.phase == over {
		return false
	}
	h.noticed, h.noticedAt = true, h.now
	nodes := h.leaves.here()
	var err error
	for _, node := range nodes {
		if err == nil {
			err = h.MayLeave(node, job.Process{})
		}
	}
	if err == nil {
		err = h.leaves.mayHandOver()
	}
	if err != nil {
		h.warnf("SIGTERM: this host is to leave: %v", err)
		if h.MayEnd() {
			h.leaves.end("SIGTERM to intrarun", h.config.Grace)
			return true
		}
		return false
	}
	h.warnf("SIGTERM: this host is to leave, and another one becomes the head; a second signal ends the job")
	for _, node := range nodes {
		h.leaves.request(Leave{Node: node, Reason: "SIGTERM to intrarun", Within: h.config.Grace})
	}
	return true
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

// Notice returns the time, on the clock of Step, at which a signal gave notice that the host of
// this head leaves. ok is false if none did.
func (h *Head) Notice() (at time.Duration, ok bool) { return h.noticedAt, h.noticed }

// Interrupted returns the signal that ends the job, 0 if none does.
func (h *Head) Interrupted() syscall.Signal { return h.signalled }
