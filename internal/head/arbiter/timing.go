package arbiter

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/base/lease"
)

// Timing says how long everything takes. All nodes of a job have the same.
type Timing struct {
	// Detect says when a node is suspect. Its Interval is that of the beats.
	Detect detect.Config
	// Lease is how long a head may act after a beat that a majority echoes.
	Lease time.Duration
	// Drift bounds how much the rate of any clock differs from true time.
	Drift float64
	// Stagger keeps members apart that see the head lost at the same time.
	Stagger time.Duration
	// Abandon is how long an agent lives on without a lease. Where hosts have
	// been silent for long and lived, so much silence of the head is needed
	// before another one is elected that this has to be longer still.
	Abandon time.Duration
	// Join is how long nodes wait for the first word of others.
	Join time.Duration
}

// DefaultTiming finds a lost host, the head's too, within a second: suspicion
// takes 0.65 s since the last round trip, a few beats go by until all
// observers have said so, and a lease with its margin is over by then.
var DefaultTiming = Timing{
	Detect:  detect.DefaultConfig,
	Lease:   550 * time.Millisecond,
	Drift:   0.05,
	Stagger: 50 * time.Millisecond,
	Abandon: 12 * time.Second,
	Join:    30 * time.Second,
}

// Rarer is the timing for a measurement of what beats cost: they are n times
// rarer, and all that hangs on them takes as many times as long.
func (t Timing) Rarer(n int) Timing {
	for _, d := range []*time.Duration{&t.Detect.Interval, &t.Detect.Floor, &t.Detect.Ceiling, &t.Lease, &t.Stagger, &t.Abandon} {
		*d *= time.Duration(n)
	}
	return t
}

// promise is how long a member that echoes a beat of the head elects nobody
// else: until the lease that the head may derive from it is certainly over.
func (t *Timing) promise() time.Duration { return lease.Wait(t.Lease, t.Drift) }

// succession bounds the time, on machines that are not late, from the end of the
// last lease until a member stands for election.
func (t *Timing) succession() time.Duration {
	return t.promise() + t.Detect.Ceiling
}

func (t *Timing) check() error {
	switch {
	case t.Detect.Interval <= 0 || t.Lease < 2*t.Detect.Interval:
		return fmt.Errorf("a lease of %v cannot be renewed by beats every %v", t.Lease, t.Detect.Interval)
	case t.Drift < 0 || t.Drift >= 1:
		return fmt.Errorf("clocks that drift by %v of their rate cannot measure a lease", t.Drift)
	case t.Abandon < 2*t.succession():
		return fmt.Errorf("agents that give up after %v do not wait long enough for a new head, which may take %v", t.Abandon, t.succession())
	}
	return nil
}
