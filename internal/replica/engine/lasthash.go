package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/replica/verify"
)

// leave is called when the program has returned. It sends a last hash, so that differences
// since the previous hash are found. It waits for the last hashes of the other replicas,
// and returns an error if they differ.
func (w *watcher) leave() error {
	if w == nil {
		return nil
	}
	w.hashEnd()
	w.mu.Lock()
	defer w.mu.Unlock()
	until := w.now() + lastHash + w.now()/paceOfEnd
	for w.at.Number > 0 && w.machine.Found() == nil && !w.machine.HasAll(w.at) && w.err == nil && w.now() < until {
		seen := w.changes.Load()
		var err error
		w.unlocked(func() {
			w.poller.Attend(true)
			defer w.poller.Attend(false)
			err = w.awaitChange(seen, until)
		})
		if err != nil {
			return nil // the job ends or rolls back, and the caller finds out
		}
	}
	if w.machine.Found() == nil || w.machine.Over() {
		return nil
	}
	return w.concludeHash("the program has returned on one of them")
}

// hashEnd hashes the registered state and the numbers of messages sent, at the end of the
// program.
func (w *watcher) hashEnd() {
	p := w.program.Load()
	if p == nil || w.over.Load() || w.stopping.Load() {
		return
	}
	c, err := w.contents(&p.state)
	if err != nil {
		return // the program has returned, and may have closed what MarshalBinary needs
	}
	took := counters.OnThread(func() { w.hash(verify.Place{Kind: verify.AtSafePoint, Number: verify.AtEnd}, c) })
	w.mu.Lock()
	w.counts.Seconds += took.Seconds()
	w.mu.Unlock()
}

// After its program has returned, a replica waits for the last hashes of the other
// replicas. The limit is lastHash plus 1/paceOfEnd of the time since its start, because the other
// replicas may be far behind. It still compares hashes that arrive later.
const lastHash, paceOfEnd = 20 * time.Millisecond, 200
