package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// secondRuns runs the program of this process again, from a settled point, while all other
// processes go on. At a settled point it makes an image of the registered state, in memory.
// From then on the engine of messages and Once keep what the program gets from outside.
//
// Up to the safe point where the first run ended, nothing that the second run does can be seen
// outside of the process: its sections run here alone, its messages are compared and dropped, and
// calls of Once return what they had returned.
type secondRuns struct {
	due    []job.Again
	point  *settled   // place from which the program can run again; nil: none
	answer *job.Order // the last answer of the head
	back   *secondRun // the run that follows, if the present one is over, or about to be; nil: the present one goes on
}

// settled is a safe point from which the program can run again.
type settled struct {
	number uint64
	image  *checkpoint.Image
	use    *atomic.Int32 // number of frames with memory of image that the link holds; nil: no such frames are sent
	place  *sdr.Place
	output json.RawMessage
	files  any      // the result of Files.Keep
	once   [][]byte // encoded results of the later calls of Once, in order
	calls  int      // number of earlier calls of Once, in a process that keeps results
	// entered is the number of sections entered before it, in a process that keeps results.
	entered int
	made    time.Duration
}

// secondRun is a run of the program from a settled point.
type secondRun struct {
	from  *settled
	to    uint64 // the last safe point that the earlier run has entered
	begun time.Duration
	first time.Duration // when the run came to its first safe point, later than begun
	// detection is the time from the last memory received from the sibling until its death was
	// known, 0 if it lives.
	detection time.Duration
	// sections is the number of sections that the earlier run has completed after that safe point.
	sections   int
	left       int  // of these, sections that this run has yet to repeat
	over       bool // this run has reached the point where the earlier run ended; guarded by the lock of the node
	calls      int  // number of calls of Once
	repetition repetition
	caughtUp   func() // called when this run reaches the point where the earlier run ended
}

// errAlone ends a run of the program of a process that runs again alone.
var errAlone = fmt.Errorf("this replica runs again from its last settled point, alone: %w", errAgain{})

// errAgain is ErrRollback to the program, which returns it from run as it does when the job rolls
// back.
type errAgain struct{}

func (errAgain) Error() string        { return "return this error from run" }
func (errAgain) Is(target error) bool { return target == ErrRollback }

// dueAt returns the request for a run that ends at a safe point, nil if there is none.
func (a *secondRuns) dueAt(to uint64) *job.Again {
	if a.point == nil {
		return nil
	}
	i := slices.IndexFunc(a.due, func(d job.Again) bool { return d.To == to && d.From == a.point.number })
	if i < 0 {
		return nil
	}
	return &a.due[i]
}

// goAgain is called at each safe point of a process of which second runs are requested, before
// anything else is done there. It ends the run of the program if a second run is due.
func (r *recovering) goAgain(point uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := &r.second
	if a.dueAt(point) == nil {
		return nil
	}
	if err := r.messages.Load().Runs().Retire(errAlone); err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	a.back = &secondRun{from: a.point, to: point, begun: r.now()}
	r.noReturn()
	return errAlone
}

// caughtUp records that a second run has reached the point where the first one ended.
func (r *recovering) caughtUp(p *Program) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := p.second
	s.over = true
	r.traceAgain(s)
	t := &r.sharing.stats.total
	t.TasksRerun += p.rerun
	t.SecondRuns = append(t.SecondRuns, job.SecondRun{From: s.from.number, To: s.to, Detection: s.detection.Seconds(),
		Age: (s.begun - s.from.made).Seconds(), First: s.first.Seconds(), Seconds: r.since(s.begun)})
	r.second.due = slices.DeleteFunc(r.second.due, func(d job.Again) bool { return d.To == s.to && d.From == s.from.number })
}

// settle makes a safe point a settled one, from which the program can run again, if that is
// requested. A process of which second runs are requested calls it at each safe point, after
// everything else.
func (r *recovering) settle(point uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.ContainsFunc(r.second.due, func(d job.Again) bool { return d.From == point }) {
		return nil
	}
	switch {
	case r.program == nil:
		return errBack
	case r.sharing.verifier != nil || r.setup.Check:
		return errors.New("-fault again: a job that verifies results (-sdc, -check) keeps nothing to run again from")
	}
	place, err := r.messages.Load().Runs().Settle()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	im, err := r.program.Image()
	if err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	s := &settled{number: point, place: place, files: r.program.keepFiles(), made: r.now()}
	r.unlocked(func() { s.image = im.Clone(nil) })
	answer, err := r.ask(job.Reply{Kind: job.ReplySettled, Generation: r.member.Generation(), Number: point}, job.OrderSettled)
	if err != nil {
		return err
	}
	s.output = answer.Output
	r.messages.Load().Runs().Forget(place)
	r.second.point, r.sharing.once.kept = s, &s.once
	return nil
}

