package engine

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/verify"
	"github.com/intrahpc/intra/update"
)

// watcher detects that the program has diverged on the replicas of the rank. At safe
// points it compares hashes of the registered state and of the numbers of messages sent.
// As long as the program has registered nothing, it compares hashes of the inputs of tasks
// at sections. It takes those hashes before any task of the section runs here and before
// any result of it is received.
type watcher struct {
	*sharing
	machine *verify.Watch
	// stopping means that a difference is known, so the program checks at each place whether
	// to stop there. The program counts a place before it reads stopping. So a goroutine
	// that sets stopping and then reads the count knows which places the program may already
	// have passed.
	stopping atomic.Bool
	over     atomic.Bool // comparisons have ended
	found    time.Duration
	named    time.Duration // deadline for stopping at a common place; 0: no difference is known

	// Only the goroutine of the program writes pace, states and skip. It holds the lock when
	// it writes pace, because other goroutines read pace.
	pace   [2]*verify.Pace // by PlaceKind; nil before the first place of that kind
	states bool            // the program has registered state, so sections are not compared
	skip   map[string]bool // variables that cannot be compared

	marshals bool // MarshalBinary returns some of the state

	section atomic.Uint64                   // place of the section that the program has reached
	program atomic.Pointer[Program]         // the run of the program; nil before it
	names   map[verify.Place][]namedContent // names of the contents that were hashed
	at      verify.Place                    // the last of these places
	last    map[verify.Place]job.Hashed     // the newest hash of each kind and level
	counts  job.Watched
}

// newWatcher returns the watcher of a rank, nil if there is none. With -sdc there is none,
// because the verifier compares instead.
func newWatcher(h *sharing) *watcher {
	if d := h.setup.Diverge; d == "" || d == job.DivergeOff || len(h.peers) < 2 || h.setup.Verify != nil {
		return nil
	}
	w := &watcher{sharing: h}
	w.begin()
	return w
}

// begin starts comparing. All peers are live.
func (w *watcher) begin() {
	w.machine = verify.NewWatch(w.setup.Self.Replica, len(w.peers))
	w.stopping.Store(false)
	w.over.Store(false)
	w.pace, w.states, w.skip, w.named = [2]*verify.Pace{}, false, make(map[string]bool), 0
	w.section.Store(w.sharing.machine.Number())
	w.names, w.last, w.at = make(map[verify.Place][]namedContent), make(map[verify.Place]job.Hashed), verify.Place{}
}

// resume starts comparing after a rollback. All peers count as dead until they are
// admitted.
func (w *watcher) resume() {
	if c := &w.counts; c.Known != "" && c.Differed == "" {
		d := &Differing{Text: c.Known + ", since the job rolled back before values were compared", checked: w.setup.Check}
		c.Differed = d.Error()
		go w.head.Tell(w.Snapshot)
	}
	w.begin()
	for p := range w.peers {
		if p != w.setup.Self.Replica {
			w.machine.Dead(p)
		}
	}
}

// atSafePoint is called at each safe point, except at the first one of a run that began
// with saved state.
func (w *watcher) atSafePoint(point uint64, state *checkpoint.State) error {
	if w == nil || w.over.Load() {
		return nil
	}
	at := verify.Place{Kind: verify.AtSafePoint, Number: point}
	due := w.due(at)
	if !due && !w.stopping.Load() {
		return nil
	}
	var failed error
	err := w.visit(at, due, func() contents {
		c, err := w.contents(state)
		if err != nil {
			failed = err
		}
		return c
	})
	if err = cmp.Or(failed, err); err != nil {
		return fmt.Errorf("safe point: %w", err)
	}
	return nil
}

// atSection is called when a section begins to be shared.
func (w *watcher) atSection(s *Section) error {
	if w == nil || w.over.Load() {
		return nil
	}
	at := verify.Place{Kind: verify.AtSection, Number: s.Number + 1}
	w.section.Store(at.Number)
	due := !w.states && !w.setup.Check && w.due(at) // checked mode compares sections itself
	if !due && !w.stopping.Load() {
		return nil
	}
	return w.visit(at, due, func() contents { return inputs(s) })
}

// due reports whether this replica computes a hash at a place.
func (w *watcher) due(at verify.Place) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.pace[at.Kind] == nil {
		spent := time.Duration(0)
		if other := w.pace[1-at.Kind]; other != nil {
			spent = other.Spent()
		}
		w.pace[at.Kind] = verify.NewPace(at.Number-1, spent)
	}
	return w.pace[at.Kind].Due(at.Number, w.now)
}

// visit hashes the contents of a place if that is due. If the replicas have agreed to stop
// at the place, visit stops there.
func (w *watcher) visit(at verify.Place, due bool, of func() contents) error {
	if w.stopping.Load() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.watched()
		if w.machine.Stops(at) {
			return w.stop(at, of)
		}
		return nil
	}
	if !due {
		return nil
	}
	took := counters.OnThread(func() { w.hash(at, of()) })
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Seconds += took.Seconds()
	w.pace[at.Kind].Took(at.Number, took, w.now())
	return nil
}

// hash computes the hashes of contents and sends them.
func (w *watcher) hash(at verify.Place, c contents) {
	if len(c) == 0 {
		return
	}
	hashes := c.hashes(at)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts.Hashes++
	w.keep(at, c, hashes)
	w.perform(w.machine.Pass(at, hashes))
	w.watched()
}

// mostNames bounds the number of places whose names are kept.
const mostNames = 256

