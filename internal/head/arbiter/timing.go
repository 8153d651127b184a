package arbiter

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/base/lease"
)

// Timing holds the times of the protocol. All nodes of a job use the same times.
type Timing struct {
	// Detect determines when a node is suspected. Its Interval is the time between beats.
	Detect detect.Config
	// Lease is the time for which a head may act after a beat that a majority echoes.
	Lease time.Duration
	// Drift bounds the relative error of the rate of any clock.
	Drift float64
	// Stagger delays the candidacies of members that suspect the head at the same time.
	Stagger time.Duration
	// Abandon bounds the time that an agent lives without a lease. It has to be longer than an
	// election. Observers that have seen long silences of live hosts wait long before they
	// suspect the head, which delays the election.
	Abandon time.Duration
	// Join bounds the time that nodes wait for the first message of other nodes.
	Join time.Duration
}

// DefaultTiming detects the loss of a host within a second, also of the head's host. Observers
// suspect the host 0.65 s after the last round trip. A few beats later all of them have
// reported that. By then the host's lease and its margin are over.
var DefaultTiming = Timing{
	Detect:  detect.DefaultConfig,
	Lease:   550 * time.Millisecond,
	Drift:   0.05,
	Stagger: 50 * time.Millisecond,
	Abandon: 12 * time.Second,
	Join:    30 * time.Second,
}

// Rarer returns a timing for measurements of the cost of beats. The interval, and all times
// that depend on it, are multiplied by n.
func (t Timing) Rarer(n int) Timing {
	for _, d := range []*time.Duration{&t.Detect.Interval, &t.Detect.Floor, &t.Detect.Ceiling, &t.Lease, &t.Stagger, &t.Abandon} {
		*d *= time.Duration(n)
	}
	return t
}

// promise returns the time for which a member that echoes a beat of the head elects no other
// head. It ends when the lease that the head may derive from the echo has certainly expired.
func (t *Timing) promise() time.Duration { return lease.Wait(t.Lease, t.Drift) }

// succession bounds the time from the end of the last lease until a member stands for
// election, on machines without delays.
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
