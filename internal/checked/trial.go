package checked

import (
	"bytes"
	"fmt"
	"runtime"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/internal/replica/section"
)

// Program is a program with the functions that checked mode needs for it.
type Program struct {
	Run    func(run *engine.Program, t *Trial) error // runs the program from its start
	Report func([]Finding) error                     // converts findings to an error
	// Fault reports whether the program itself caused an error of Run. It did not if the job
	// has ended, the replicas diverged, or Report has made the error.
	Fault func(error) bool
	// Silence discards the output of the program until speak is called; nil: the output
	// is shown.
	Silence func() (speak func(), err error)
	// OneMemory means that all processes of the job share the memory of this one.
	OneMemory bool
}

// Trial finds unregistered state in checked mode. At a safe point the program runs once
// more from its start, as a restored process, up to the next safe point. All processes of
// the job do this together, so that the trial runs can communicate. Then the program
// continues, and the tasks of each section must have the same inputs as in the trial. The
// first trial runs to the end of the program, but without checks after the next safe
// point. The program must then reach as many safe points and sections as that trial.
type Trial struct {
	program *Program
	run     *engine.Program // the run of the program that is checked
	engine  *engine.Engine

	running bool   // this is the trial itself, not the run that is compared with it
	point   uint64 // safe point of the trial; 0: no trial yet, or its comparison is complete
	at      string // file:line of the safe point
	ended   bool   // the trial has returned without reaching another safe point

	sections []*digest
	results  []result // results of Once, which may differ from call to call
	compares int      // number of sections compared
	replays  int      // number of results reused

	progress progress  // progress since the safe point of the trial
	whole    *progress // progress of the trial that ran to the end, nil before that trial

	layouts   layouts
	leftovers *leftovers
	released  []withheld // withheld memory of earlier sections, without its contents
	start     int        // start of the poison of the next region
	alone     bool       // in some section this replica was alone, so no peer had different poison
}

// progress counts the safe points and sections of a run since a certain safe point.
type progress struct {
	since    uint64 // number of that safe point
	at       string // place of that safe point, file:line
	points   uint64
	sections int
	light    bool // the run is a trial that continues to the end without checks
}

// NewTrial returns the checks of one run of a program, before its first trial.
func NewTrial(p *Program, run *engine.Program) *Trial {
	return &Trial{program: p, run: run, engine: run.Engine(), layouts: make(layouts),
		leftovers: &leftovers{poison: poison(run.Self.Replica % 2)}}
}

// sharesMemory reports whether other processes of the job use the memory of this one.
func (t *Trial) sharesMemory() bool {
	return t.program.OneMemory && (len(t.run.Degrees) > 1 || t.run.Degrees[0] > 1)
}

// wholeTrial is the safe point of the first trial, which continues to the end of the
// program. At safe point 1 the state may still equal the initial state.
const wholeTrial = 2

// trialDue reports whether a trial is made at a safe point: at 2, 8, 32, 128, ….
func trialDue(point uint64) bool {
	for p := uint64(wholeTrial); p <= point; p *= 4 {
		if p == point {
			return true
		}
	}
	return false
}

// SafePoint is called at every safe point. at is the place in the source. SafePoint ends
// the comparison with the last trial, and makes the next trial if one is due.
func (t *Trial) SafePoint(point uint64, at *callsite.Site) error {
	t.leftovers.restore() // leftover memory may be part of the state
	if t.running {
		return nil
	}
	t.progress.points++
	if err := t.compared(false); err != nil {
		return err
	}
	if err := t.engine.Messages().Pending(); err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	if !trialDue(point) {
		return nil
	}
	im, err := t.run.Image()
	if err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	im = im.Clone(nil)
	next := &Trial{program: t.program, run: t.run, engine: t.engine, running: true, point: point, at: at.String(),
		layouts: t.layouts, leftovers: &leftovers{poison: 1 - t.leftovers.poison},
		progress: progress{since: point, at: at.String()}}
	if err := next.try(im); err != nil {
		return err
	}
	next.running, next.leftovers = false, t.leftovers
	if point == wholeTrial {
		whole := next.progress
		t.whole, t.progress = &whole, progress{}
	}
	next.whole, next.progress, next.alone = t.whole, t.progress, t.alone
	*t = *next
	// The trial may have written variables that both runs share.
	if err := t.run.Reload(im); err != nil {
		return fmt.Errorf("intra.SafePoint: %w", err)
	}
	return nil
}

