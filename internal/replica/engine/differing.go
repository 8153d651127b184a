package engine

import (
	"fmt"
	"strings"

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

// marshalled is how often MarshalBinary is called to check whether it always returns the
// same bytes.
const marshalled = 64

// unstable returns the name of the differing variable if MarshalBinary returns different
// bytes for it on each call, otherwise "".
func (w *watcher) unstable(c contents, of *verify.Block, again func() contents) string {
	i := w.machine.Found().Index
	if of != nil {
		i = of.Item
	}
	if len(c) > mostHashes || i >= len(c) || c[i].of != nil || w.machine.Found().Place.Kind != verify.AtSafePoint {
		return ""
	}
	for range marshalled {
		if !w.skip[c[i].name] {
			w.unlocked(func() { again() })
		}
	}
	if !w.skip[c[i].name] {
		return ""
	}
	return c[i].name
}

// giveUp ends the comparisons: MarshalBinary returns varying bytes for a variable, so a
// difference proves nothing.
func (w *watcher) giveUp(variable string) {
	w.notes.add("intra.Protect(%q): its MarshalBinary returns other bytes each time, so replicas are not compared any more: write maps in a fixed order", variable)
	w.perform(w.machine.End())
	w.over.Store(true)
}

// conclude reports the difference: the job ends, or only a warning is shown. values
// describes the known values that differ. The caller holds the
// lock.
func (w *watcher) conclude(values string) error {
	if w.over.Load() {
		return nil
	}
	d := &Differing{Text: w.where() + "; " + values, checked: w.setup.Check}
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

// where describes the place at which the replicas differed, and the variable.
func (w *watcher) where() string {
	f := w.machine.Found()
	text := describeDifference(f)
	if names := w.names[f.Place]; f.Index < len(names) && !f.Lengths {
		if names[f.Index].name == messagesSent {
			text = strings.Replace(text, "the registered state", "the numbers of messages sent", 1)
		} else {
			text += fmt.Sprintf(", first in %v", names[f.Index])
		}
	}
	return fmt.Sprintf("rank %d: %s", w.setup.Self.Rank, text)
}

// proven reports whether the differing hashes prove that the states differ. They prove
// nothing about bytes of MarshalBinary, which may differ for equal values. A replica that
// has hashed nothing at the place knows such variables only from other places.
func (w *watcher) proven() bool {
	f := w.machine.Found()
	if w.counts.Known != "" || f.Place.Kind == verify.AtSection || f.Lengths {
		return true
	}
	if names, known := w.names[f.Place]; known {
		return f.Index >= len(names) || !names[f.Index].bytes
	}
	return w.counts.Hashes > 0 && !w.marshals
}

// concludeHash reports a difference for which no values were compared. Hashes that prove
// nothing end the comparisons without a report.
func (w *watcher) concludeHash(why string) error {
	if !w.proven() {
		w.perform(w.machine.End())
		w.over.Store(true)
		return nil
	}
	return w.conclude(w.hashes() + ", since " + why)
}

// report reports a difference of hashes to the head at once, because the program may be
// waiting for a message and not return the error.
func (w *watcher) report(why string) {
	if err := w.concludeHash(why); err != nil && !w.finished {
		w.failed(err)
	}
}

// hashes describes the hashes that differed.
func (w *watcher) hashes() string {
	f := w.machine.Found()
	if f.Lengths {
		return fmt.Sprintf("only the hashes are known (%d on replica %d, %d on replica %d)", f.Hashes[0], f.A, f.Hashes[1], f.B)
	}
	return fmt.Sprintf("only the hash is known (%x on replica %d, %x on replica %d)", f.Hashes[0], f.A, f.Hashes[1], f.B)
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
		return fmt.Sprintf("%s, since all states were equal again %s", w.hashes(), place)
	case of == nil:
		return fmt.Sprintf("%s, since no other replica stopped to compare values %s", w.hashes(), place)
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

// name applies the names of the contents of this safe point to the safe point that
// differed, if this replica hashed nothing there.
func (w *watcher) name(at verify.Place, c contents) {
	f := w.machine.Found()
	if at.Kind == verify.AtSafePoint && f.Place.Kind == at.Kind && w.names[f.Place] == nil && len(c) > 0 {
		w.names[f.Place] = c.names()
	}
}
