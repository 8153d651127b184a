package checked

import (
	"runtime/debug"

	"github.com/intrahpc/intra/internal/base/callsite"
	"github.com/intrahpc/intra/internal/replica/engine"
	"github.com/intrahpc/intra/update"
)

// Section is checked mode in one section. Every replica runs every task itself, at the end
// of the section, from the real entry state. One replica repeats each task: of r live
// replicas, the one at index t mod r repeats task t. It repeats the task twice, with
// different contents in all memory that the tasks write and in leftover scratch memory. It
// also repeats the task in the other ways that a clause allows. The first replica runs the
// first task once more.
//
// Each launch copies the memory that its task names or reduces into. At the end of the
// section the memory near it, in the same arrays, is copied as well. A task may change
// only memory that it names in out, inout, reduce or scratch. Of an argument of which a clause
// in names a part, it may read only that part: it runs with other contents in the rest.
type Section struct {
	trial   *Trial // trial with which the section is compared, or for which it is recorded
	s       *engine.Section
	at      *callsite.Site // where it was opened
	watched []update.Region
	stale   []stale  // leftovers of tasks of earlier sections
	bodies  []func() // bodies of the tasks, in launch order
	shadow  shadow
	layouts layouts

	withheld  []withheld
	folded    []update.Region // memory that tasks reduce into
	arguments [][]argument    // by task
	reached   map[root]*reached
	clean     []outcome // by task: the outcome from the real entry state
	digest    *digest   // nil if the rank has one replica
	faulty    map[*engine.Kernel]int
	place     int  // index of this process among the live replicas
	of        int  // number of live replicas
	parts     bool // arguments of which tasks read a part are watched

	before   string // hint at a possible cause in earlier sections
	findings []Finding
	trace    string // description of a write for which no task was blamed yet
	a, b     outcome
}

// faultyTasks is the number of tasks of one kernel whose differences are examined. Further tasks
// of the same kernel would have the same error.
const faultyTasks = 2

// Section begins the checks of s, which was opened at at. watched is memory that no task
// names.
func (t *Trial) Section(s *engine.Section, at *callsite.Site, watched []update.Region) *Section {
	c := &Section{trial: t, s: s, at: at, watched: watched, before: t.leftovers.hint(), stale: t.leftovers.restore(),
		layouts: t.layouts, faulty: make(map[*engine.Kernel]int)}
	s.Agree = c.agree
	return c
}

// Complete runs the tasks in all ways, after all were launched.
func (c *Section) Complete() error {
	e := c.trial.engine
	err := e.Err()
	if err == nil {
		err = c.enter(e.Replicated())
	}
	if err == nil && e.Replicated() {
		return e.Share(c.s) // every task runs on this replica
	}
	if err == nil {
		for i := range c.s.Tasks {
			e.RunAlone(c.s, i)
		}
		err = c.leave()
	}
	if err != nil {
		return e.Fail(err)
	}
	return nil
}

// outcome is the contents of the regions of a task after one run.
type outcome struct {
	initial  [][]byte // by region: contents before the run; empty for in
	results  [][]byte // by region: contents after the run; empty for in and scratch
	panicked *Panic
	// clean means that the results equal those of the clean run, so they are not stored.
	clean bool
}

// Panic is a panic of a body.
type Panic struct {
	Value any
	Stack []byte
}

// Launched records the last launched task, with the regions that it was given.
func (c *Section) Launched(given []update.Region) {
	i := len(c.s.Tasks) - 1
	c.arguments = append(c.arguments, arguments(given))
	c.bodies = append(c.bodies, c.s.Tasks[i].Body)
	c.s.Tasks[i].Body = func() { c.run(i) }
	for k, r := range c.s.Tasks[i].Regions {
		c.shadow.add(owner{task: i, region: k}, r.Mem)
	}
	c.withhold(i)
}

// enter begins the end of the section. The program must not have written the memory of the
// tasks before.
func (c *Section) enter(replicated bool) error {
	c.release()
	if !replicated {
		c.readEarly()
	}
	for d := range c.shadow.changes() {
		c.writtenByControl(d)
	}
	if len(c.findings) > 0 {
		return c.trial.program.Report(c.findings)
	}
	for k, r := range c.watched {
		if err := r.Err(); err != nil {
			return err
		}
		c.shadow.add(owner{task: watched, region: k}, r.Mem)
	}
	c.watchNear()
	c.watchOutside()
	c.place, c.of = c.trial.engine.Turn()
	c.clean = make([]outcome, len(c.s.Tasks))
	t := c.trial
	if replicated || t.watches() {
		c.digest = newDigest(c)
	}
	return t.section(c)
}

// mine reports whether this process repeats task i. If replicas know of different deaths,
// two of them may do so in one section, or none.
func (c *Section) mine(i int) bool { return i%c.of == c.place }

