package launch

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/supervise"
)

// The methods in this file make the head the observer of its agents. They are
// called from the agents' goroutines.

func (h *head) Started(p job.Process, pid int, err error) {
	h.post(func() {
		m := h.ids[p]
		m.pid = pid
		if err == nil {
			h.notePlace(m)
			return
		}
		if m.gone {
			return
		}
		if m.waits {
			h.recovery.notStarted(m, err)
			return
		}
		m.gone = true
		h.left--
		if h.phase == over {
			return
		}
		h.phase = over
		h.ledger.decide(ExitRefused, err.Error())
		h.warnf("%v", err)
		h.killAll()
	})
}

func (h *head) Hello(p job.Process, hello *job.Hello) {
	h.post(func() {
		if m := h.ids[p]; !m.gone {
			h.welcome(m, hello)
		}
	})
}

func (h *head) Message(p job.Process, msg *job.Message) {
	if msg.Kind == job.KindTrace { // too many for the head, and none of its business
		h.trace.Add(p, msg.Trace)
		return
	}
	h.post(func() { h.handle(h.ids[p], msg) })
}

func (h *head) Unheard(p job.Process, s supervise.Silence) {
	h.post(func() {
		m := h.ids[p]
		switch {
		case s.Why == supervise.SilenceUntold && m.gone:
			return
		case s.Why == supervise.SilenceUntold:
			h.fence(m, ending{job.CauseFenced, "it cannot be sent a message that it needs: " + s.Text})
			return
		case m.hello == nil && s.Why != supervise.SilenceEnd && m.waits:
			h.fence(m, ending{job.CauseFenced, "it cannot join: " + s.Text})
		case m.hello == nil && s.Why != supervise.SilenceEnd:
			h.refuse(fmt.Sprintf("%v cannot join: %s", p, s.Text))
		case m.hello == nil: // it is gone, or will be; its agent sees that
			return
		case s.Why == supervise.SilenceNonsense:
			h.fence(m, ending{job.CauseFenced, fmt.Sprintf("it sent a malformed message: %s", s.Text)})
		}
		h.after(lastWords, func() { h.deaf(m) })
	})
}

func (h *head) Output(p job.Process, s output.Stream, b []byte) {
	o, _ := h.writers.Load(p)
	o.(*output.Process).Write(s, b)
}

func (h *head) Quiet(_ job.Process, n uint64) { h.post(func() { h.recovery.isQuiet(n) }) }

func (h *head) Exited(p job.Process, e supervise.Exit) {
	h.post(func() {
		m := h.ids[p]
		if m.gone {
			return
		}
		m.exit = &e
		h.gone(m)
	})
}

func (h *head) ProgramGone(p job.Process) {
	h.post(func() {
		m := h.ids[p]
		if m.gone || m.ending != nil || h.phase == released {
			return
		}
		m.ending = &ending{job.CauseExit, "its program ended, but the wrapper that started it did not"}
		h.kill(m)
	})
}

func (h *head) Stopped(p job.Process, d time.Duration) {
	h.post(func() {
		m := h.ids[p]
		m.stopped = time.Now()
		if d < fenceAfter || m.gone || m.ending != nil || h.phase == over {
			return
		}
		for _, peer := range h.order {
			if peer.process.Rank == m.process.Rank && peer != m && !peer.gone && !peer.waits && peer.ending == nil && time.Since(peer.stopped) > 3*supervise.StopPoll {
				h.fence(m, ending{job.CauseFenced, fmt.Sprintf("stopped for %.1f s while %v was running", d.Seconds(), peer.process)})
				return
			}
		}
	})
}

// hostLost: the agent is gone and all its processes with it.
func (h *head) hostLost(a agent, why string, e *evidence) {
	h.post(func() {
		e.complete(h)
		h.warnf("%s", why)
		h.lost[a] = true
		for _, m := range h.order {
			switch {
			case m.agent != a:
			case m.dying != nil: // and that is not yet decided, unlike this
				h.markDead(m)
			case !m.gone:
				m.lost = true
				if m.ending == nil {
					m.ending, m.end, m.evidence = &ending{job.CauseHost, why}, "lost", e
				}
				h.gone(m)
			}
		}
	})
}

func (h *head) Failed(err error) { h.post(func() { h.refuse(err.Error()) }) }
