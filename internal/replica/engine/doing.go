package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/transport/sdr"
)

// progress records what was observed when this process last reported its activity. The
// lock of the node guards it.
type progress struct {
	seen    counts
	moved   time.Duration // when the counts last changed
	looked  time.Duration // when the goroutines of the process were last inspected after moved; 0: not yet
	blocked bool          // at that inspection, no goroutine of the program could continue
	sent    uint64        // messages sent until that inspection, see job.Doing
}

// counts are numbers that are compared to find progress: whenever the process makes
// progress, one of them changes.
type counts struct {
	state                                             job.State
	opened, sections, run, received, points, messages uint64
	onces                                             uint64
}

// An idle process is inspected after idleTime, and then every lookEvery, because an
// inspection stops the process for a moment.
const (
	idleTime  = time.Second
	lookEvery = 5 * time.Second
)

// tellActivity sends the head the Snapshot together with the current activity of the
// process. The activity is determined first, which takes the lock of the messages. It must
// not be determined under the lock of the session: flipMessage waits for that lock while
// the lock of the messages is held.
func (e *Engine) tellActivity() {
	doing := e.doing()
	e.head.Stats(func() job.Stats {
		st := e.Snapshot()
		st.Doing = doing
		return st
	})
}

// doing returns the current activity of the process. The program reports nothing for this:
// the activity follows from the state of the engine, and from calls that have waited long.
func (e *Engine) doing() *job.Doing {
	var stalls []sdr.Stall
	var completed uint64
	if m := e.messages.Load(); m != nil {
		stalls, completed = m.Stalls()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	d, now := e.where(), e.now()
	d.Messages = completed
	d.Waits = append(d.Waits, waits(stalls)...)
	c := counts{state: d.State, opened: d.Section, points: d.Point, messages: completed, onces: e.once.ended,
		sections: uint64(e.stats.total.Sections), run: uint64(e.stats.total.TasksRun), received: uint64(e.stats.total.TasksReceived)}
	p := &e.progress
	if c != p.seen {
		*p = progress{seen: c, moved: now}
	}
	d.Idle = now - p.moved
	if d.Idle < idleTime || len(d.Waits) == 0 {
		p.looked, p.blocked, p.sent = 0, false, 0
		return &d
	}
	if p.looked == 0 || now-p.looked >= lookEvery {
		p.looked = now
		var runs bool
		var sent uint64
		e.unlocked(func() {
			if runs = programRuns(string(stacks()), programModule()); !runs {
				sent = e.sent()
			}
		})
		p.blocked, p.sent = !runs, sent
	}
	d.Blocked, d.Sent = p.blocked, p.sent
	return &d
}

// sent returns the number of messages that the program has sent. See job.Doing.
func (e *Engine) sent() (all uint64) {
	if m := e.messages.Load(); m != nil {
		for _, n := range m.Sent() {
			all += n
		}
	}
	return all
}

// atRest reports whether the process was blocked when it last reported.
func (e *Engine) atRest() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.progress.blocked
}

// where returns where the program is, and what it may wait for there other than messages.
// The caller holds the lock.
func (e *Engine) where() (d job.Doing) {
	r := e.recovering
	if r.program != nil {
		d.Point = r.program.points.Load()
		d.Done, d.Total = r.program.steps.get()
	}
	switch {
	case r.back.Pending():
		d.State = job.StateBack
	case e.messages.Load() == nil:
		d.State, d.Arrived = job.StateJoining, r.arriving.share()
	case e.finished:
		d.State = job.StateFinished
	case r.runsAgain() != nil:
		s := r.runsAgain()
		d.State, d.From, d.To = job.StateAgain, s.from.number, s.to
	case r.inside != nil:
		d.State, d.At = job.StateSafePoint, r.inside.place()
		d.Waits = []job.Wait{{Call: "SafePoint", At: d.At}}
	case e.once.inside:
		d.State = job.StateOnce
		if !e.once.here {
			d.Waits = []job.Wait{{Call: "Once"}}
		}
	case e.current != nil:
		d.State, d.Section, d.At = job.StateSection, e.current.Number, e.current.At.String()
		if t := e.runningTask(); t != nil {
			d.Task = fmt.Sprintf("%s (%s)", t.Kernel.Name, t.At)
		} else if e.open == e.current && e.Replicated() {
			d.Waits = []job.Wait{{Call: "section", At: d.At}}
		}
	default:
		d.State = job.StateRuns
	}
	return d
}

// runningTask returns a task whose body runs on a worker, nil if there is none. While a
// body runs, the process waits for nothing.
func (h *sharing) runningTask() *Task {
	for i := range h.workers {
		if t := h.workers[i].inside.task.Load(); t != nil {
			return t
		}
	}
	return h.rerun.task.Load()
}

// waits converts calls that have waited for a while to the form of the report to the
// head.
func waits(stalls []sdr.Stall) (all []job.Wait) {
	for _, s := range stalls {
		w := job.Wait{Call: s.Call, At: s.At, Ranks: slices.Clone(s.Ranks), One: s.One, Moving: s.Moving, For: time.Since(s.Since)}
		if s.Tagged && s.Tag != sdr.Any {
			w.Tag = &s.Tag
		}
		if w.Call == "" {
			w.Call = "a call"
		}
		all = append(all, w)
	}
	return all
}