// run runs task i, and restores the entry contents of the memory.
func (c *Section) run(i int) {
	clean := &c.clean[i]
	c.watchArguments(i, func() { c.attempt(i, clean, nil) }, func() { c.attempt(i, &c.a, nil) })
	if clean.panicked != nil {
		panic(clean.panicked) // the program panics, as it would without checks
	}
	if i == 0 && c.place == 0 {
		// Bodies may keep state in memory that is not watched, such as variables of closures.
		// One more run makes such state differ between replicas, and between this run of the
		// tasks and the next one.
		c.attempt(i, &c.a, nil)
	}
	if c.mine(i) && c.faulty[c.s.Tasks[i].Kernel] < faultyTasks {
		c.elementwise(i)
	}
}

// leave ends the section. Only the results of the tasks may have changed, and they may
// depend only on memory that the tasks name. leave then copies the results into the
// regions.
func (c *Section) leave() error {
	c.trespasses()
	c.soak()
	c.outside()
	if len(c.findings) > 0 {
		return c.trial.program.Report(c.findings)
	}
	for i := range c.s.Tasks {
		for k, result := range c.clean[i].results {
			copy(c.s.Tasks[i].Regions[k].Mem, result)
		}
	}
	c.trial.leftovers.leave(c)
	c.trial.remember(c.withheld)
	return nil
}

// filling changes the contents of region k of a task before a run.
type filling func(k int, r *update.Region)

// attempt runs task i from the entry state, and restores the entry state. Before the run
// fill fills the out and scratch regions.
func (c *Section) attempt(i int, o *outcome, fill filling) {
	l := &c.s.Tasks[i]
	n := len(l.Regions)
	if len(o.initial) < n {
		o.initial, o.results = make([][]byte, n), make([][]byte, n)
	}
	o.panicked = nil
	for k := range l.Regions {
		o.initial[k], o.results[k] = o.initial[k][:0], o.results[k][:0]
		if l.Regions[k].Mode == update.In {
			continue
		}
		if d, ok := c.shadow.change(l.Regions[k].Mem); ok {
			c.trace = c.describe(d)
			c.shadow.restore(l.Regions[k].Mem)
		}
	}
	for k := range l.Regions {
		if fill != nil && c.fillable(l, k) {
			fill(k, &l.Regions[k])
		}
	}
	for k, r := range l.Regions {
		if r.Mode != update.In {
			o.initial[k] = append(o.initial[k], r.Mem...)
		}
	}
	o.panicked = caught(c.bodies[i])
	for k, r := range l.Regions {
		if r.Mode.Written() {
			o.results[k] = append(o.results[k], r.Mem...)
		}
	}
	for _, r := range l.Regions {
		if r.Mode != update.In {
			c.shadow.restore(r.Mem)
		}
	}
}

// caught calls a body and returns its panic.
func caught(body func()) (p *Panic) {
	defer func() {
		if v := recover(); v != nil {
			p = &Panic{v, debug.Stack()}
		}
	}()
	body()
	return nil
}

// fillable reports whether the entry contents of region k of l are undefined for the task.
// A region that shares memory with another region of the task counts as inout.
func (c *Section) fillable(l *engine.Task, k int) bool {
	r := &l.Regions[k]
	if r.Mode != update.Out && r.Mode != update.Scratch || len(r.Mem) == 0 {
		return false
	}
	lo, hi := bounds(r.Mem)
	for j := range l.Regions {
		if from, to := bounds(l.Regions[j].Mem); j != k && from < hi && lo < to {
			return false
		}
	}
	return true
}

// poisons fills every region that may be filled.
func (c *Section) poisons(p poison) filling {
	return func(k int, r *update.Region) { c.layouts.of(r.Type()).fill(r.Mem, p, k, r.Len()) }
}

// difference is an element of a region, or a field of it, that different runs of a task
// wrote differently. If a body panicked there is no element.
type difference struct {
	region   int
	element  int
	path     string
	panicked *Panic
}

// compare looks for an element that other runs of task i wrote differently than the clean
// run. A part of an element is equal if all runs wrote the same there, or if all left its
// contents unchanged. compare compares bytes, so a NaN equals itself.
func (c *Section) compare(i int, others ...*outcome) (difference, bool) {
	clean := &c.clean[i]
	for _, o := range others {
		if o.panicked != nil {
			return difference{panicked: o.panicked}, true
		}
	}
	for k, result := range clean.results {
		equal := true
		for _, o := range others {
			equal = equal && (o.clean || string(o.results[k]) == string(result))
		}
		if equal {
			continue
		}
		lay := c.layouts.of(c.s.Tasks[i].Regions[k].Type())
		if e, path, ok := lay.search(len(result), func(at, n int) bool {
			same, left := true, string(result[at:at+n]) == string(clean.initial[k][at:at+n])
			for _, o := range others {
				if o.clean {
					left = false // its initial contents differ between the runs
					continue
				}
				now := string(o.results[k][at : at+n])
				same = same && now == string(result[at:at+n])
				left = left && now == string(o.initial[k][at:at+n])
			}
			return !same && !left
		}); ok {
			return difference{region: k, element: e, path: path}, true
		}
	}
	return difference{}, false
}
