package engine

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/verify"
)

// Differing is the error of replicas whose states differ.
type Differing struct {
	Text    string
	checked bool
}

func (d *Differing) Error() string {
	return fmt.Sprintf("%s: %s", d.Text, job.DivergeAdvice(d.checked))
}

// marshalled is the number of calls of MarshalBinary that check whether it always
// returns the same.
const marshalled = 64

// unstable reports whether the difference is in bytes of MarshalBinary that change from
// call to call. Such a difference proves nothing, and comparisons end with it.
func (w *watcher) unstable(c contents, of *verify.Block, again func() contents) bool {
	i := w.machine.Found().Index
	if of != nil {
		i = of.Item
	}
	if len(c) > mostHashes || i >= len(c) || c[i].of != nil || w.machine.Found().Place.Kind != verify.AtSafePoint {
		return false
	}
	for range marshalled {
		if !w.skip[c[i].name] {
			w.unlocked(func() { again() })
		}
	}
	if !w.skip[c[i].name] {
		return false
	}
	w.notes.add("intra.Protect(%q): its MarshalBinary returns other bytes each time, so replicas are not compared any more: write maps in a fixed order", c[i].name)
	w.perform(w.machine.End())
	w.over.Store(true)
	return true
}

// conclude reports the difference: the job ends, or only a warning is shown. values
// describes the values that differ, as far as they are known. The caller holds the
// lock.
func (w *watcher) conclude(values string) error {
	if w.over.Load() {
		return nil
	}
	f := w.machine.Found()
	text := describeDifference(f)
	if names := w.names[f.Place]; f.Index < len(names) && !f.Lengths {
		text += fmt.Sprintf(", first in %v", names[f.Index])
	}
	text += "; " + values
	d := &Differing{Text: fmt.Sprintf("rank %d: %s", w.setup.Self.Rank, text), checked: w.setup.Check}
	w.counts.Differed = d.Error()
	w.over.Store(true)
	if w.setup.Diverge == job.DivergeWarn {
		w.perform(w.machine.End())
		go w.head.Tell(w.Snapshot)
		return nil
	}
	w.fail(fmt.Errorf("%w: %w", ErrDiverged, d))
	w.changed()
	return diverged(w.err)
}

// concludeHash reports a difference for which no values were compared. Different bytes
// of MarshalBinary alone prove nothing: then comparisons end without a report.
func (w *watcher) concludeHash(why string) error {
	f := w.machine.Found()
	names, known := w.names[f.Place]
	if f.Place.Kind == verify.AtSafePoint && !f.Lengths && (!known && w.marshals || known && f.Index < len(names) && names[f.Index].bytes) {
		w.perform(w.machine.End())
		w.over.Store(true)
		return nil
	}
	return w.conclude("only the hash is known, since " + why)
}

func describeDifference(f *verify.Difference) string {
	if f.Place.Kind == verify.AtSection {
		return fmt.Sprintf("what the tasks of section %d read differed on replicas %d and %d", f.Place.Number-1, f.A, f.B)
	}
	if f.Place.Number == verify.AtEnd {
		return fmt.Sprintf("the registered state differed on replicas %d and %d when the program returned", f.A, f.B)
	}
	return fmt.Sprintf("the registered state differed on replicas %d and %d at safe point %d", f.A, f.B, f.Place.Number)
}

// values describes the difference at the place where all replicas have stopped.
func (w *watcher) values(at verify.Place, c contents, of *verify.Block) string {
	place := fmt.Sprintf("at safe point %d", at.Number)
	if at.Kind == verify.AtSection {
		place = fmt.Sprintf("at the entry of section %d", at.Number-1)
	}
	self := w.setup.Self.Replica
	switch {
	case of == nil && w.machine.Others():
		return fmt.Sprintf("only the hash is known, since all were alike again %s", place)
	case of == nil:
		return fmt.Sprintf("only the hash is known, since no other replica came to compare values %s", place)
	case of.Item >= len(c):
		return fmt.Sprintf("%s replica %d has more variables than replica %d, which has %d", place, of.Peer, self, len(c))
	}
	x := &c[of.Item]
	if of.Block < 0 {
		return fmt.Sprintf("%s %v has %d elements on replica %d and %d on replica %d", place, x.namedContent,
			len(x.mem)/x.size(), self, of.Size/uint64(x.size()), of.Peer)
	}
	return fmt.Sprintf("%s %s", place, x.differs(of.Block, self, of.Peer, of.Bytes))
}

// name records the names of the contents of this safe point as those of the safe point
// that differed, if this replica hashed nothing there.
func (w *watcher) name(at verify.Place, c contents) {
	f := w.machine.Found()
	if at.Kind == verify.AtSafePoint && f.Place.Kind == at.Kind && w.names[f.Place] == nil && len(c) > 0 {
		w.names[f.Place] = c.names()
	}
}
