package sdrtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/transport/sdr"
)

// Job describes a run.
type Job struct {
	Degrees []int
	Mirror  bool
	Limits  sdr.Limits
	Ordered bool // see sdr.Config
	Seed    uint64
	Kills   []Kill
	// Layer makes the layer that a process runs beside the messages; nil: none.
	Layer func(p *Process) Layer
	// Recovery makes the job take cuts; nil: it takes none.
	Recovery *Recovery
	// Settle is the mean number of safe points from one settled point to the next, 0: there are no
	// settled points.
	Settle  int
	Returns []Return
	// Record makes every process record its decisions. With Replay, the process of each
	// rank carries out the decisions of another run, and makes none; all degrees are then
	// 1.
	Record bool
	Replay []*Record
	// Lag slows replicas down: replica k takes only one in Lag[k] of its possible steps,
	// while messages still reach it. nil: no replica is slowed down.
	Lag []int
	// Steps bounds the run; 0 means a million.
	Steps int
}

// Point is a kind of place at which a process dies.
type Point uint8

// The points of death. A kill that would leave a rank without a replica does not happen,
// unless there is a cut to roll back to.
const (
	AtStep    Point = iota // at any step of the run
	AtFrame                // when it sends its Count-th frame; the frame is lost
	AtMessage              // in the middle of its Count-th first transmission of a payload
	AtSection              // when it opens its Count-th section
	AtTask                 // after the body of its Count-th task
	AtUpdate               // in the middle of its Count-th update
	AtCut                  // at its Count-th step through a cut
	points
)

func (pt Point) String() string {
	return [points]string{"step", "frame", "message", "section", "task", "update", "cut"}[pt]
}

// Kill is the death of one process.
type Kill struct {
	Rank, Replica int
	Point         Point
	Count         int
}

func (k Kill) String() string {
	return fmt.Sprintf("%d.%d@%s:%d", k.Rank, k.Replica, k.Point, k.Count)
}

// Process is one replica in a run.
type Process struct {
	Rank, Replica int
	Engine        *sdr.Engine
	Killed        bool
	Err           error // result of its program
	Record        *Record

	job      *run
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	woken    bool
	finished bool
	layer    Layer
	deadline time.Duration // deadline of its wait; 0 = none
	waits    bool          // the process is in a WaitFor that may still return early
	tired    int           // run.events when a WaitFor last returned early
	reached  [points]int   // how often it has passed each point
	verdicts int           // number of deaths that it knows of
	steps    [3]func()     // its possible steps
	cuts     cutState
	again    againState
}

const (
	stepRun = iota
	stepDeath
	stepExpire
)

// mostEvents is the number of events after which a run is aborted. A job that ends takes
// some ten thousand.
const mostEvents = 3_000_000

// Result is how a run ended.
type Result struct {
	Processes []*Process
	Steps     int
	Fired     int         // kills that happened
	FiredAt   [points]int // at each point

	Cuts, Cancelled, Joined, Rollbacks int
	Again                              int // runs of programs that began at a settled point
	Pasts                              *Pasts
}

// Err returns the first error of a program in a live process.
func (r *Result) Err() error {
	for _, p := range r.Processes {
		if err := errors.Join(p.Err, p.Record.Err()); !p.Killed && err != nil {
			return fmt.Errorf("%v: %w", p, err)
		}
	}
	return nil
}

var errKilled = errors.New("killed")

