package intra

import (
	"context"
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/section"
)

// share completes s together with the other replicas [INTRA, Algorithm 1,
// lines 20 to 28].
func (e *engine) share(s *Section) error {
	begun := e.now()
	err := e.work(s)
	if err == nil {
		err = e.handedOver(s)
	}
	if err == nil && s.check != nil {
		err = e.agree(s)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.fail(err) // the section stays open: its updates may still arrive
		return diverged(err)
	}
	e.open = nil
	e.machine.Leave()
	e.completed(s, begun)
	if s.decision != nil && len(s.tasks) > 0 {
		s.decision.learn(s.policy, e.now()-begun, s.inBodies, s.ran, len(s.tasks))
		e.stats.of(s.tasks[0].task).Decision = s.decision.word()
	}
	return nil
}

// work runs tasks and takes in updates until every task of s is here.
func (e *engine) work(s *Section) error {
	// This goroutine polls after every task, so that the peers need not wake
	// a sleeping one with every update; except while it waits.
	e.poller.Attend(true)
	defer e.poller.Attend(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.open = s
	acts, err := e.enter(s)
	if err == nil {
		err = e.perform(acts)
	}
	for err == nil && e.err == nil {
		seen := e.changes.Load()
		step, acts := e.machine.Next(e.now())
		switch step.Kind {
		case section.Done:
			return nil
		case section.Wait:
			err = e.await(s, seen, step.Until)
		case section.Run:
			e.runTask(s, step.Task, acts)
		}
	}
	if err == nil {
		err = e.err
	}
	return err
}

// runTask runs one task here and sends its update. It is called under the
// lock, which it gives up meanwhile; acts are what to do before the body runs.
func (e *engine) runTask(s *Section, task int, acts []section.Action) {
	if e.machine.Adopted(task) {
		e.stats.total.TasksRerun++
	}
	claims := e.frames(s, acts)
	e.mu.Unlock()
	e.send(claims)
	from := e.now()
	func() {
		defer e.mu.Lock() // also when the body panics, for the caller's sake
		s.run(task)
		e.kills.at(job.KillTask)
	}()
	to := e.now()
	e.trace.task(s, task, from, to)
	t, spent := s.tasks[task].task, to-from
	e.stats.ran(t, spent)
	e.average[t] = average(e.average[t], spent)
	s.inBodies, s.ran = s.inBodies+spent, s.ran+1
	updates := e.frames(s, e.machine.Ran(task))
	e.mu.Unlock()
	e.send(updates)
	e.poller.Poll()
	e.mu.Lock()
}

// await waits until something has changed since seen or the time until has
// come. It gives up the lock, and the promise to poll: it may sleep.
func (e *engine) await(s *Section, seen uint64, until time.Duration) error {
	missing := e.machine.Missing()
	e.mu.Unlock()
	e.poller.Attend(false)
	changed := func() bool { return e.changes.Load() != seen }
	from := e.now()
	var err error
	if until > 0 {
		err = e.poller.WaitUntil(e.ctx, e.start.Add(until), changed)
	} else {
		err = e.poller.Wait(e.ctx, changed)
	}
	e.poller.Attend(true)
	e.mu.Lock()
	if missing >= 0 {
		e.waited(s, missing, from)
	}
	return e.ended(err)
}

// handedOver waits until the memory of this section is no link's any more.
func (e *engine) handedOver(s *Section) error {
	if e.pending.Load() == 0 {
		return nil
	}
	from := e.now()
	err := e.poller.Wait(e.ctx, func() bool { return e.pending.Load() == 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waited(s, 0, from)
	return e.ended(err)
}

// ended puts the reason why the job ended into the error of a wait.
func (e *engine) ended(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrJobEnded, context.Cause(e.ctx))
}
