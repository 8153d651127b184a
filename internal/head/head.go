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

// phase is how far the job is. It never goes back.
type phase uint8

const (
	joining  phase = iota
	working        // all have joined, or that is being decided
	released       // all live processes have finished and may go, or that is being decided
	over           // the end has been decided, or a signal has come: all have to go
)

// Head owns the state of a job. Its zero value is not ready: see New, Restore.
type Head struct {
	config    Config
	state     *decision.State  // what is kept
	asked     []decision.Entry // what is proposed and not kept yet, in order
	phase     phase
	successor bool // other heads were before it

	all       []*member                // all that there ever were
	places    map[job.Process]*member  // who is in each place now, or gets it
	byAgent   map[From]*member         // by what their agents know them by
	byPlace   map[job.Endpoint]*member // by the places that they have, or had
	doubts    []linkDoubt              // links that are reported to be without a connection
	wanted    map[job.Process]uint32   // places whose next process, of that incarnation, is not chosen yet
	last      map[int]decision.Verdict // on the last process of each rank that died while it had its state
	direct    []int                    // ranks whose replicas store into each other's arrays
	notes     []string                 // of processes, that the user has heard
	lastWords []string                 // of processes whose program has failed
	timers    []timer
	now       time.Duration
	joinedAt  time.Duration // when all had joined
	hasBegun  bool          // they have
	outlasted time.Duration // since when some run while all ranks have finished in others; longAgo: none do
	continued time.Duration // when the job was continued last that had been stopped; longAgo: it never was

	recovery recovering
	opening  bool      // the driver looks for files
	schedule *schedule // of -fault weibull, nil if there is none
	failures []runreport.Failure

	convictions []runreport.Convicted

	outcome    *outcome // nil: nothing has ended the job yet
	signalled  bool
	abandoned  bool // the output may have nowhere to go
	retired    bool // another head carries on, or may
	publishing int  // sets of files that are being made complete

	differing  map[int]bool                // ranks of which it was said that their replicas print different lines
	diverged   map[int]string              // ranks whose replicas had different states, and what differed
	suspicions map[detect.ID]time.Duration // since when a node was suspected last
	endings    map[detect.ID]string        // why the connection to its agent has ended

	acts []Action
}

// outcome is how the job ends. The first thing that decides it counts.
type outcome struct {
	code int
	text string
	by   job.Endpoint // the process whose end was the end of the job, zero if none's was
	how  farewell
}

// New returns the head of a job that is to begin.
func New(c Config) *Head {
	h := newHead(c)
	if c.recovers() && !c.readsFiles() { // else it depends on what there is in them
		h.recovery.decides = recovery.NewHead(h.plan())
	}
	return h
}

func newHead(c Config) *Head {
	return &Head{config: c, state: decision.NewState(), outlasted: longAgo, continued: longAgo,
		places: make(map[job.Process]*member), byAgent: make(map[From]*member), byPlace: make(map[job.Endpoint]*member), wanted: make(map[job.Process]uint32),
		last: make(map[int]decision.Verdict), differing: make(map[int]bool), suspicions: make(map[detect.ID]time.Duration), endings: make(map[detect.ID]string)}
}

// Step takes in an event at that time, which never goes back, and returns what
// is to be done, in order.
func (h *Head) Step(e Event, now time.Duration) []Action {
	h.now = max(h.now, now)
	h.step(e)
	acts := h.acts
	h.acts = nil
	return acts
}

func (h *Head) step(e Event) {
	if h.retired { // the job is another one's
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
		h.watchOutlasting() // under another head it may have run for long
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

// about has f called for the process that an event is about.
func (h *Head) about(from From, f func(*member)) {
	if m := h.byAgent[from]; m != nil {
		f(m)
	}
}

// Ended reports whether nothing is left to be done or waited for.
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

// elapsed is the time since all had joined.
func (h *Head) elapsed() time.Duration {
	if !h.hasBegun {
		return 0
	}
	return h.now - h.joinedAt
}

// detailf tells of what those want to hear who want to hear everything.
func (h *Head) detailf(format string, args ...any) { h.logf(Detail, format, args...) }

// warnf tells of what the user should know of.
func (h *Head) warnf(format string, args ...any) { h.logf(Warning, format, args...) }

func (h *Head) logf(l Level, format string, args ...any) {
	h.act(Log{Level: l, At: h.elapsed(), Text: fmt.Sprintf(format, args...)})
}

// send hands a message to a process.
func (h *Head) send(m *member, msg *job.Message) { h.act(Send{m.from, msg}) }

// kill ends a process that has not gone by itself.
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

// fence kills a process before it is declared dead, so that it never acts
// again.
func (h *Head) fence(m *member, e ending) {
	if !m.state.there() || m.ending != nil {
		return
	}
	h.detailf("%v is fenced: %s", m.process, e.detail)
	m.ending, m.end, m.fenced = &e, "fenced", h.elapsed()
	h.kill(m)
}