// Run runs program in every process until all live processes have returned from it and handed over
// the messages that they kept. If the run ends in another way, the error states why, and the seed.
func (j Job) Run(program func(p *Process) error) (*Result, error) {
	r := &run{job: j, pasts: NewPasts(j.Degrees), program: program, spent: make(map[int]bool), random: rand.New(rand.NewPCG(j.Seed, 0x5d2))}
	if r.job.Steps == 0 {
		r.job.Steps = 1_000_000
	}
	for rank, d := range j.Degrees {
		for k := range d {
			p := &Process{Rank: rank, Replica: k, job: r, woken: true}
			p.steps = [...]func(){stepRun: p.run, stepDeath: p.receiveDeath, stepExpire: p.expire}
			r.processes = append(r.processes, p)
		}
	}
	r.links = make(map[pair]*Link)
	if j.Layer != nil {
		for _, p := range r.processes {
			p.layer = j.Layer(p)
		}
	}
	for _, p := range r.processes {
		switch {
		case j.Replay != nil:
			p.Record = j.Replay[p.Rank].Replay()
		case j.Record:
			p.Record = newRecord()
		}
		p.Engine = sdr.NewEngine(p.config())
		p.start(program)
	}
	if j.Recovery != nil {
		r.head = newHead(r)
	}
	defer func() {
		for _, p := range r.processes {
			p.stop()
		}
	}()
	err := r.loop()
	res := &Result{Pasts: r.pasts, Processes: r.processes, Steps: r.steps, Again: r.again, Fired: len(r.dead), FiredAt: r.fired}
	if h := r.head; h != nil {
		res.Cuts, res.Cancelled, res.Joined, res.Rollbacks = h.completed, h.cancelled, h.joins, h.rollbacks
	}
	if err != nil {
		err = fmt.Errorf("seed %d, degrees %v, kills %v, step %d: %w", j.Seed, j.Degrees, j.Kills, r.steps, err)
	}
	return res, err
}

func (p *Process) config() sdr.Config {
	j := &p.job.job
	c := sdr.Config{
		Rank: p.Rank, Replica: p.Replica, Incarnation: p.cuts.incarnation, Degrees: j.Degrees, Link: p.Link, Poller: p,
		Context: context.Background(), Mirror: j.Mirror, Limits: j.Limits, Ordered: j.Ordered,
		Reference: p.job.pasts.Of(p.Rank),
	}
	if p.Record != nil {
		c.Recorder = p.Record
	}
	// Without a death at AtMessage, frames have no Mid and may take the shortest path.
	if slices.ContainsFunc(j.Kills, func(k Kill) bool { return k.Point == AtMessage && k.Rank == p.Rank && k.Replica == p.Replica }) {
		c.Mid = func() func() bool { return p.Mid(AtMessage) }
	}
	return c
}

// run is the state of a simulated job.
type run struct {
	job       Job
	program   func(p *Process) error
	head      *head        // nil: no cuts
	spent     map[int]bool // kills that have happened
	random    *rand.Rand
	processes []*Process
	pasts     *Pasts
	links     map[pair]*Link
	order     []*Link // in order of creation
	dead      []*Process
	fired     [points]int
	steps     int
	again     int // runs that began at a settled point
	events    int // steps, except early returns of WaitFor
	now       time.Duration
	choices   []func()
	behind    []func() // possible steps of lagging processes
}

