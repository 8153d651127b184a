package transport

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A wake-up of a sleeping process costs about 20 µs, so a waiter with its own core polls
// for about that time before it yields the core to other processes (see turns). On a single
// processor no frame can arrive while the waiter polls, so it only looks for frames that
// other processes have already handed over.
const (
	spinTime   = 40 * time.Microsecond
	spinTimeUP = 2 * time.Microsecond
	clockEvery = 16 // polls between two clock readings, until the time of a poll is known
	clockStep  = time.Microsecond
	// spinPolls bounds the number of polls, because the clock of a test may stand still
	// while a goroutine runs.
	spinPolls = 1 << 14
)

// Poller drives the links of one process for the goroutines that wait for
// something to arrive or to be handed over. Any number of goroutines may wait
// at the same time, each for a condition of its own.
type Poller struct {
	mu        sync.Mutex
	links     atomic.Pointer[[]Link] // replaced as a whole under mu
	promises  int                    // number of Attend(true) without Attend(false), under mu
	lingering bool                   // attention outlasts a wait, under mu
	watched   bool                   // the timer that ends lingering runs, under mu
	attended  atomic.Bool            // the links have attention; changed under mu
	waits     atomic.Uint64          // number of waits that poll now, and in the bits above the number of all waits so far
	sleeping  atomic.Int32           // number of waiters that sleep, or are about to
	wake      chan struct{}          // closed and replaced by Wake, under mu
	spin      time.Duration
	turns     turns
	stride    atomic.Int32 // polls between two clock readings
}

// Poller.waits holds two counts. The upper bits count all waits so far, and the lower bits count
// the waits that poll now.
const (
	oneWait   = 1 << 20
	waitsPoll = oneWait - 1
)

// NewPoller returns a poller without links.
func NewPoller() *Poller {
	p := &Poller{wake: make(chan struct{}), spin: spinTime, turns: newTurns(1, 1, nil)}
	if processors() == 1 || runtime.GOMAXPROCS(0) == 1 {
		p.spin = spinTimeUP
	}
	p.links.Store(new([]Link))
	p.stride.Store(clockEvery)
	return p
}

// Crowd sets how many processes run on this host. It must be called before any wait. If
// there are more processes than cores, waiters yield their core. From time to time they
// also call balance, unless it is nil. balance may move them to another core.
func (p *Poller) Crowd(processes int, balance func()) {
	p.turns = newTurns(processes, processors(), balance)
}

// Crowded reports whether there are more processes than cores.
func (p *Poller) Crowded() bool { return p.turns.crowded }

