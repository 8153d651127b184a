package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/sched"
)

// runsAll reports whether this replica runs all tasks of s by itself, so that it needs no
// protocol. It ignores frames of peers about s, because no replica waits for a task that is
// not claimed. With the adaptive schedule runsAll decides whether to share s. A section that
// is not shared but takes long still has a protocol: a peer that shares it may be faster.
func (h *sharing) runsAll(s *Section) bool {
	if s.keeps() || s.Agree != nil || len(h.workers) > 1 || h.verifier != nil || h.exact() {
		return false
	}
	policy := s.Policy
	if h.setup.Sched != "" {
		var err error
		if policy, err = sched.Parse(h.setup.Sched); err != nil {
			return false // schedule returns the error
		}
	}
	switch policy {
	case sched.Replicate:
		return true
	case sched.Adaptive:
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.err != nil || h.gathered != h.machine {
			return false
		}
		s.Policy = policy
		h.choose(s)
		d := s.decision
		return s.way == direct.Replicate && d.alone.n > 0 && d.alone.least() < negligible
	}
	return false
}

// runAll runs all tasks of s in launch order, as a rank alone does.
func (h *sharing) runAll(s *Section) error {
	s.Policy, s.helpers.size = sched.Replicate, 1
	timed, err := h.passAll(s)
	if err == nil {
		if len(h.workers[0].out) > 0 {
			h.announce()
		}
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

// announceEvery is the time after which a replica that shares no section informs its peers of
// the section that it has reached. Over some links the frame takes longer than a short
// section. announceEvery is shorter than leastPatience, so peers that wait see progress.
const announceEvery = leastPatience / 2

// passAll moves the section machine past s. It reports whether s is to be timed. With the
// adaptive schedule, peers are informed of some of the sections that are timed.
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
	if s.decision != nil && s.begun-h.announced >= announceEvery {
		h.announced = s.begun
		h.workers[0].entered(s)
	}
	return true, nil
}

// announce sends the frames of passAll, and handles those of the peers.
func (h *sharing) announce() {
	h.poller.Attend(true)
	h.workers[0].flush()
	h.takeIn()
	h.poller.Linger()
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
		if s.decision != nil {
			h.learn(s, took)
		}
	}
	return h.err
}

// runEach runs the tasks of s in order. Between long tasks it receives frames that have
// arrived, and checks whether the job continues.
func (h *sharing) runEach(s *Section) error {
	var last time.Duration
	for i := range s.Tasks {
		h.RunAlone(s, i)
		if s.Tasks[i].counted && s.inBodies-last >= batchInterval {
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