// loop carries out one possible step after another.
func (r *run) loop() error {
	for ; ; r.steps++ {
		if r.steps >= r.job.Steps {
			return fmt.Errorf("no end: %s", r.state())
		}
		for _, k := range r.job.Kills {
			if k.Point == AtStep && k.Count == r.steps {
				r.kill(r.process(k.Rank, k.Replica), AtStep)
			}
		}
		r.returns()
		r.choices, r.behind = r.choices[:0], r.behind[:0]
		running, first, weary := false, (*Process)(nil), (*Process)(nil)
		for _, p := range r.processes {
			if !p.Killed && !p.finished {
				running = true
				if err := r.bounded(p); err != nil {
					return err
				}
				if p.woken && r.lags(p) {
					r.behind = append(r.behind, p.steps[stepRun])
				} else if p.woken {
					r.choices = append(r.choices, p.steps[stepRun])
				} else if p.deadline > 0 && (first == nil || p.deadline < first.deadline) {
					first = p
				} else if p.waits && p.tired < r.events && (weary == nil || p.tired < weary.tired) {
					weary = p
				}
			}
			if !p.Killed && p.verdicts < len(r.dead) && !p.ordered() {
				r.choices = append(r.choices, p.steps[stepDeath])
			}
		}
		if !running && (r.head == nil || r.head.quiet()) {
			return r.check()
		}
		if r.pasts.Err() != nil {
			return r.pasts.Err()
		}
		if r.head != nil {
			if r.head.err != nil {
				return r.head.err
			}
			r.choices = r.head.choices(r.choices)
		}
		for _, l := range r.order {
			if l.CanMove() {
				r.choices = append(r.choices, l.Step)
			}
		}
		if len(r.choices) == 0 {
			r.choices = append(r.choices, r.behind...)
		}
		if first != nil && (len(r.choices) == 0 || r.random.IntN(8) == 0) {
			r.choices = append(r.choices, first.steps[stepExpire])
		}
		if weary != nil && (len(r.choices) == 0 || r.random.IntN(32) == 0) {
			weary.tire()
			continue
		}
		r.events++
		if len(r.choices) == 0 {
			return fmt.Errorf("hang: %s", r.state())
		}
		if r.events > mostEvents {
			return fmt.Errorf("no end after %d events: %s", r.events, r.state())
		}
		r.choices[r.random.IntN(len(r.choices))]()
	}
}

// lags reports whether p, which could run, is slowed down now.
func (r *run) lags(p *Process) bool {
	lag := r.job.Lag
	return p.Replica < len(lag) && lag[p.Replica] > 1 && r.random.IntN(lag[p.Replica]) > 0
}

// process returns the newest process in a slot.
func (r *run) process(rank, replica int) *Process {
	for _, p := range slices.Backward(r.processes) {
		if p.Rank == rank && p.Replica == replica {
			return p
		}
	}
	return nil
}

// kill kills a process at its current place.
func (r *run) kill(p *Process, at Point) {
	if p.Killed {
		return
	}
	others := 0
	for _, q := range r.processes {
		if q != p && q.Rank == p.Rank && !q.Killed {
			others++
		}
	}
	if others == 0 && !r.head.mayLose() {
		return
	}
	p.Killed = true
	r.fired[at]++
	r.dead = append(r.dead, p)
	for _, l := range r.order {
		if l.From == End(p) {
			l.Cut()
		}
	}
	r.head.died(p)
}

// bounded checks that a process keeps no more copies than its limits allow.
func (r *run) bounded(p *Process) error {
	limit := r.job.Limits.Retain * len(r.job.Degrees)
	if p.again.runs > 0 || p.again.ordered { // the messages of a run that has ended are copied, whatever their sizes
		return nil
	}
	if _, bytes := p.Engine.Retained(); limit > 0 && bytes > limit {
		return fmt.Errorf("%v keeps %d bytes, more than %d", p, bytes, limit)
	}
	return nil
}

// check checks the state that a finished job must leave.
func (r *run) check() error {
	for _, p := range r.processes {
		if p.Killed {
			continue
		}
		if n, bytes := p.Engine.Retained(); n != 0 {
			return fmt.Errorf("%d.%d still keeps %d messages, %d bytes", p.Rank, p.Replica, n, bytes)
		}
	}
	return nil
}

func (r *run) state() string {
	var b strings.Builder
	for _, p := range r.processes {
		fmt.Fprintf(&b, "\n%v killed=%v finished=%v error=%v verdicts=%d/%d\n%s", p, p.Killed, p.finished, p.Err, p.verdicts, len(r.dead), p.Engine.Describe())
		if r.head != nil {
			fmt.Fprintf(&b, "safe points %d, asked %d, cut %d at %d, passed %v, %d orders\n", p.cuts.safe, p.cuts.asked, p.cuts.cut, p.cuts.at, p.cuts.passed, len(p.cuts.orders))
		}
	}
	if h := r.head; h != nil {
		fmt.Fprintf(&b, "head in phase %d of cut %d waits for %v\n", h.phase, h.cut, slices.Collect(maps.Keys(h.waiting)))
	}
	return b.String()
}
