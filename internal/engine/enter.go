package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/direct"
	"github.com/intrahpc/intra/internal/ntcopy"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// enter tells the machine of a section whose tasks have all been launched.
func (h *sharing) enter(s *Section) ([]section.Action, error) {
	var sig update.Signature
	for i := range s.Tasks {
		l := &s.Tasks[i]
		sig.Add(l.Kernel.Name, l.Regions)
		update.Aliased(l.Regions)
		l.known, l.bytes = h.stats.of(l.Kernel), update.Size(l.Regions)
		l.times = l.known.timesOf(l)
		l.times.Transfer = h.delivery(l)
	}
	s.helpers.size = h.concurrency(s)
	policy := s.Policy
	if h.setup.Sched != "" {
		var err error
		if policy, err = sched.Parse(h.setup.Sched); err != nil {
			return nil, err
		}
	}
	if s.Agree != nil || len(h.peers) == 1 && !h.Serial() {
		policy = sched.Replicate
	}
	var bytes int
	var places uint64
	if policy == sched.Adaptive {
		s.decision, bytes = h.decisions.about(s)
		var transfer time.Duration // stores are part of what sharing takes
		if places, s.stored = h.storable(s); !s.stored {
			transfer = h.bandwidth.atBest(bytes * (len(h.peers) - 1) / len(h.peers))
		}
		policy = s.decision.policy(transfer)
		s.stored = s.stored && policy == sched.Adaptive
	}
	s.Policy = policy
	if s.stored {
		policy = sched.Replicate // as far as updates go
		s.past = bytes >= ntcopy.From
		h.stores.board.Enter(direct.Section{Number: h.machine.Number(), Tasks: len(s.Tasks),
			Signature: sig.Sum() + uint64(len(s.Tasks)), Places: places})
	}
	return h.machine.Enter(section.Entry{
		Policy: policy, Refuse: s.stored, Tasks: len(s.Tasks), Signature: sig.Sum(),
		Patience: func(t int) time.Duration { return h.patience(&s.Tasks[t]) },
		Times:    func(t int) *section.Times { return s.Tasks[t].times },
	}, h.now())
}

// patience is how long a claim of a task is believed: twice the time that
// such a task takes here, and the time of its update, which those of all
// workers may go before. While nothing is known
// it is long: a peer that has stopped is fenced before.
func (h *sharing) patience(l *Task) time.Duration {
	const unknown, slack = 100 * time.Millisecond, 200 * time.Microsecond
	if l.known.average == 0 {
		return unknown
	}
	return 2*(l.known.average+l.times.Transfer*time.Duration(len(h.workers))) + slack
}

// delivery is how long the update of a task is under way, roughly.
func (h *sharing) delivery(l *Task) time.Duration {
	if t := h.bandwidth.time(l.bytes); t > 0 {
		return t
	}
	return time.Duration(l.bytes) // as over a link of 1 GB/s
}
