package simulation

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/testkit/sdrtest"
)

// world is a running job. It runs in one goroutine, step by step, and the seed chooses
// each step.
type world struct {
	spec      *spec
	random    *rand.Rand
	processes []*process // all processes, live or dead, in the order of their starts
	links     map[pair]*sdrtest.Link
	pasts     *sdrtest.Pasts        // independent record of the causal histories of messages
	order     []*sdrtest.Link       // in order of creation
	slow      map[*sdrtest.Link]int // slow links; each moves once in that many possible steps
	head      *leader
	seen      map[string]int // counts events, for coverage
	now       time.Duration  // skipped time; each step adds a microsecond
	steps     int
	death     int    // the step of the last death
	spent     []bool // kills that have happened
	reached   map[string]int
	doomed    []doomed
	disk      disk
	outputs   outputs
	choices   []func()
	bad       error  // the first broken invariant
	broken    []rift // links that have broken permanently
	rifts     int    // number of these whose ends are live
	lost      map[detect.ID]bool
	nodes     []detect.ID        // hosts that are a part of the job, or were
	guests    []*guest           // hosts that have joined the running job, or are to join it
	signalled map[detect.ID]bool // hosts whose agents were given notice
	gone      map[detect.ID]bool // hosts that have left, and whose agents have ended
	later     []timed
	agents    map[detect.ID]*hostLog    // by host
	holders   map[job.Endpoint]*process // the processes that have, or had, each slot
	hello     *job.Hello
	heirs     int // heads that may still be lost
	hashed    int // number of messages that were received
	wrong     *wrong
}

type pair struct{ from, to *process }

func newWorld(s *spec) *world {
	w := &world{spec: s, random: rand.New(rand.NewPCG(s.seed, 5)), links: make(map[pair]*sdrtest.Link), pasts: sdrtest.NewPasts(s.degrees), slow: make(map[*sdrtest.Link]int),
		seen: make(map[string]int), reached: make(map[string]int), spent: make([]bool, len(s.kills)), disk: newDisk(), outputs: newOutputs(s)}
	w.signalled, w.gone = make(map[detect.ID]bool), make(map[detect.ID]bool)
	for i := range s.hosts {
		w.nodes = append(w.nodes, firstNode+detect.ID(i))
	}
	w.heirs, w.hello = s.heirs, &job.Hello{Tag: true}
	w.lost, w.agents, w.holders = make(map[detect.ID]bool), make(map[detect.ID]*hostLog), make(map[job.Endpoint]*process)
	w.head = newLeader(w)
	w.head.boot()
	return w
}

// fail records the first broken invariant.
func (w *world) fail(format string, args ...any) {
	if w.bad == nil {
		w.bad = fmt.Errorf(format, args...)
	}
}

// run takes steps until the job has ended.
func (w *world) run() error {
	defer func() {
		for _, p := range w.processes {
			p.stop()
		}
	}()
	for ; ; w.steps++ {
		switch {
		case w.bad != nil:
			return w.bad
		case w.pasts.Err() != nil:
			return w.pasts.Err()
		case w.head.ended():
			return w.remains()
		case w.steps >= w.most():
			return fmt.Errorf("no end: %s", w.state())
		}
		w.strike()
		if w.choose(false); len(w.choices) == 0 {
			w.choose(true)
		}
		if len(w.choices) == 0 && w.head.tick() {
			continue // all processes wait for time to pass
		}
		if len(w.choices) == 0 {
			return fmt.Errorf("hang: %s", w.state())
		}
		w.choices[w.random.IntN(len(w.choices))]()
	}
}

// remains reports processes that are left over at the end of the job.
func (w *world) remains() error {
	for _, p := range w.processes {
		if !p.dead && !p.left {
			return fmt.Errorf("%v is left over: %s", p, w.state())
		}
	}
	return nil
}

// most bounds the steps of a job. A step takes a microsecond of virtual time. A program
// that polls takes steps while the head pauses between attempts to start a replacement;
// these pauses sum to 13 seconds.
func (w *world) most() int {
	if w.spec.gone > 0 {
		return 20_000_000
	}
	return 2_000_000
}

