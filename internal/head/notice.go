package head

import (
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
)

// onNotice reports whether a signal makes the host of this head leave. The next signal ends
// the job.
func (h *Head) onNotice(e Signalled) bool {
	if e.Final || e.Signal != syscall.SIGTERM || !h.config.Drain || h.noticed || h.signalled != 0 || h.phase == over {
		return false
	}
	if h.noticed, h.noticedAt = true, h.now; h.phase == released { // the job ends with its processes
		return true
	}
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
		h.leaveWithHead(node)
	}
	return true
}

// leaveWithHead makes a node on the host of this head leave, in what is left of Config.Grace. A
// node that joins after the signal also leaves, if its joining was proposed before.
func (h *Head) leaveWithHead(node detect.ID) {
	l := Leave{Node: node, Reason: "SIGTERM to intrarun"}
	if h.config.Grace > 0 {
		l.Within = max(1, h.config.Grace-(h.now-h.noticedAt))
	}
	h.leaves.request(l)
}

// notified makes a host leave the job, since its agent was given notice. If the host cannot leave,
// the job ends with a last set of files. If the job cannot write such a set, the agent ends at
// once, with its processes. If that agent is the head, the whole job ends.
func (h *Head) notified(node detect.ID) {
	if h.phase > working { // the agents end with the job, once its processes have ended
		return
	}
	h.leaves.notified[node] = true
	switch err := h.MayLeave(node, job.Process{}); {
	case err == nil && h.leaves.freed[node]:
		h.act(Free{Node: node})
	case err == nil:
		h.leaves.request(Leave{Node: node, Reason: "SIGTERM to its agent"})
	case h.MayEnd():
		h.leaves.end("SIGTERM to the agent of a host", 0)
	case h.Leads(node):
		h.warnf("SIGTERM: this host is to leave: %v", err)
		h.interrupt(syscall.SIGTERM)
	default:
		h.act(Free{Node: node, Why: err.Error()})
	}
}

// Notice returns the time, on the clock of Step, at which a signal gave notice that the host of
// this head leaves. ok is false if none did.
func (h *Head) Notice() (at time.Duration, ok bool) { return h.noticedAt, h.noticed }