// try runs the program from its start to the safe point after that of t, or to its end.
func (t *Trial) try(im *checkpoint.Image) error {
	stopped, to := false, &t.progress
	again := t.run.Again(im, t.point, func(uint64) error {
		if t.point == wholeTrial {
			to.points++
			to.light = true
			return nil
		}
		stopped = true
		runtime.Goexit() // ends the run without help from the program
		return nil
	})
	t.engine.Messages().Recall()
	defer t.engine.Messages().Resume()
	if t.program.Silence != nil {
		speak, err := t.program.Silence()
		if err != nil {
			return fmt.Errorf("intra.SafePoint: drop what a trial prints: %w", err)
		}
		defer speak()
	}
	over := make(chan struct{})
	var err error
	go func() {
		defer close(over)
		err = t.program.Run(again, t)
		t.ended = to.points == 0
		stopped = !t.ended
	}()
	<-over
	if !stopped && !t.ended {
		runtime.Goexit() // the trial has reached a kill point and ended in the same way
	}
	if err == nil || t.run.Context.Err() != nil || !t.program.Fault(err) {
		return err
	}
	return t.found("", "a process that is restored at this safe point, the %s, fails: %v", ordinal(t.point), err)
}

func (t *Trial) found(task, text string, args ...any) error {
	return t.program.Report([]Finding{{Task: task, Pos: t.at, Element: -1, Text: fmt.Sprintf(text, args...)}})
}

// Opened counts a section, and reports whether it is checked.
func (t *Trial) Opened() bool {
	t.progress.sections++
	return !t.progress.light
}

// watches reports whether sections are recorded, or compared with the record of a trial.
func (t *Trial) watches() bool { return t != nil && t.point > 0 }

// section records the inputs of the tasks of a section, or compares them with the record.
func (t *Trial) section(c *Section) error {
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
		task = c.s.Tasks[d.Task].Kernel.Name
	}
	return t.found(task, "the section opened at %s differs in a process that is restored at this safe point, the %s: %s, and in the restored process %s; what it depends on is not registered (intra.Protect), or not computed again",
		c.at, ordinal(t.point), d.Mine, d.Theirs)
}

// equal reports whether the tasks of two digests have the same inputs at the entry of a
// section.
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

// Returned ends the checks when the program has returned.
func (t *Trial) Returned() error {
	if t.running {
		return nil
	}
	if w := t.whole; w != nil && (w.points != t.progress.points || w.sections != t.progress.sections) {
		t.at = w.at
		return t.found("", "a process that is restored at this safe point, the %s, comes to %d more safe points and %d sections until it returns, and without that to %d and %d: %s",
			ordinal(w.since), w.points, w.sections, t.progress.points, t.progress.sections, job.ForgottenState)
	}
	if t.alone {
		t.engine.Note("checked mode with one replica of a rank does not follow what the code of a section computes from memory that its tasks write: -r 2 -check does")
	}
	return t.compared(true)
}

// compared ends the comparison with the trial, at the next safe point or when the program
// has returned.
func (t *Trial) compared(returned bool) error {
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

// result is the result of a call of Once.
type result struct {
	bytes []byte
	err   error
}

// Once gives a call of Once the same result in the trial and in the run that follows it.
func (t *Trial) Once(call func() ([]byte, error)) ([]byte, error) {
	if !t.watches() || t.progress.light || !t.running && t.replays == len(t.results) {
		return call()
	}
	if !t.running {
		t.replays++
		r := t.results[t.replays-1]
		return bytes.Clone(r.bytes), r.err
	}
	b, err := call()
	t.results = append(t.results, result{bytes.Clone(b), err})
	return b, err
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
