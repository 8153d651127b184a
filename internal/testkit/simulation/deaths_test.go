package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head"
	"github.com/intrahpc/intra/internal/job"
)

// kill is a planned death. It kills the process in a slot when that process passes a point
// for the count-th time. Or it kills the process with the count-th passage of the point in
// the whole job. Or it happens at a step of the run.
type kill struct {
	process job.Process
	anybody bool
	other   bool // some time after another process has passed the point
	what    loss
	point   string
	count   int

	// A request to leave, or to join.
	host   detect.ID     // 0: the host of the process
	within time.Duration // 0: without a bound
	again  int           // the same request follows after that many steps; 0: it does not
	mortal bool          // the host is lost after the request
	lost   int           // number of steps from the request to that loss
}

// loss identifies what is lost at a step of the run.
type loss int

const (
	aProcess loss = iota
	aHost
	aSpare
	aLink
	aNotice   // to the agent of a host
	aDrain    // of a host
	aMove     // of a process
	aSignal   // to the head
	anArrival // of a host
	aDegree   // of a rank
)

func (k kill) String() string {
	if k.what != aProcess {
		return fmt.Sprintf("%s of %v@%s:%d", [...]string{"", "host", "a spare", "a link", "notice", "drain", "move", "signal", "arrival", "degree"}[k.what], k.process, k.point, k.count)
	}
	if k.anybody {
		return fmt.Sprintf("*@%s:%d", k.point, k.count)
	}
	if k.other {
		return fmt.Sprintf("%v after *@%s:%d", k.process, k.point, k.count)
	}
	return fmt.Sprintf("%v@%s:%d", k.process, k.point, k.count)
}

// These points of death are not places in a process.
const (
	atStep  = "step"  // at that step of the run
	atAfter = "after" // that many steps after the previous death
)

// points are the places in a process where it may die, each with the greatest number of
// earlier passages.
var points = []struct {
	name string
	most int
}{
	{atStep, 2000}, {atAfter, 50}, {atAfter, 150}, {atAfter, 400}, {atAfter, 1000},
	{"frame", 120}, {"message", 40}, {"section", 6}, {"task", 15}, {"update", 10},
	{"ask", 4}, {"copy", 6}, {"state", 2}, {"receive", 6}, {"joined", 2}, {"drain", 6}, {"admit", 4}, {"go", 6},
	{"backup copy", 5}, {"backup send", 4}, {"backup receive", 8}, {"backup stored", 6}, {"complete", 6},
	{"fetch", 2}, {"abort", 4}, {"abort", 4}, {"ready", 4}, {"ready", 4}, {"resume", 4}, {"save", 3},
	{"finished", 3}, {"through", 4}, {"through", 4},
}

// doomed is a process that dies at some step.
type doomed struct {
	process job.Process
	step    int
}

// strike kills the processes whose deaths are due at this step.
func (w *world) strike() {
	for i, x := range w.later {
		if w.steps >= x.step {
			w.later = slices.Delete(w.later, i, i+1)
			x.do()
			return
		}
	}
	for i, d := range w.doomed {
		if p := w.current(d.process); w.steps >= d.step {
			w.doomed = slices.Delete(w.doomed, i, i+1)
			if p != nil {
				w.kill(p, "other")
			}
			return
		}
	}
	for i, k := range w.spec.kills {
		switch {
		case w.spent[i]:
			continue
		case k.point == atStep && w.steps < k.count:
			continue
		case k.point == atAfter && (w.death == 0 || w.steps < w.death+k.count):
			continue
		case k.point != atStep && k.point != atAfter:
			continue
		}
		w.spent[i] = true
		if k.what >= aNotice {
			w.request(k)
			return
		}
		switch k.what {
		case aHost:
			if p := w.current(k.process); p != nil {
				w.strikeHost(p.from.Node)
			}
			return
		case aSpare:
			w.strikeSpare()
			return
		case aLink:
			w.sever()
			return
		}
		p := w.current(k.process)
		if k.anybody {
			p = w.processes[w.random.IntN(len(w.processes))]
		}
		if p != nil && !p.dead {
			w.kill(p, k.point)
			return
		}
	}
}

// kill ends a process immediately. The last frames and messages that it had not handed
// over are lost.
func (w *world) kill(p *process, where string) {
	if p.dead || p.left {
		return
	}
	p.dead = true
	w.death = max(w.steps, 1)
	w.seen["death at "+where]++
	for _, l := range w.order {
		if l.From == p && !w.echoes(l) { // the host may be lost, too, including frames that the process had handed over
			l.Cut()
		}
		if l.From == p || l.To == p {
			if l.Ended() && l.From == p {
				l.To.(*process).settle()
			}
		}
	}
	if n := w.random.IntN(len(p.says) + 1); n < len(p.says) {
		if _, ok := p.says[0].(head.Started); ok { // the agent sends this message, not the process
			n = max(n, 1)
		}
		p.says = p.says[:max(n, p.held)]
	}
	p.gifts = nil
	w.countRifts()
}

// passes counts a passage of a point, and reports whether the process has to die there.
func (p *process) passes(point string) bool {
	n, all := p.reached[point], p.w.reached[point]
	p.reached[point]++
	p.w.reached[point]++
	for i, k := range p.w.spec.kills {
		if k.point != point || p.w.spent[i] {
			continue
		}
		switch {
		case k.other:
			if k.count <= all && k.process != p.self {
				p.w.spent[i] = true
				p.w.doomed = append(p.w.doomed, doomed{k.process, p.w.steps + p.w.random.IntN(200)})
			}
		case k.anybody && k.count == all || !k.anybody && k.process == p.self && k.count == n:
			p.w.spent[i] = true
			if k.what >= aNotice { // not in the middle of a step
				p.w.later = append(p.w.later, timed{p.w.steps, func() { p.w.request(k) }})
				return false
			}
			return true
		}
	}
	return false
}

// at is a point of death outside the program. It reports whether the process survives.
func (p *process) at(point string) bool {
	if p.passes(point) {
		p.w.kill(p, point)
	}
	return !p.dead
}

// reach is a point of death in the program.
func (p *process) reach(point string) {
	if !p.at(point) {
		panic(errKilled) // begin recovers it
	}
}

// mid returns a point of death inside a transfer, for transport.Frame.Mid.
func (p *process) mid(point string) func() bool {
	if !p.passes(point) {
		return nil
	}
	return func() bool {
		p.w.kill(p, point)
		return !p.dead
	}
}
