package transport

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A wake-up of a sleeping process costs about 20 µs, so a waiter looks for
// that order of time before it sleeps. On a single processor nothing can
// arrive while it looks, except what other processes have handed over already.
const (
	spinTime   = 40 * time.Microsecond
	spinTimeUP = 2 * time.Microsecond
	clockEvery = 16 // polls between two looks at the clock
	// The clock of a test may stand still while anybody runs.
	spinPolls = 1 << 14
)

// Poller drives the links of one process for the goroutines that wait for
// something to arrive or to be handed over. Any number of goroutines may wait
// at the same time, each for a condition of its own.
type Poller struct {
	mu        sync.Mutex
	links     atomic.Pointer[[]Link] // replaced as a whole under mu
	attending int                    // waiters that poll now
	attended  bool                   // what the links were told
	linger    linger
	sleeping  atomic.Int32  // waiters that sleep, or are about to
	wake      chan struct{} // closed and replaced by Wake, under mu
	spin      time.Duration
}

// NewPoller returns a poller without links.
func NewPoller() *Poller {
	p := &Poller{wake: make(chan struct{}), spin: spinTime}
	if runtime.NumCPU() == 1 || runtime.GOMAXPROCS(0) == 1 {
		p.spin = spinTimeUP
	}
	p.links.Store(new([]Link))
	return p
}

// Add gives the poller a started link to drive.
func (p *Poller) Add(l Link) {
	p.mu.Lock()
	defer p.mu.Unlock()
	links := append(slices.Clone(*p.links.Load()), l)
	if p.attended {
		l.Attend(true)
	}
	p.links.Store(&links)
}

// Remove takes a link away. A Poll that has already begun may still call it.
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
	if p.attended {
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

// Wake makes every sleeping waiter look at its condition again. Whoever
// changes what a condition depends on calls it after the change: above all
// the Receivers of the links, and the Owners of the frames. It costs one
// atomic load when nobody sleeps.
func (p *Poller) Wake() {
	if p.sleeping.Load() == 0 {
		return
	}
	p.mu.Lock()
	close(p.wake)
	p.wake = make(chan struct{})
	p.mu.Unlock()
}

// Wait polls the links, then sleeps between calls of Wake, until done reports
// true, and returns nil; or until ctx is done, and returns its error. done is
// called often, by this goroutine only, and must be safe against what the
// Receivers do at the same time.
func (p *Poller) Wait(ctx context.Context, done func() bool) error {
	return p.wait(ctx, time.Time{}, false, done)
}

// WaitUntil is Wait that also returns nil when the deadline has passed; the
// caller looks which of the two it was.
func (p *Poller) WaitUntil(ctx context.Context, deadline time.Time, done func() bool) error {
	return p.wait(ctx, deadline, false, done)
}

// WaitAttending is WaitUntil by a goroutine that has promised to poll: the
// promise is suspended while it sleeps. A zero deadline never passes.
func (p *Poller) WaitAttending(ctx context.Context, deadline time.Time, done func() bool) error {
	return p.wait(ctx, deadline, true, done)
}

func (p *Poller) wait(ctx context.Context, deadline time.Time, attends bool, done func() bool) error {
	if done() {
		return nil
	}
	// A condition that what has arrived already makes true needs no
	// attention, no clock and no sleep.
	if p.Poll() && done() {
		return nil
	}
	var timer *time.Timer
	for {
		if p.pollFor(ctx, deadline, done) || passed(deadline) {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		// Counting this waiter before it looks a last time is what keeps
		// Wake's shortcut from losing a wake-up: either the look sees the
		// change, or Wake sees the count.
		p.mu.Lock()
		p.sleeping.Add(1)
		wake := p.wake
		p.mu.Unlock()
		if done() {
			p.sleeping.Add(-1)
			return nil
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

// pollFor attends the links and polls until done, for the spin time at most.
func (p *Poller) pollFor(ctx context.Context, deadline time.Time, done func() bool) bool {
	p.Attend(true)
	defer p.Attend(false)
	var end time.Time // the clock is not looked at before the first idle polls
	idle := 0
	for i := 1; idle < spinPolls; i++ {
		if p.Poll() {
			// While data flows the waiter stays: sleeping in the middle of
			// a long transfer would cost a wake-up per piece.
			if done() {
				return true
			}
			if i%clockEvery == 0 {
				if ctx.Err() != nil || passed(deadline) {
					return false
				}
			}
			end, idle = time.Time{}, 0
			continue
		}
		idle++
		if done() {
			return true
		}
		if i%clockEvery != 0 {
			continue
		}
		now := time.Now()
		switch {
		case end.IsZero():
			end = now.Add(p.spin)
		case now.After(end):
			return false
		}
		if ctx.Err() != nil || (!deadline.IsZero() && !now.Before(deadline)) {
			return false
		}
		runtime.Gosched()
	}
	return false
}

// Attend(true) promises that the caller polls again and again until
// Attend(false), so that peers need not pay for waking this process. Calls
// nest.
func (p *Poller) Attend(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if on {
		p.attending++
		p.linger.used = true
		p.tell(true)
		return
	}
	p.attending--
	p.tell(p.attending > 0 || p.linger.on)
}

// tell tells the links of attention that begins or ends. The caller holds mu.
func (p *Poller) tell(on bool) {
	if on == p.attended {
		return
	}
	p.attended = on
	for _, l := range *p.links.Load() {
		l.Attend(on)
	}
}

func passed(deadline time.Time) bool {
	return !deadline.IsZero() && !time.Now().Before(deadline)
}
