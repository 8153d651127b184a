package intra

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/section"
)

// trial finds forgotten state in checked mode. At a safe point the program is
// run once more from its start, as a restored process, up to its next safe
// point; all processes of the job do so together, so that these runs find
// each other. Then the program goes on where it was, and each section has to
// read what it read in the trial.
type trial struct {
	program func(*Process) error
	running bool   // this is the trial, not the run it is compared with
	point   uint64 // 0: none was made yet, or it was compared to its end
	at      string // file:line of the safe point
	ended   bool   // the trial has returned, and not come to another safe point

	sections []*digest
	results  [][]byte // of Once, which may differ from call to call
	compares int      // of the sections, how many were compared
	replays  int      // of the results
}

// trials are made at the safe points 2, 8, 32, 128, …: at the first one the
// state may still be what a start from the beginning makes of it.
func trialDue(point uint64) bool {
	for p := uint64(2); p <= point; p *= 4 {
		if p == point {
			return true
		}
	}
	return false
}

// tryRestore is called at every safe point in checked mode.
func (p *Process) tryRestore(point uint64) error {
	if err := p.trial.compared(false); err != nil {
		return err
	}
	if err := p.engine.msgs.Load().Pending(); err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	if !trialDue(point) {
		return nil
	}
	var pc [4]uintptr
	runtime.Callers(3, pc[:])
	im, err := p.image()
	if err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	im = im.Clone(nil)
	t := &trial{program: p.trial.program, running: true, point: point, at: position(pc[:])}
	if err := p.engine.try(p, t, im); err != nil {
		return err
	}
	t.running = false
	p.trial = t
	// The trial may have written variables that both runs share.
	if err := p.state.Reload(im); err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	return nil
}

// try runs the program from its start to the safe point after that of t.
func (e *engine) try(p *Process, t *trial, im *checkpoint.Image) error {
	q := &Process{self: p.self, degrees: p.degrees, world: p.world, ctx: p.ctx, engine: e, trial: t}
	q.restore(im, t.point)
	q.safe.resumed = func() error { e.msgs.Load().Resume(); return nil }
	e.msgs.Load().Recall()
	defer e.msgs.Load().Resume()
	if e.silence != nil {
		speak, err := e.silence()
		if err != nil {
			return fmt.Errorf("intra.SafePoint: drop what a trial prints: %w", err)
		}
		defer speak()
	}
	over := make(chan struct{})
	var err error
	stopped := false
	q.safe.stop = func(uint64) error {
		stopped = true
		runtime.Goexit() // the program need not know how to stop here
		return nil
	}
	q.safe.due.Store(true)
	go func() {
		defer close(over)
		err = guard(q, t.program)
		t.ended = true
	}()
	<-over
	if !stopped && !t.ended {
		runtime.Goexit() // as the trial did, at a kill point
	}
	return t.failed(e, err)
}

// failed says what it means that the trial ended with err.
func (t *trial) failed(e *engine, err error) error {
	var found *CheckError
	switch {
	case err == nil, e.ctx.Err() != nil, errors.Is(err, ErrDiverged), errors.Is(err, ErrJobEnded), errors.As(err, &found):
		return err
	}
	return t.found("", "a process that is restored at this safe point, the %s, fails: %v", ordinal(t.point), err)
}

func (t *trial) found(task, text string, args ...any) error {
	return &CheckError{[]Finding{{Task: task, Pos: t.at, Element: -1, Text: fmt.Sprintf(text, args...)}}}
}

// watches: sections are recorded, or compared with a record.
func (t *trial) watches() bool { return t != nil && t.point > 0 }

// section records what the tasks of a section read, or compares it with the
// record.
func (t *trial) section(c *check) error {
	switch {
	case !t.watches():
		return nil
	case t.running:
		t.sections = append(t.sections, &digest{Tasks: c.digest.Tasks})
		return nil
	case t.compares == len(t.sections):
		return t.found("", "a process that is restored at this safe point, the %s, does %d sections up to the next one, and without that it does more; what decides about it is not registered (intra.Protect)",
			ordinal(t.point), len(t.sections))
	}
	then := t.sections[t.compares]
	t.compares++
	then.Section = c.digest.Section
	d := &section.Divergence{Task: -1}
	if equal(c.digest, then) {
		return nil
	}
	c.digest.compare(c, then, d)
	task := ""
	if d.Task >= 0 {
		task = c.s.tasks[d.Task].task.name
	}
	return t.found(task, "the section opened at %s differs in a process that is restored at this safe point, the %s: %s, and in the restored process %s; what it depends on is not registered (intra.Protect), or not computed again",
		c.s.position(), ordinal(t.point), d.Mine, d.Theirs)
}

// equal: the tasks read the same at the entry of a section.
func equal(a, b *digest) bool {
	if len(a.Tasks) != len(b.Tasks) {
		return false
	}
	for i := range a.Tasks {
		if a.Tasks[i].Name != b.Tasks[i].Name || len(a.Tasks[i].Regions) != len(b.Tasks[i].Regions) {
			return false
		}
		for k := range a.Tasks[i].Regions {
			x, y := &a.Tasks[i].Regions[k], &b.Tasks[i].Regions[k]
			if x.Elements != y.Elements || differentBlock(x.Entry, y.Entry) >= 0 {
				return false
			}
		}
	}
	return true
}

// compared ends the comparison with the trial, at the next safe point or
// when the program has returned.
func (t *trial) compared(returned bool) error {
	if !t.watches() {
		return nil
	}
	did := t.compares
	switch {
	case did < len(t.sections):
		return t.found("", "a process that is restored at this safe point, the %s, does %d sections up to the next one, and without that it does %d; what decides about it is not registered (intra.Protect)",
			ordinal(t.point), len(t.sections), did)
	case t.ended != returned:
		what := map[bool]string{true: "ends without another safe point", false: "comes to another safe point"}
		return t.found("", "a process that is restored at this safe point, the %s, %s, and without that it %s; what decides about it is not registered (intra.Protect)",
			ordinal(t.point), what[t.ended], what[returned])
	}
	t.point, t.sections, t.results = 0, nil, nil
	return nil
}

// once makes a call of Once have the same result in the trial and after it.
func (t *trial) once(call func() ([]byte, error)) ([]byte, error) {
	if !t.watches() || !t.running && t.replays == len(t.results) {
		return call()
	}
	if !t.running {
		t.replays++
		return decodeOnce(bytes.Clone(t.results[t.replays-1]))
	}
	result, err := call()
	t.results = append(t.results, encodeOnce(result, err))
	return result, err
}

// ordinal writes 2 as 2nd.
func ordinal(n uint64) string {
	suffix := "th"
	switch {
	case n%100 >= 11 && n%100 <= 13:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprint(n, suffix)
}
