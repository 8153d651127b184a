package engine

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/replica/kept"
	"github.com/intrahpc/intra/transport"
)

// keeper leaves the results of sections with Keep on the replica that has computed them, and
// exchanges what tasks, messages and the program need. Memory is current on a replica that has
// its latest contents. keeper drives the machine of package kept. A rank has a keeper if it has
// two replicas and the job keeps results. The journal of messages (package sdr) and the results
// of Once replace the machine's log.
//
// The lock of the node guards all fields except lacks.
type keeper struct {
	*sharing
	recovering *recovering
	machine    *kept.Machine

	lacks    atomic.Bool        // machine.Lacks or a failure; read without the lock
	failure  error              // why an exchange has failed: memory that the machine considers current may be outdated here
	entered  bool               // the machine is in the open section
	sections int                // sections completed since the last safe point
	held     []*transport.Frame // frames for which the sibling has no room
	out      []*transport.Frame // frames that are sent next, without the lock, because the process may be killed in one of them
	pins     pins
	input    kept.Section      // memory of the description of the open section
	partials map[uint64][]byte // memory of the partial results of the open section, by address

	points  map[uint64]*settled // settled points with an image, by number
	place   *settled            // the settled point that is being made
	spare   *checkpoint.Image   // memory of an image that is no longer needed
	half    halfTransfer
	results [][]byte // encoded results of the calls of Once since the oldest of points
	dropped int      // number of older results, which are no longer kept
	entries entries
	at      uint64 // the last settled point, and when it was made
	since   time.Duration
	least   uint64 // number of safe points during which the parts of an image are sent

	received  time.Duration // when the last frame of the sibling arrived
	detection time.Duration // time from then until its death was known
}

// errBehind ends an operation of a replica that lacks memory which its dead sibling had.
var errBehind = errors.New("this replica lacks what its sibling had")

const (
	// keptType is the type of all sections with Keep: the program decides what is kept.
	keptType = 1
	// firstInterval is the number of safe points from the first settled point to the second.
	// Only then is the time from one safe point to the next known.
	firstInterval = 4
	// strayBytes bounds the memory outside of registered variables that is kept at a settled
	// point.
	strayBytes = 64 << 20
	// journalBytes is the size of the journal and of results, above which intervals become
	// shorter.
	journalBytes = 64 << 20
)

// newKeeper returns the keeper of a process, or nil if the rank keeps no results where they were
// computed.
func newKeeper(h *sharing, r *recovering) *keeper {
	if h.setup.Lag == 0 {
		return nil
	}
	if n := len(h.peers); n != 2 {
		if n > 2 {
			h.notes.add("-lag: rank %d has %d replicas and keeps nothing: only ranks with two replicas do", h.setup.Self.Rank, n)
		}
		return nil
	}
	k := &keeper{sharing: h, recovering: r}
	k.begin()
	return k
}

// begin resets the keeper to that of a replica which has the state of its rank and keeps nothing:
// at the start of the job, when the replica joins, and after a rollback.
func (k *keeper) begin() {
	k.failure, k.entered, k.sections = nil, false, 0
	k.held, k.out, k.pins = nil, nil, nil
	k.points, k.place, k.spare, k.half = make(map[uint64]*settled), nil, nil, halfTransfer{}
	k.once.kept, k.results, k.dropped, k.at, k.least = nil, nil, 0, 0, 0
	k.entries = entries{}
	k.received, k.detection = k.now(), 0
	k.lacks.Store(false)
	k.machine = kept.New(kept.Config{Replica: k.setup.Self.Replica, Room: inboxBytes, Strays: strayBytes,
		First: kept.Plan{Types: []uint64{keptType}, Share: 1 << 15, Next: firstInterval}})
}

// resume is begin for a replica that continues from a cut, once the links to its siblings are
// set. The caller holds the lock.
func (k *keeper) resume() {
	if k == nil {
		return
	}
	k.begin()
	if k.sibling() == nil {
		k.dead()
	}
}

// join makes the sibling live, in a cut in which it has joined. The caller holds the lock.
func (k *keeper) join() {
	if k == nil {
		return
	}
	if err := k.machine.Join(); err != nil {
		k.fail(err)
	}
}