// keep records the names and the hashes of the contents at a place, for messages and for
// the head.
func (w *watcher) keep(at verify.Place, c contents, hashes []uint64) {
	if len(w.names) >= mostNames {
		clear(w.names)
	}
	w.names[at], w.at = c.names(), at
	w.marshals = w.marshals || slices.ContainsFunc(c, func(x content) bool { return x.bytes })
	all := uint64(0)
	for g := range hashes {
		if !bytesIn(c, g) { // bytes of MarshalBinary may differ for equal values
			all = all*31 + hashes[g]
		}
	}
	level := verify.Place{Kind: at.Kind, Number: uint64(bits.TrailingZeros64(at.Number))}
	w.last[level] = job.Hashed{SafePoint: at.Kind == verify.AtSafePoint, End: at.Number == verify.AtEnd, Number: at.Number, Hash: all}
}

// bytesIn reports whether hash g covers contents that MarshalBinary has returned.
func bytesIn(c contents, g int) bool {
	for i := range c {
		if c[i].of == nil && hashOf(i, len(c)) == g {
			return true
		}
	}
	return false
}

// watched handles a difference that was found. The caller holds the lock.
func (w *watcher) watched() {
	if w.machine.Over() {
		if w.counts.Known != "" && w.setup.Diverge == job.DivergeStrict {
			w.report("another replica has ended the comparisons")
		}
		w.over.Store(true)
		return
	}
	if w.machine.Found() == nil {
		return
	}
	if w.counts.Known == "" && w.proven() {
		w.counts.Known = w.where() + "; " + w.hashes()
		go w.head.Tell(w.Snapshot)
	}
	if w.named == 0 {
		w.found = w.now()
		w.named = w.found + longestStop
		for _, p := range w.pace {
			if p != nil {
				w.named = max(w.named, w.found+4*p.Between())
			}
		}
	}
	if w.finished {
		w.report("the program has returned on one of them")
		return
	}
	if kind, wants := w.machine.Wants(); wants {
		w.stopping.Store(true)
		next := w.section.Load() + 1
		if kind == verify.AtSafePoint {
			p := w.program.Load()
			if p == nil {
				return // the first safe point of the program calls watched again
			}
			next = p.points.Load() + 1
		}
		w.perform(w.machine.Propose(verify.Place{Kind: kind, Number: next}))
	}
}

// longestStop bounds how long replicas take to stop at one place and compare their
// contents there, unless places are further apart. Without a bound, a replica could wait
// forever for a place that another replica does not reach.
const longestStop = 20 * time.Second

// stop compares the contents at the place where all replicas stop. The caller holds the
// lock.
func (w *watcher) stop(at verify.Place, of func() contents) error {
	var c contents
	var table verify.Table
	w.unlocked(func() {
		c = of()
		table = c.table()
	})
	w.machine.Stop(at, table)
	for {
		seen := w.changes.Load()
		if w.err != nil {
			return diverged(w.err)
		}
		step, block, out := w.machine.Step()
		w.perform(out)
		switch step {
		case verify.WatchLeave:
			w.watched()
			return nil
		case verify.WatchGive:
			word := &verify.WatchWord{Kind: verify.WatchBlock, Place: at, Item: block.Item, Block: block.Block}
			if block.Item < len(c) {
				word.Bytes = c[block.Item].block(block.Block)
			}
			w.perform([]verify.Send{{To: block.Peer, Word: word}})
			continue
		case verify.WatchTell:
			w.name(at, c)
			switch name := w.unstable(c, block, of); {
			case name == "":
				return w.conclude(w.values(at, c, block))
			case w.counts.Known != "": // some other variable differed
				return w.concludeHash(fmt.Sprintf("MarshalBinary of %s returns other bytes each time", name))
			default:
				w.giveUp(name)
				return nil
			}
		}
		var err error
		w.unlocked(func() {
			err = w.ended(w.poller.Wait(w.runCtx, func() bool { return w.changedSince(seen) }))
		})
		if err != nil {
			return err
		}
	}
}

// handleMessage processes a message from a peer. The caller holds the lock.
func (w *watcher) handleMessage(from int, m update.Message, payload []byte) error {
	word, err := parseWatch(m, payload)
	if err == nil && w == nil {
		err = fmt.Errorf("%w: nothing is compared here", errWatch)
	}
	if err != nil {
		return err
	}
	w.perform(w.machine.Receive(from, word))
	w.watched()
	return nil
}

func (w *watcher) perform(all []verify.Send) {
	for _, s := range all {
		m, b := watchMessage(s.Word)
		w.notify(s.To, m, b)
	}
}

// admit marks a peer alive, at a cut.
func (w *watcher) admit(p int) {
	if w != nil {
		w.perform(w.machine.Alive(p))
	}
}

// dead marks a peer dead.
func (w *watcher) dead(p int) {
	if w != nil {
		w.machine.Dead(p)
	}
}

// returned records that the program of a peer has returned.
func (w *watcher) returned(p int) {
	if w != nil {
		w.machine.Finished(p)
	}
}

// late ends the wait for a common place when its deadline has passed.
func (w *watcher) late() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.named == 0 || w.now() < w.named || w.over.Load() || w.finished {
		return
	}
	w.report("the replicas have reached no common place")
}

// snapshot returns the counts for the report. The caller holds the lock.
func (w *watcher) snapshot() *job.Watched {
	if w == nil {
		return nil
	}
	c := w.counts
	c.Compared = w.machine.Compared()
	if w.finished && w.setup.Diverge == job.DivergeStrict && !w.over.Load() {
		for _, l := range w.last {
			c.Last = append(c.Last, l)
		}
	}
	return &c
}