// choose lists the possible next events. It usually omits those of slow processes, unless
// no other event is possible.
func (w *world) choose(all bool) {
	w.choices = w.choices[:0]
	later, echo := (*process)(nil), (*sdrtest.Link)(nil)
	for _, p := range w.processes {
		if p.dead {
			continue
		}
		behind := !all && p.lag > 0 && w.random.IntN(p.lag) > 0
		switch {
		case p.ended:
		case p.woken && !behind:
			w.choices = append(w.choices, p.steps.run)
		case !p.woken && p.deadline > 0 && (later == nil || p.deadline < later.deadline):
			later = p
		}
		if len(p.events)+len(p.mail) > 0 && (all || p.delay == 0 || w.random.IntN(p.delay) == 0) {
			w.choices = append(w.choices, p.steps.handleNext)
		}
		if len(p.meets) > 0 && !behind && (all || w.spec.shy == 0 || w.random.IntN(w.spec.shy) == 0) {
			w.choices = append(w.choices, p.steps.meet)
		}
		if len(p.gifts) > 0 && !behind {
			w.choices = append(w.choices, p.steps.give)
		}
	}
	w.choices = w.head.moves(w.choices, all)
	for _, l := range w.order {
		if !l.CanMove() {
			continue
		}
		// The other end may not have the link yet.
		if from, to := l.From.(*process), l.To.(*process); !to.dead && !to.wired(from) && l.Ended() {
			continue
		}
		if w.echoes(l) && w.random.IntN(w.spec.echo) > 0 {
			echo = l
			continue
		}
		if late := w.slow[l]; all || late == 0 || w.random.IntN(late) == 0 {
			w.choices = append(w.choices, l.Step)
		}
	}
	if w.spec.breaks > 0 && len(w.order) > 0 && w.random.IntN(w.spec.breaks) == 0 {
		if l := w.order[w.random.IntN(len(w.order))]; !l.From.Gone() && !l.To.Gone() {
			w.choices = append(w.choices, func() { w.interrupt(l) })
		}
	}
	if w.spec.compared && w.random.IntN(200) == 0 {
		w.choices = append(w.choices, w.report)
	}
	if echo != nil && all && len(w.choices) == 0 {
		w.choices = append(w.choices, echo.Step)
	}
	if later != nil && (len(w.choices) == 0 || w.random.IntN(8) == 0) {
		w.choices = append(w.choices, later.steps.expire)
	}
}

// noteAhead records that a dead process had passed the safe point of a cut without stopping there,
// and had sent messages after it.
func (w *world) noteAhead(o job.Order) {
	for _, p := range w.processes {
		if p.dead && p.passed >= o.Number && p.member.Generation() == o.Generation {
			w.seen["a dead process was ahead of a cut"]++
		}
	}
}

// link returns the link from one process to another. It makes the link for the first
// frame.
func (w *world) link(from, to *process) *sdrtest.Link {
	key := pair{from, to}
	l := w.links[key]
	if l == nil {
		l = sdrtest.NewLink(from, to, &receiver{p: to, from: from}, w.random)
		move := l.Step
		l.Step = func() {
			move()
			if from.dead && l.Ended() {
				to.settle()
			}
		}
		w.links[key] = l
		w.order = append(w.order, l)
		if late := w.spec.lags[w.random.IntN(len(w.spec.lags))]; late > 0 {
			w.slow[l] = late
		}
	}
	return l
}

// echoes reports whether a link holds frames of a dead process to a joiner, and delays
// them.
func (w *world) echoes(l *sdrtest.Link) bool {
	return w.spec.echo > 0 && l.From.(*process).dead && l.To.(*process).newcomer
}

// current returns the present or last process in a slot.
func (w *world) current(p job.Process) *process {
	for i := len(w.processes) - 1; i >= 0; i-- {
		if q := w.processes[i]; q.self == p {
			return q
		}
	}
	return nil
}

// state describes which processes wait for which.
func (w *world) state() string {
	var b strings.Builder
	fmt.Fprintf(&b, "step %d\n%s\n", w.steps, w.head.String())
	for _, p := range w.processes {
		if !p.declared {
			b.WriteString(p.String() + ": " + p.describe() + "\n")
		}
	}
	for _, l := range w.order {
		if !l.Ended() || l.Waiting() > 0 {
			fmt.Fprintf(&b, "on the link %v-%v: %d frames wait, in flight: %v\n", l.From, l.To, l.Waiting(), !l.Ended())
		}
	}
	return b.String()
}
