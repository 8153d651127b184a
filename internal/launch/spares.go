package launch

import (
	"syscall"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/recovery"
	"github.com/intrahpc/intra/internal/supervise"
)

// A spare is a process that has joined the job and waits to hear what its place
// is. It has a name of its own for its agent: the rank behind the last one.

// reserve puts the spares on the list of processes.
func (h *head) reserve(place func(i int) (agent, *job.Host)) {
	for i := range h.config.Spares {
		p := job.Process{Rank: len(h.config.Degrees) + i}
		// What it says belongs to no rank yet.
		nowhere := output.NewRank(h.console, 1)
		m := &member{process: p, id: p, spare: true, outputs: output.NewMuted(p, nowhere)}
		m.agent, m.host = place(i)
		m.listen = h.listenAt(m.agent)
		h.enroll(m)
	}
}

func (h *head) startSpares() {
	for _, m := range h.order {
		if m.spare {
			m.agent.Start(m.id, supervise.Spare)
		}
	}
}

// spareReady: one more spare can be given a place.
func (h *head) spareReady() {
	if r := h.recovery; r != nil {
		r.tell(func() []recovery.Action { return r.decides.SpareReady(h.elapsed()) })
	}
}

// spares counts those that can be given a place.
func (h *head) spares() (n int) {
	for _, m := range h.order {
		if m.spare && !m.gone && m.hello != nil {
			n++
		}
	}
	return n
}

// spareGone: a spare has died, or is not needed any more.
func (h *head) spareGone(m *member) {
	if h.phase <= working {
		h.warnf("%s is dead (%s)", m.name(), firstLine(m.cause().detail))
		if r := h.recovery; r != nil && m.hello != nil {
			r.tell(func() []recovery.Action { return r.decides.SpareGone(h.elapsed()) })
		}
		h.startIfReady()
	}
	go m.outputs.Finish(true, false)
}

// bestSpare is the one for a place: on a host without another replica of the
// rank, if there is one. It is nil if there is none at all.
func (c *recoveryDriver) bestSpare(p job.Process) (best *member) {
	together := make(map[agent]bool)
	for _, m := range c.order {
		if !m.gone && m.process.Rank == p.Rank {
			together[m.agent] = true
		}
	}
	for _, m := range c.order {
		if m.spare && !m.gone && m.hello != nil && m.ending == nil && (best == nil || together[best.agent] && !together[m.agent]) {
			best = m
		}
	}
	return best
}

// freeSpares ends the spares at the end of the job.
func (h *head) freeSpares() {
	for _, m := range h.order {
		if m.spare && !m.gone {
			m.agent.Signal(m.id, syscall.SIGKILL)
		}
	}
}
