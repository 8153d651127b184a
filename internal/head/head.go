package head

import (
	"fmt"
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// phase is the phase of the job. It only advances.
type phase uint8

const (
	joining  phase = iota
	working        // all processes have joined, or that is being decided
	released       // all live processes have finished and may exit, or that is being decided
	over           // the end is decided or being decided: all processes have to exit
)

// Head owns the state of a job. New and Restore make one; the zero value is not usable.
type Head struct {
	config    Config
	state     *decision.State  // the kept entries
	asked     []decision.Entry // entries that are proposed and not kept yet, in order
	phase     phase
	successor bool // it has replaced another head

	all       []*member                // all processes that have ever existed
	places    map[job.Process]*member  // by slot: the process that has it now, or gets it
	byAgent   map[From]*member         // by the name that their agents know
	byPlace   map[job.Endpoint]*member // by the slots that they have, or had
	doubts    []linkDoubt              // links that are reported to be without a connection
	wanted    map[job.Process]uint32   // slots whose next process, of that incarnation, is not chosen yet
	last      map[int]decision.Verdict // by rank: on the last process that died while it had its state
	direct    []int                    // ranks whose replicas store into each other's arrays
	notes     []string                 // notes of processes that have been printed
	lastWords []string                 // last reports of failed programs that have been printed
	timers    []timer
	now       time.Duration
	joinedAt  time.Duration // when all processes had joined
	hasBegun  bool          // all processes have joined
	outlasted time.Duration // since when processes run while all ranks have finished in others; longAgo: none do
	continued time.Duration // when the job was last continued after a stop; longAgo: never

	recovery recovering
	opening  bool      // the driver looks for files
	schedule *schedule // of -fault weibull, nil if there is none
	failures []runreport.Failure

	convictions []runreport.Convicted

	outcome    *outcome // nil: nothing has ended the job yet
	signalled  bool
	abandoned  bool // the head does not wait for the rest of the output, which may be blocked
	retired    bool // this head may not decide any more; a successor continues the job, or may
	publishing int  // sets of files that are being made complete

	differing  map[int]bool                // ranks whose replicas print different lines, as already reported
	diverged   map[int]string              // ranks whose replicas had different states, and what differed
	suspicions map[detect.ID]time.Duration // when a node was last suspected
	endings    map[detect.ID]string        // why the connection to its agent has ended

	acts []Action
}

// outcome is how the job ends. It is set once: the first cause counts.
type outcome struct {
	code int
	text string
	by   job.Endpoint // the process whose end has ended the job; zero if something else has
	how  farewell
}

// New returns the head of a new job.
func New(c Config) *Head {
	h := newHead(c)
	if c.recovers() && !c.readsFiles() { // else recovery begins when the files are known
		h.recovery.decides = recovery.NewHead(h.plan())
	}
	return h
}

func newHead(c Config) *Head {
	return &Head{config: c, state: decision.NewState(), outlasted: longAgo, continued: longAgo,
		places: make(map[job.Process]*member), byAgent: make(map[From]*member), byPlace: make(map[job.Endpoint]*member), wanted: make(map[job.Process]uint32),
		last: make(map[int]decision.Verdict), differing: make(map[int]bool), diverged: make(map[int]string), suspicions: make(map[detect.ID]time.Duration), endings: make(map[detect.ID]string)}
}

// Step handles an event and returns the actions to take, in order. The times of events
// never decrease.
func (h *Head) Step(e Event, now time.Duration) []Action {
	h.now = max(h.now, now)
	h.step(e)
	acts := h.acts
	h.acts = nil
	return acts
}

func (h *Head) step(e Event) {
	if h.retired { // the job belongs to a successor
		return
	}
	switch e := e.(type) {
	case Begin:
		h.begin()
	case Committed:
		h.committed(e.Entry)
		h.watchOutlasting()
	case Suspected:
		h.suspected(e)
	case Disconnected:
		h.endings[e.Node] = e.Text
	case Retired:
		h.giveUp(e.Why)
	case Opened:
		h.opened(e)
	case Published:
		h.published(e)
	case Failed:
		h.refuse(e.Err)
	case Signalled:
		h.interrupt(e.Signal)
	case Deadlocked:
		h.deadlocked(e)
	case Tick:
		h.tick()
	case Started:
		h.about(e.From, func(m *member) { h.started(m, e) })
	case Joined:
		h.about(e.From, func(m *member) { h.welcome(m, e.Hello) })
		h.watchOutlasting() // the process may have run for long under an earlier head
	case Said:
		h.about(e.From, func(m *member) { h.hear(m, e.Message) })
	case Unheard:
		h.about(e.From, func(m *member) { h.unheard(m, e.Why, e.Text) })
	case Exited:
		h.about(e.From, func(m *member) { h.exited(m, e.Exit) })
	case ProgramGone:
		h.about(e.From, h.programGone)
	case Stopped:
		h.about(e.From, func(m *member) { h.isStopped(m, e.For) })
	case Quiet:
		h.about(e.From, func(m *member) { h.quiet(m, e) })
	case OutputSettled:
		h.about(e.From, h.settled)
	case Wrote:
		h.about(e.From, func(m *member) { m.wrote = h.now })
	case Continued:
		h.continued = h.now
	case Differs:
		h.differs(e)
	}
}

// about calls f for the process that an event is about, if the head knows it.
func (h *Head) about(from From, f func(*member)) {
	if m := h.byAgent[from]; m != nil {
		f(m)
	}
}

// Ended reports whether the head has nothing left to do or to wait for.
func (h *Head) Ended() bool {
	switch {
	case h.retired || h.abandoned:
		return true
	case len(h.asked) > 0 || h.publishing > 0 || len(h.all) == 0:
		return false
	}
	return !slices.ContainsFunc(h.all, func(m *member) bool { return !m.settled })
}

func (h *Head) act(a Action) { h.acts = append(h.acts, a) }

// elapsed returns the time since all processes had joined.
func (h *Head) elapsed() time.Duration {
	if !h.hasBegun {
		return 0
	}
	return h.now - h.joinedAt
}

// detailf logs a detail, for users who want to see everything.
func (h *Head) detailf(format string, args ...any) { h.logf(Detail, format, args...) }

// warnf logs a warning to the user.
func (h *Head) warnf(format string, args ...any) { h.logf(Warning, format, args...) }

func (h *Head) logf(l Level, format string, args ...any) {
	h.act(Log{Level: l, At: h.elapsed(), Text: fmt.Sprintf(format, args...)})
}

// send sends a message to a process.
func (h *Head) send(m *member, msg *job.Message) { h.act(Send{m.from, msg}) }

// kill kills a process if it still lives.
func (h *Head) kill(m *member) {
	if m.state.there() {
		h.act(Kill{m.from, syscall.SIGKILL})
	}
}

func (h *Head) killAll() {
	for _, m := range h.all {
		h.kill(m)
	}
}

// fence kills a process before it is declared dead, so that it cannot act after the verdict.
func (h *Head) fence(m *member, e ending) {
	if !m.state.there() || m.ending != nil {
		return
	}
	h.detailf("%v is fenced: %s", m.process, e.detail)
	m.ending, m.end, m.fenced = &e, "fenced", h.elapsed()
	h.kill(m)
}