// Fetch makes memory current on both replicas.
func (e *Engine) Fetch(mem ...[]byte) error {
	if k := e.keeper; k != nil && k.lacks.Load() {
		return k.Touch(mem...)
	}
	return nil
}

// FetchAll makes all memory current on both replicas.
func (e *Engine) FetchAll() error {
	k := e.keeper
	if k == nil || !k.lacks.Load() {
		return nil
	}
	k.mu.Lock()
	k.machine.Finish()
	err := k.done(k.yield)
	k.mu.Unlock()
	return k.outcome(err)
}

// Touches reports whether some memory may be current on one replica only.
func (k *keeper) Touches() bool { return k != nil && k.lacks.Load() }

// Touch makes memory current before the program accesses it, or posts an operation on it.
func (k *keeper) Touch(mem ...[]byte) error {
	spans := make([]kept.Span, len(mem))
	for i, m := range mem {
		spans[i] = spanOf(m)
	}
	k.mu.Lock()
	if err := cmp.Or(k.failure, k.err); err != nil {
		k.mu.Unlock()
		return diverged(err)
	}
	needed := false
	for _, s := range spans {
		needed = needed || !k.machine.Current(s)
	}
	if !needed {
		k.mu.Unlock()
		return nil
	}
	if !onProgramStack() {
		k.mu.Unlock()
		return errOtherGoroutine
	}
	k.machine.Touch(spans...)
	err := k.done(k.yield)
	k.mu.Unlock()
	return k.outcome(err)
}

var errOtherGoroutine = errors.New("memory that a section with keep has written is used by another goroutine than that of run: call intra.Fetch in run before")

// onProgramStack reports whether the caller runs in the goroutine of the program. Only its
// operations are in the same order on both replicas.
func onProgramStack() bool {
	pcs := make([]uintptr, 64)
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs)
		frames := runtime.CallersFrames(pcs[:n])
		for {
			f, more := frames.Next()
			if strings.HasSuffix(f.Function, programFrame) {
				return true
			}
			if !more {
				break
			}
		}
		if n < len(pcs) {
			return false
		}
	}
}

// programFrame is the end of the name of the method that runs the program.
const programFrame = "internal/replica/engine.(*Engine).run"

// done performs the steps of the open operation of the machine, other than tasks. The caller
// holds the lock, which done releases while it waits.
func (k *keeper) done(yield func(func())) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, errBehind) {
			k.failure = err
			k.lacks.Store(true)
		}
	}()
	for k.failure == nil {
		seen := k.changes.Load()
		if k.err != nil {
			return diverged(k.err)
		}
		s, err := k.machine.Next()
		k.perform()
		if len(k.out) > 0 {
			yield(k.flush)
		}
		switch {
		case err != nil:
			return k.broke(err)
		case s.Kind == kept.Back:
			return errBehind
		case s.Kind == kept.Missed && k.recovering.member.Cancelled(), s.Kind != kept.Wait && s.Kind != kept.Missed:
			return nil
		}
		yield(func() {
			k.poller.Attend(true)
			defer k.poller.Linger()
			err = k.awaitChange(seen, 0)
		})
		if err != nil {
			return err
		}
	}
	return k.failure
}

// broke makes all sections fail, since the replicas have diverged or a frame was malformed.
func (k *keeper) broke(err error) error {
	var d *kept.Divergence
	if errors.As(err, &d) {
		err = fmt.Errorf("%w: the replicas of rank %d keep different memory: %w", ErrDiverged, k.setup.Self.Rank, err)
	}
	k.fail(err)
	return k.err
}

// outcome returns the error of an operation for the program. If this replica is behind, it
// ends the run of the program. The caller does not hold the lock.
func (k *keeper) outcome(err error) error {
	if errors.Is(err, errBehind) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.goBack()
	}
	return err
}

// dead removes the sibling, all of whose frames have arrived. The caller holds the lock.
func (k *keeper) dead() {
	if k != nil {
		k.detection = k.now() - k.received
		k.half.out, k.half.underway, k.half.in = nil, 0, nil
		k.machine.Dead()
		k.perform()
	}
}

// completed counts a section. The caller holds the lock.
func (k *keeper) completed() {
	if k != nil {
		k.sections++
	}
}

// describe describes, for the user, what this replica waits for.
func (k *keeper) describe() string {
	if k == nil {
		return ""
	}
	return k.machine.Describe()
}
