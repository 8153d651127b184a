package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/intrahpc/intra/comm"
	"github.com/intrahpc/intra/internal/section"
	"github.com/intrahpc/intra/sched"
)

// Share completes s together with the other replicas [INTRA, Algorithm 1,
// lines 20 to 28].
func (e *Engine) Share(s *Section) error {
	err := e.exchange(s)
	if err == nil && s.Agree != nil {
		err = s.Agree()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.fail(err) // the section stays open: its updates may still arrive
		return diverged(err)
	}
	e.open = nil
	e.machine.Leave()
	e.completed(s, s.begun)
	if s.decision != nil && len(s.Tasks) > 0 {
		if s.stored {
			e.stats.received(s.Tasks[0].known, e.stores.board.Received())
		}
		s.decision.learn(execution{policy: s.Policy, took: e.now() - s.begun, spent: s.inBodies,
			ran: s.ran, tasks: len(s.Tasks), workers: s.helpers.size, met: e.machine.Met()})
		e.stats.of(s.Tasks[0].Kernel).Decision = s.decision.word()
	}
	return nil
}

// exchange runs tasks and exchanges updates until all of both is done.
func (e *Engine) exchange(s *Section) error {
	// This goroutine polls after every task, so that the peers need not wake
	// a sleeping one with every update; except while it sleeps.
	e.poller.Attend(true)
	defer e.poller.Linger()
	if err := e.work(s); err != nil {
		return err
	}
	return e.handedOver(s)
}

// work runs tasks and takes in updates until every task of s is here, and no
// worker has to do with s any more.
func (e *Engine) work(s *Section) error {
	e.mu.Lock()
	defer e.joinHelpers(s)
	e.open = s
	acts, err := e.enter(s)
	if err == nil {
		err = e.perform(acts)
	}
	w := &e.workers[0]
	if err == nil && s.decision != nil {
		err = e.gather(s)
	}
	if err == nil && s.stored {
		err = e.meet(s)
	}
	s.begun = e.now()
	for err == nil && e.err == nil && s.helpers.end == nil {
		seen := e.changes.Load()
		var step section.Step
		if step, err = w.next(s); err != nil {
			break
		}
		if step.Kind != section.Run && len(w.out) > 0 {
			e.unlocked(w.flush)
			continue
		}
		switch step.Kind {
		case section.Done:
			return nil
		case section.Wait:
			err = e.await(s, seen, step.Until)
		case section.Run:
			e.wakeHelper(s)
			w.run(s, step.Task)
		}
	}
	if s.helpers.end != nil {
		s.helpers.end()
	}
	if err == nil {
		err = e.err
	}
	e.unlocked(w.flush)
	return err
}

// gather tells the peers that this replica is here, if they may not hear of it
// otherwise, and waits in the first section that is shared until they have come
// to theirs. What comes before it, such as reading the input, takes each
// another time, and replicas that begin far apart stay so: updates for a
// replica that is many sections behind find no room there. A peer may never
// come, so nobody waits for longer than it has taken to come here.
func (e *Engine) gather(s *Section) error {
	w, first := &e.workers[0], e.gathered != e.machine
	if !first && s.Policy != sched.Replicate && !s.stored {
		return nil
	}
	e.gathered = e.machine
	w.entered(s)
	if !first && !s.stored {
		return nil
	}
	e.unlocked(w.flush)
	if !first {
		return nil
	}
	from := e.now()
	until := from + min(from, longestGathering)
	for e.err == nil && e.machine.Alone() && e.now() < until {
		seen := e.changes.Load()
		var err error
		e.unlocked(func() {
			err = e.poller.WaitAttending(e.life, e.start.Add(until), func() bool { return e.changes.Load() != seen })
		})
		if err != nil {
			return e.ended(err)
		}
	}
	if len(s.Tasks) > 0 {
		e.waited(s, 0, from)
	}
	return nil
}

// longestGathering is for a process that has gone back: its clock ran before.
const longestGathering = time.Minute

// unlocked calls f without the lock, which it takes again even if f does not
// return.
func (e *Engine) unlocked(f func()) {
	e.mu.Unlock()
	defer e.mu.Lock()
	f()
}

// await waits until something has changed since seen or the time until has
// come. It gives up the lock, and the promise to poll while it sleeps.
func (e *Engine) await(s *Section, seen uint64, until time.Duration) error {
	missing := e.machine.Missing()
	var deadline time.Time
	if until > 0 {
		deadline = e.start.Add(until)
	}
	from := e.now()
	var err error
	e.unlocked(func() {
		err = e.poller.WaitAttending(e.life, deadline, func() bool { return e.changes.Load() != seen })
	})
	if missing >= 0 {
		e.waited(s, missing, from)
	}
	return e.ended(err)
}

// handedOver waits until the memory of this section is no link's any more.
func (e *Engine) handedOver(s *Section) error {
	if e.pending.Load() == 0 {
		return nil
	}
	from := e.now()
	err := e.poller.WaitAttending(e.life, time.Time{}, func() bool { return e.pending.Load() == 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waited(s, 0, from)
	return e.ended(err)
}

// ended puts the reason why the job ended into the error of a wait.
func (e *Engine) ended(err error) error {
	if err == nil {
		return nil
	}
	if e.ctx.Err() == nil {
		return context.Cause(e.life) // it goes back
	}
	return fmt.Errorf("%w: %w", comm.ErrJobEnded, context.Cause(e.ctx))
}
