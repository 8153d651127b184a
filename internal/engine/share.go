package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
)

// Share completes s together with the other replicas [INTRA, Algorithm 1,
// lines 20 to 28].
func (h *sharing) Share(s *Section) error {
	err := h.exchange(s)
	if err == nil && s.Agree != nil {
		err = s.Agree()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if err != nil {
		h.fail(err) // the section stays open: its updates may still arrive
		return diverged(err)
	}
	h.open = nil
	h.machine.Leave()
	h.completed(s, s.begun)
	if s.decision != nil && len(s.Tasks) > 0 {
		if s.stored {
			h.stats.received(s.Tasks[0].known, h.stores.board.Received())
		}
		s.decision.learn(execution{policy: s.Policy, took: h.now() - s.begun, spent: s.inBodies,
			ran: s.ran, tasks: len(s.Tasks), workers: s.helpers.size, met: h.machine.Met()})
		h.stats.of(s.Tasks[0].Kernel).Decision = s.decision.word()
	}
	return nil
}

// exchange runs tasks and exchanges updates until all of both is done.
func (h *sharing) exchange(s *Section) error {
	// This goroutine polls after every task, so that the peers need not wake
	// a sleeping one with every update; except while it sleeps.
	h.poller.Attend(true)
	defer h.poller.Linger()
	if err := h.work(s); err != nil {
		return err
	}
	return h.handedOver(s)
}

// work runs tasks and takes in updates until every task of s is here, and no
// worker has to do with s any more.
func (h *sharing) work(s *Section) error {
	h.mu.Lock()
	defer h.joinHelpers(s)
	h.open = s
	acts, err := h.enter(s)
	if err == nil {
		err = h.perform(acts)
	}
	w := &h.workers[0]
	if err == nil && s.decision != nil {
		err = h.gather(s)
	}
	if err == nil && s.stored {
		err = h.meet(s)
	}
	s.begun = h.now()
	for err == nil && h.err == nil && s.helpers.end == nil {
		seen := h.changes.Load()
		var step section.Step
		if step, err = w.next(s); err != nil {
			break
		}
		if step.Kind != section.Run && len(w.out) > 0 {
			h.unlocked(w.flush)
			continue
		}
		switch step.Kind {
		case section.Done:
			return nil
		case section.Wait:
			err = h.await(s, seen, step.Until)
		case section.Run:
			h.wakeHelper(s)
			w.run(s, step.Task)
		}
	}
	if s.helpers.end != nil {
		s.helpers.end()
	}
	if err == nil {
		err = h.err
	}
	h.unlocked(w.flush)
	return err
}

// gather tells the peers that this replica is here, if they may not hear of it
// otherwise, and waits in the first section that is shared until they have come
// to theirs. What comes before it, such as reading the input, takes each
// another time, and replicas that begin far apart stay so: updates for a
// replica that is many sections behind find no room there. A peer may never
// come, so nobody waits for longer than it has taken to come here.
func (h *sharing) gather(s *Section) error {
	w, first := &h.workers[0], h.gathered != h.machine
	if !first && s.Policy != sched.Replicate && !s.stored {
		return nil
	}
	h.gathered = h.machine
	w.entered(s)
	if !first && !s.stored {
		return nil
	}
	h.unlocked(w.flush)
	if !first {
		return nil
	}
	from := h.now()
	until := from + min(from, longestGathering)
	for h.err == nil && h.machine.Alone() && h.now() < until {
		seen := h.changes.Load()
		var err error
		h.unlocked(func() {
			err = h.poller.WaitAttending(h.runCtx, h.start.Add(until), func() bool { return h.changedSince(seen) })
		})
		if err != nil {
			return h.ended(err)
		}
	}
	if len(s.Tasks) > 0 {
		h.waited(s, 0, from)
	}
	return nil
}

// longestGathering is for a process that has gone back: its clock ran before.
const longestGathering = time.Minute

// await waits until something has changed since seen or the time until has
// come. It gives up the lock, and the promise to poll while it sleeps.
func (h *sharing) await(s *Section, seen uint64, until time.Duration) error {
	missing := h.machine.Missing()
	var deadline time.Time
	if until > 0 {
		deadline = h.start.Add(until)
	}
	from := h.now()
	var err error
	h.unlocked(func() {
		err = h.poller.WaitAttending(h.runCtx, deadline, func() bool { return h.changedSince(seen) })
	})
	if missing >= 0 {
		h.waited(s, missing, from)
	}
	return h.ended(err)
}

// handedOver waits until the memory of this section is no link's any more.
func (h *sharing) handedOver(s *Section) error {
	if h.pending.Load() == 0 {
		return nil
	}
	from := h.now()
	err := h.poller.WaitAttending(h.runCtx, time.Time{}, func() bool { return h.pending.Load() == 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited(s, 0, from)
	return h.ended(err)
}