// Add adds a started link to drive.
func (p *Poller) Add(l Link) {
	if t, ok := l.(Turning); ok && p.turns.crowded {
		t.TakeTurns()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	links := append(slices.Clone(*p.links.Load()), l)
	if p.attended.Load() {
		l.Attend(true)
	}
	p.links.Store(&links)
}

// Remove removes a link. A Poll that has already begun may still call it.
func (p *Poller) Remove(l Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := *p.links.Load()
	i := slices.Index(old, l)
	if i < 0 {
		return
	}
	links := slices.Delete(slices.Clone(old), i, i+1)
	p.links.Store(&links)
	if p.attended.Load() {
		l.Attend(false)
	}
}

// Poll makes one non-blocking round over all links and reports whether
// anything moved.
func (p *Poller) Poll() bool {
	moved := false
	for _, l := range *p.links.Load() {
		if l.Progress() {
			moved = true
		}
	}
	return moved
}

// Wake makes every sleeping waiter check its condition again. It must be called after each
// change on which a condition may depend, in particular by the Receivers of the links and
// the Owners of the frames. It costs one atomic load if no waiter sleeps.
func (p *Poller) Wake() {
	if p.sleeping.Load() == 0 {
		return
	}
	p.mu.Lock()
	close(p.wake)
	p.wake = make(chan struct{})
	p.mu.Unlock()
}

// Wait polls the links, then sleeps between calls of Wake. It returns nil when done reports
// true, or the error of ctx when that is done. Only the calling goroutine calls done, but
// many times. The Receivers may run at the same time, so done must be safe against data
// races with them.
func (p *Poller) Wait(ctx context.Context, done func() bool) error {
	return p.wait(ctx, time.Time{}, 0, false, done)
}

// WaitFor is like Wait, but also returns nil when it has slept for patience; the caller
// checks the condition itself. A wait that need not sleep does not read the clock.
func (p *Poller) WaitFor(ctx context.Context, patience time.Duration, done func() bool) error {
	return p.wait(ctx, time.Time{}, patience, false, done)
}

// WaitUntil is like Wait, but also returns nil when the deadline has passed; the caller
// checks the condition itself.
func (p *Poller) WaitUntil(ctx context.Context, deadline time.Time, done func() bool) error {
	return p.wait(ctx, deadline, 0, false, done)
}

// WaitAttending is WaitUntil by a goroutine that has promised to poll: the promise is
// suspended while it sleeps. A zero deadline never passes. WaitAttending panics if
// there is no promise: otherwise the links would keep attention although no goroutine
// polls.
func (p *Poller) WaitAttending(ctx context.Context, deadline time.Time, done func() bool) error {
	return p.wait(ctx, deadline, 0, true, done)
}

// LookFor polls until done, at most for spin, and reports whether it is done. It is for
// frames that arrive so soon that sleeping and waking would take longer. On a single
// processor no frame arrives meanwhile, so LookFor does not poll. The caller must have
// promised to poll.
func (p *Poller) LookFor(ctx context.Context, spin time.Duration, done func() bool) bool {
	return done() || p.spin >= spinTime && p.pollFor(ctx, time.Time{}, spin, false, done)
}

func (p *Poller) wait(ctx context.Context, deadline time.Time, patience time.Duration, attends bool, done func() bool) error {
	if done() {
		return nil
	}
	// Frames that have already arrived may satisfy the condition: such a wait
	// needs no attention, no clock and no sleep.
	if p.Poll() && done() {
		return nil
	}
	if p.pollFor(ctx, deadline, p.spin, p.spin >= spinTime, done) {
		return nil
	}
	return p.rest(ctx, deadline, patience, attends, done)
}

// rest continues a wait after unsuccessful polling.
func (p *Poller) rest(ctx context.Context, deadline time.Time, patience time.Duration, attends bool, done func() bool) error {
	var timer *time.Timer
	for again := false; ; again = true {
		if again && p.pollFor(ctx, deadline, p.spin, false, done) || passed(deadline) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// The waiter counts itself before its last check, so that Wake's shortcut
		// loses no wake-up: either the check sees the change, or Wake sees the
		// count.
		p.mu.Lock()
		p.sleeping.Add(1)
		wake := p.wake
		p.mu.Unlock()
		if done() {
			p.sleeping.Add(-1)
			return nil
		}
		if patience > 0 && deadline.IsZero() {
			deadline = time.Now().Add(patience)
		}
		var timeout <-chan time.Time
		if !deadline.IsZero() {
			if timer == nil {
				timer = time.NewTimer(time.Until(deadline))
				defer timer.Stop()
			}
			timeout = timer.C
		}
		p.sleep(attends)
		select {
		case <-wake:
		case <-ctx.Done():
		case <-timeout:
		}
		if attends {
			p.Attend(true)
		}
		p.sleeping.Add(-1)
		if done() {
			return nil
		}
	}
}

// pollFor gives the links attention and polls until done, for the spin time at most. If
// stays is set, pollFor may poll longer.
func (p *Poller) pollFor(ctx context.Context, deadline time.Time, spin time.Duration, stays bool, done func() bool) bool {
	p.waits.Add(oneWait + 1)
	if !p.attended.Load() {
		p.lingerOn()
	}
	ok := p.look(ctx, deadline, spin, stays, done)
	p.waits.Add(^uint64(0))
	if !ok || p.sleeping.Load() > 0 { // a sleeper needs links that move by themselves
		p.mu.Lock()
		p.lapse()
		p.mu.Unlock()
	}
	return ok
}

// look polls until done, with the limits of pollFor.
func (p *Poller) look(ctx context.Context, deadline time.Time, spin time.Duration, stays bool, done func() bool) bool {
	var end, last time.Time // the clock is not read before the first idle polls
	idle, left := 0, int(p.stride.Load())
	turn, spin := p.turns.begin(spin, stays)
	for i := 1; idle < spinPolls; i++ {
		if p.Poll() {
			// While data flows the waiter keeps polling: sleeping in the middle of a
			// long transfer would cost a wake-up per piece.
			if done() {
				turn.end()
				return true
			}
			if i%clockEvery == 0 && (ctx.Err() != nil || passed(deadline)) {
				return false
			}
			end, last, idle = time.Time{}, time.Time{}, 0
			continue
		}
		idle++
		if done() {
			turn.end()
			return true
		}
		if !turn.give(idle) {
			return done()
		}
		if left--; left > 0 {
			continue
		}
		now := time.Now()
		left = int(p.stride.Load())
		switch {
		case end.IsZero():
			end = now.Add(spin)
		case now.After(end):
			more := turn.stay()
			if more == 0 {
				return false
			}
			end = now.Add(more)
		default:
			p.pace(now.Sub(last) / time.Duration(left))
		}
		last = now
		if ctx.Err() != nil || (!deadline.IsZero() && !now.Before(deadline)) {
			return false
		}
		if !turn.on || p.shares() {
			runtime.Gosched()
		}
	}
	return false
}

// shares reports whether a wait that takes turns should also yield to other goroutines of
// its process. Each such yield makes Go's scheduler wake a thread to look for runnable
// goroutines, and that thread takes turns on the core as well.
func (p *Poller) shares() bool {
	return !p.turns.crowded || p.spin < spinTime || p.waits.Load()&waitsPoll > 1
}

// pace adapts the stride to the time of an idle poll: some links cost a system
// call.
func (p *Poller) pace(poll time.Duration) {
	if stride := min(max(int32(clockStep/max(poll, 1)), 4), 64); stride != p.stride.Load() {
		p.stride.Store(stride)
	}
}

// Attend(true) promises that the caller polls again and again until
// Attend(false), so that peers need not pay for waking this process. Calls nest.
func (p *Poller) Attend(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.promises++
		p.waits.Add(oneWait) // shows watch that the attention is used
		p.attend()
		return
	}
	if p.promises--; p.promises == 0 && !p.lingering {
		p.lapse()
	}
}

// attend gives the links attention if they have none. The caller holds mu.
func (p *Poller) attend() {
	if p.attended.Load() {
		return
	}
	for _, l := range *p.links.Load() {
		l.Attend(true)
	}
	p.attended.Store(true)
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
