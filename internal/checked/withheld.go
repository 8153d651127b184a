package checked

import (
	"bytes"
	"fmt"

	"github.com/intrahpc/intra/update"
)

// withheld is what tasks of sections without waiting have written, and what they
// have read. Until it is settled the memory that they write holds something else on
// each replica, so whoever reads it makes the replicas differ; and nobody may write
// either.
type withheld struct {
	poison  poison // of this replica
	results []leftover
	reads   []leftover
}

func (w *withheld) any() bool { return len(w.results)+len(w.reads) > 0 }

// settle puts the results in their places, and returns what the program has done to
// the memory too early.
func (w *withheld) settle() (found []Finding) {
	for _, o := range w.results {
		whole := len(o.mem) / o.lay.size
		if lo, hi := o.lay.soaked(o.mem, w.poison, o.start, 0); lo > 0 || hi < whole {
			if lo == 0 {
				lo = hi
			} else {
				lo = 0
			}
			found = append(found, o.tooEarly(lo))
		}
		copy(o.mem, o.was)
	}
	for _, o := range w.reads {
		for e := range len(o.mem) / o.lay.size {
			if at := e * o.lay.size; !bytes.Equal(o.mem[at:at+o.lay.size], o.was[at:at+o.lay.size]) {
				found = append(found, o.tooEarly(e))
				break
			}
		}
	}
	w.results, w.reads = nil, nil
	if len(found) > 1 { // mostly all tasks have the same fault
		found = found[:1]
	}
	return found
}

// tooEarly: the program has written an element of what the tasks name.
func (o *leftover) tooEarly(element int) Finding {
	return Finding{Task: o.by, Pos: o.at, Argument: o.name, Element: element,
		Text: fmt.Sprintf("%s element %d is written by the program after the section, which does not wait, and before it is settled: call Settle before that", o.name, element)}
}

// leave withholds what c has written, if it does not wait, and again what earlier
// ones have, whose results c does not name.
func (w *withheld) leave(c *Section, before withheld) {
	for _, o := range before.results {
		if !c.names(o.mem) {
			w.results = append(w.results, o)
		}
	}
	for _, o := range before.reads {
		if !c.writesTo(o.mem) {
			w.reads = append(w.reads, o)
		}
	}
	for i := range c.s.Tasks {
		t := &c.s.Tasks[i]
		for k, r := range t.Regions {
			lay := c.layouts.of(r.Type)
			if !c.s.NoWait || len(r.Mem) == 0 || !lay.solid {
				continue
			}
			o := leftover{mem: r.Mem, was: bytes.Clone(r.Mem), lay: lay, start: start(i, k), by: t.Kernel.Name, name: clause(&r), at: t.At.String()}
			switch {
			case r.Mode.Written():
				w.results = append(w.results, o)
			case r.Mode == update.In && !c.writesTo(r.Mem):
				w.reads = append(w.reads, o)
			}
		}
	}
	for _, o := range w.results {
		o.lay.soak(o.mem, w.poison, o.start)
	}
}

// writesTo: a task of the section writes some of mem.
func (c *Section) writesTo(mem []byte) bool {
	lo, hi := bounds(mem)
	for i := range c.s.Tasks {
		for _, r := range c.s.Tasks[i].Regions {
			if from, to := bounds(r.Mem); r.Mode != update.In && from < hi && lo < to {
				return true
			}
		}
	}
	return false
}

// hint ends the text about a difference between replicas.
func (w *withheld) hint() string {
	if len(w.results) == 0 {
		return ""
	}
	o := &w.results[len(w.results)-1]
	return fmt.Sprintf("; the section with %s, launched at %s, does not wait, and %s was not settled: is it read before that? then call Settle", o.by, o.at, o.name)
}

// withhold keeps results back from the program that are not settled.
func (c *Section) withhold() {
	c.trial.withheld.leave(c, c.open)
	if c.trial.withheld.any() {
		c.trial.engine.Hold(c.trial.Settle)
	}
}

// Settle ends what the program may not touch of sections without waiting.
func (t *Trial) Settle() error {
	if found := t.withheld.settle(); len(found) > 0 {
		return t.program.Report(found)
	}
	return nil
}
