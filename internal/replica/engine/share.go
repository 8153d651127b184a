package engine

import (
	"errors"
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/sched"
)

// Share completes s together with the other replicas of the rank [INTRA, Algorithm 1,
// lines 20 to 28].
func (h *sharing) Share(s *Section) error {
	if h.keeper != nil {
		return h.keeper.Share(s)
	}
	return h.share(s)
}

// share is Share for a section whose inputs are current here.
func (h *sharing) share(s *Section) error {
	err := h.watch.atSection(s)
	if err == nil && h.runsAll(s) {
		return h.runAll(s)
	}
	if err == nil {
		err = h.complete(s)
	}
	if err == nil && s.Agree != nil {
		err = s.Agree()
	}
	if err != nil {
		return h.sectionFails(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open = nil
	took := h.completed(s, s.begun) - s.begun
	s.exchange.leave(s)
	h.learn(s, took)
	return nil
}

// sectionFails makes all sections fail with err, and returns the error for the program.
// The section that failed stays open, because its updates may still arrive. If the job
// rolls back, sectionFails waits until the updates of this replica have left the memory of
// the program. The program may overwrite that memory afterwards, and its contents must not
// reach a replica that does not know of the rollback.
func (h *sharing) sectionFails(err error) error {
	if errors.Is(err, errBehind) { // the program runs again, and the section with it
		return err
	}
	h.mu.Lock()
	h.fail(err)
	err = diverged(h.withCause(err))
	over := h.runCtx.Err() != nil
	h.mu.Unlock()
	if over {
		_ = h.poller.Wait(h.ctx, func() bool { return h.pending.Load() == 0 }) // an error means that the job ends, so no replica continues
	}
	return err
}

// learn records how long s took. s is complete.
func (h *sharing) learn(s *Section, took time.Duration) {
	if len(s.Tasks) == 0 {
		return
	}
	known := h.stats.of(s.Tasks[0].Kernel)
	switch {
	case s.decision != nil:
		s.decision.learn(execution{way: s.way, bytes: s.bytes, took: took, spent: s.inBodies,
			ran: s.ran, along: s.along, tasks: len(s.Tasks), workers: s.helpers.size, met: h.machine.Met(s.Number)}, &h.decisions)
		known.Decision = s.decision.word()
		known.DecidedAfter = max(known.DecidedAfter, int64(s.decision.settled(s.way)))
	case s.Policy == sched.Replicate:
		known.Decision = "replicate"
	case s.keeps():
		known.Decision = "keep"
	}
}

// complete runs tasks and receives results until every task is complete.
func (h *sharing) complete(s *Section) error {
	// This goroutine polls after every task, so that a peer need not wake a sleeping
	// goroutine with every update. It does not poll while it sleeps.
	h.poller.Attend(true)
	defer h.poller.Linger()
	if err := h.work(s); err != nil {
		return err
	}
	if s.verifier != nil {
		if err := s.verifier.complete(s); err != nil {
			return err
		}
	}
	return h.handedOver(s)
}

// work runs tasks and receives results until the results of all tasks of s have arrived,
// or an error makes them useless. When it returns, no worker works on s any more.
func (h *sharing) work(s *Section) error {
	h.mu.Lock()
	defer h.joinHelpers(s)
	h.open = s
	w := &h.workers[0]
	s.begun = h.now()
	err := h.enter(s)
	if err == nil && s.decision != nil {
		err = h.gather(w, s, h.yield)
	}
	for err == nil && h.err == nil && s.helpers.end == nil {
		var next step
		next, err = w.work(s)
		switch {
		case err != nil:
		case len(w.out) > 0:
			h.unlocked(w.flush)
		case next.kind == allHere:
			return nil
		case next.kind == waitForPeer:
			missing, from := s.exchange.missing(), h.now()
			h.unlocked(func() { err = h.awaitChange(next.seen, next.until) })
			if missing >= 0 {
				h.waited(s, missing, from)
			}
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

// reconsider ends a trial of sharing s after its first task, unless that task has shown
// that sharing is worthwhile. This replica then runs the other tasks alone.
func (h *sharing) reconsider(s *Section) {
	if !s.tries {
		return
	}
	s.tries = false
	if !s.decision.goesOn(s.inBodies, s.ran, len(s.Tasks), s.helpers.size) {
		s.Policy, s.way = sched.Replicate, direct.Replicate
		h.machine.Withdraw()
	}
}

// gather informs the peers that this replica has reached s, if they may not notice
// otherwise. In the first shared section it also waits until the peers have reached their first
// one. Before that section, replicas spend different times, for example to read the input.
// Replicas that begin far apart stay apart, because a replica that is many sections behind has no
// room for updates. A peer may never arrive, so the wait is no longer than the time that this
// replica took to reach s.
func (h *sharing) gather(w *worker, s *Section, yield func(func())) error {
	first := h.gathered != h.machine
	a, announces := s.exchange.(announcer)
	if first || announces || s.Policy == sched.Replicate {
		h.gathered = h.machine
		w.entered(s)
	}
	if first || announces {
		yield(w.flush)
	}
	if first {
		from := h.now()
		until := from + min(from, longestGathering)
		for h.err == nil && h.machine.Alone() && h.now() < until {
			seen := h.changes.Load()
			var err error
			yield(func() { err = h.awaitChange(seen, until) })
			if err != nil {
				return err
			}
		}
		if len(s.Tasks) > 0 {
			h.waited(s, 0, from)
		}
		s.begun = h.now()
	}
	if announces {
		return a.meet(s, yield)
	}
	return nil
}

// longestGathering bounds the wait of gather. Its other bound, the clock of this process, includes
// the time before a rollback and may then be large.
const longestGathering = time.Minute

// handedOver waits until no link refers to memory of this section.
func (h *sharing) handedOver(s *Section) error {
	if s.pending.Load() == 0 {
		return nil
	}
	from := h.now()
	err := h.poller.WaitAttending(h.runCtx, time.Time{}, func() bool { return s.pending.Load() == 0 })
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waited(s, 0, from)
	return h.ended(err)
}
