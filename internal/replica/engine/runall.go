package engine

import (
	"time"

	"github.com/intrahpc/intra/sched"
)

// runsAll reports whether this replica runs all tasks of s by itself. It then sends its
// peers no message about s and makes no decision, so it needs no protocol. It ignores
// frames of peers about s, because every replica runs every task.
func (h *sharing) runsAll(s *Section) bool {
	policy := s.Policy
	if h.setup.Sched != "" {
		var err error
		if policy, err = sched.Parse(h.setup.Sched); err != nil {
			return false // schedule returns the error
		}
	}
	return policy == sched.Replicate && s.Agree == nil && len(h.workers) == 1 && h.verifier == nil && !h.exact()
}

// runAll runs all tasks of s in launch order, as a rank alone does.
func (h *sharing) runAll(s *Section) error {
	s.Policy, s.helpers.size = sched.Replicate, 1
	timed, err := h.passAll(s)
	if err == nil {
		err = h.runEach(s)
	}
	if err == nil {
		err = h.ranAll(s, timed)
	}
	if err != nil {
		return h.sectionFails(err)
	}
	return nil
}

// passAll moves the section machine past s. It reports whether s is to be timed.
func (h *sharing) passAll(s *Section) (timed bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return false, h.err
	}
	if err := h.pass(s, signatureOf(s)); err != nil || len(s.Tasks) == 0 {
		return false, err
	}
	k := h.stats.of(s.Tasks[0].Kernel)
	k.Decision = "replicate"
	if k.whole.untimed > 0 {
		k.whole.untimed--
		return false, nil
	}
	s.begun = h.now()
	return true, nil
}

// ranAll counts s and its tasks, which have run.
func (h *sharing) ranAll(s *Section, timed bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.countShort(s)
	if len(s.Tasks) > 0 {
		k := s.Tasks[0].known
		took := k.whole.typical()
		if timed {
			took = h.now() - s.begun
			k.whole.took(took)
		}
		k.SectionSeconds += took.Seconds()
		k.AloneSeconds += s.alone()
	}
	return h.err
}

// runEach runs the tasks of s in order. Between long tasks it receives frames that have
// arrived, and checks whether the job continues.
func (h *sharing) runEach(s *Section) error {
	var last time.Duration
	for i := range s.Tasks {
		h.RunAlone(s, i)
		if s.Tasks[i].counted && s.inBodies-last >= shortTask {
			last = s.inBodies
			h.takeIn()
			h.mu.Lock()
			err := h.err
			h.mu.Unlock()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
