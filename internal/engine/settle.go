package engine

import (
	"slices"

	"github.com/intrahpc/intra/sched"
	"github.com/intrahpc/intra/update"
)

// A section without waiting is left by the program as soon as there is nothing to
// run for it here. Updates for it are taken in while the program goes on, and while
// those that come from here leave its memory. What its tasks name is not the
// program's until it is settled; sections whose tasks are not independent of its
// tasks settle it first, and so do messages, safe points, Once and the end of the
// program. Until then a task that is lost can be run again at any time, since
// nobody has touched what it reads and writes.

// leavesOpen reports whether the program may go on from s before all is here. What
// is stored into the arrays of others is complete when all are done with it, and
// results that are compared have to be right before they are used.
func (h *sharing) leavesOpen(s *Section) bool {
	return s.NoWait && s.exchange == exchange(&h.updates) && s.Policy != sched.Replicate && s.verifier == nil && s.Agree == nil &&
		!(s.allHere && s.pending.Load() == 0)
}

// leaveOpen leaves s, under the lock. No worker has to do with it.
func (h *sharing) leaveOpen(s *Section) {
	h.machine.Defer()
	h.later = append(h.later, s)
	h.unsettled.Store(true)
}

// opened returns the section of that number if it is open, nil otherwise.
func (h *sharing) opened(number uint64) *Section {
	if h.open != nil && h.open.Number == number {
		return h.open
	}
	for _, s := range h.later {
		if s.Number == number {
			return s
		}
	}
	return nil
}

// Left reports whether the program has left s open.
func (h *sharing) Left(s *Section) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Contains(h.later, s)
}

// Unsettled reports whether the program has left sections open.
func (h *sharing) Unsettled() bool { return h.unsettled.Load() }

// Settle completes all sections that the program has left open. While another
// goroutine is in a section it does nothing: they are no business of this one's.
func (h *sharing) Settle() error {
	if !h.Unsettled() || !h.driving.TryLock() {
		return nil
	}
	defer h.driving.Unlock()
	if held := h.held; held != nil {
		h.held = nil
		h.unsettled.Store(false)
		return held()
	}
	return h.settle(len(h.later))
}

// Hold has Settle call a function, once. Checked mode keeps results back until then.
func (h *sharing) Hold(settle func() error) {
	h.held = settle
	h.unsettled.Store(true)
}

// settleFor completes those that have to be before s is entered.
func (h *sharing) settleFor(s *Section) error {
	if len(h.later) == 0 {
		return nil
	}
	h.mu.Lock()
	n := h.machine.Overdue(func(number uint64) bool { return h.independent(h.opened(number), s) })
	h.mu.Unlock()
	return h.settle(n)
}

// independent reports whether no task of one of two sections writes what one of the
// other names.
func (h *sharing) independent(a, b *Section) bool {
	return h.checker.Check(len(a.Tasks)+len(b.Tasks), func(i int) []update.Region {
		if i < len(a.Tasks) {
			return a.regions(i)
		}
		return b.regions(i - len(a.Tasks))
	}) == nil
}

// settle completes the first so many of them.
func (h *sharing) settle(n int) error {
	for range n {
		if err := h.settleFirst(); err != nil {
			return err
		}
	}
	return nil
}

// settleFirst completes the oldest of them.
func (h *sharing) settleFirst() error {
	s, current := h.later[0], h.current
	from := h.now()
	err := h.end(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = current
	if err != nil {
		h.unlocked(func() { err = h.sectionFails(err) })
		return err
	}
	h.open = nil
	met := h.machine.Met()
	s.exchange.leave(s)
	h.later = slices.Delete(h.later, 0, 1)
	h.unsettled.Store(len(h.later) > 0)
	waited := h.now() - from
	s.Tasks[0].known.SectionSeconds += waited.Seconds()
	s.took += waited
	h.learn(s, met)
	return nil
}

// end goes on with s until all of it is done.
func (h *sharing) end(s *Section) error {
	h.poller.Attend(true)
	defer h.poller.Linger()
	if err := h.resume(s); err != nil {
		return err
	}
	return h.handedOver(s)
}

// resume goes on with s where it was left.
func (h *sharing) resume(s *Section) error {
	h.mu.Lock()
	defer h.joinHelpers(s)
	s.NoWait, s.helpers.joining = false, false
	h.machine.Resume()
	h.open, h.current = s, s
	return h.drive(s, nil)
}