// ask sends a reply to the head and returns its answer. The caller holds the lock.
func (r *recovering) ask(reply job.Reply, answer job.OrderKind) (*job.Order, error) {
	r.second.answer = nil
	r.reply([]job.Reply{reply})
	for {
		seen := r.changes.Load()
		switch o := r.second.answer; {
		case r.back.Pending():
			return nil, errBack
		case o != nil && o.Kind == answer && o.Number == reply.Number:
			return o, nil
		}
		if err := r.waitChange(seen, r.yield); err != nil {
			return nil, err
		}
	}
}

// goesAlone reports whether the run of the program is over because another one follows.
func (r *recovering) goesAlone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.second.back != nil && !r.back.Pending()
}

// runsAgain returns the second run that is under way, nil if there is none. The caller holds the
// lock.
func (r *recovering) runsAgain() *secondRun {
	if s := r.second.back; s != nil {
		return s
	}
	if p := r.program; p != nil && p.second != nil && !p.second.over {
		return p.second
	}
	return nil
}

// goAlone prepares the next run of the program. The goroutine of the program calls it after
// the program has returned.
func (r *recovering) goAlone() error {
	first := r.messages.Load()
	if err := first.Released(r.runCtx); err != nil {
		return r.ended(err)
	}
	unused := func() bool { return r.sharing.pending.Load() == 0 && r.sharing.filling.Load() == 0 }
	if err := r.poller.Wait(r.runCtx, unused); err != nil {
		return r.ended(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.second.back
	if s == nil { // the job rolls back
		return errBack
	}
	if _, err := r.ask(job.Reply{Kind: job.ReplyAgain, Generation: r.member.Generation(), Number: s.from.number, Output: s.from.output}, job.OrderAgain); err != nil {
		return err
	}
	var next *sdr.Engine
	var err error
	ctx := r.runCtx
	r.unlocked(func() { next, err = first.Runs().Again(ctx, s.from.place) })
	switch {
	case r.second.back != s: // the job rolls back
		return errBack
	case err != nil:
		return fmt.Errorf("run again from safe point %d: %w", s.from.number, err)
	}
	r.messages.Store(next)
	return nil
}

// beginAlone makes p a second run, if one is to begin. The caller holds the lock.
func (r *recovering) beginAlone(p *Program) {
	s := r.second.back
	if s == nil {
		return
	}
	p.restore(s.from.image, s.from.number)
	s.left, s.caughtUp = s.sections, func() { r.caughtUp(p) }
	p.second, p.began, p.cut, p.oldest = s, 0, 0, 0
	if first := r.program; first != nil { // there was no cut since, and a settled point is none
		p.began, p.cut, p.oldest = first.began, first.cut, first.oldest
	}
	r.second.back = nil
}

// noReturn records that the program cannot run again from the last settled point. The caller
// holds the lock.
func (r *recovering) noReturn() { r.second.point, r.sharing.once.kept = nil, nil }

// repeated returns an error if a second run has returned without sending everything that the
// earlier run has sent.
func (p *Program) repeated(m *sdr.Engine) error {
	if p.second == nil {
		return nil
	}
	if n := m.Runs().Behind(); n > 0 {
		return fmt.Errorf("%w: the run again from safe point %d has returned without sending %d messages that the run before had sent: %s",
			ErrDiverged, p.second.from.number, n, job.ForgottenState)
	}
	return nil
}

// onceAgain returns the encoded result of the next call of Once in a second run.
func (s *secondRun) onceAgain() ([]byte, error) {
	if s.calls == len(s.from.once) {
		return nil, fmt.Errorf("intra.Once: %w: a run again from safe point %d calls it more often than the run before: %s", ErrDiverged, s.from.number, job.ForgottenState)
	}
	s.calls++
	return s.from.once[s.calls-1], nil
}
