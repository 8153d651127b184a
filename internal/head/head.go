package head

import (
	"slices"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Head owns the state of a job. New and Restore make a Head; the zero value is not usable.
// Step passes each event to the part that the event is about. committed passes each kept
// decision to the part that has proposed it.
type Head struct {
	*desk
	hosts    *hosts
	recovery *queue
	members  *members
	faults   *faults
	plan     *plan
	judge    *judge
	deaths   *deaths
	leaves   *leaves

	notes     []string // notes of processes that have been printed
	noticed   bool     // the first signal made the host leave
	noticedAt time.Duration
	signalled syscall.Signal // ends the job; 0: none
	abandoned bool           // the head does not wait for the rest of the output, which may be blocked
}

// New returns the head of a new job.
func New(c Config) *Head {
	h := newHead(c)
	if c.recovers() && !c.readsFiles() { // otherwise recovery begins when the files are known
		h.recovery.decides = recovery.NewHead(h.members.recoveryConfig())
	}
	return h
}

func newHead(c Config) *Head {
	h := &Head{desk: &desk{config: c, state: decision.NewState(), continued: longAgo}}
	h.hosts = &hosts{desk: h.desk, suspicions: make(map[detect.ID]time.Duration), endings: make(map[detect.ID]string)}
	h.state.Members = slices.Clone(c.Members)
	h.recovery = &queue{desk: h.desk}
	h.members = &members{desk: h.desk, hosts: h.hosts, recovery: h.recovery, begun: h.goOn,
		places: make(map[job.Process]*member), byAgent: make(map[From]*member), byPlace: make(map[job.Endpoint]*member),
		wanted: make(map[job.Process]uint32), last: make(map[int]decision.Verdict), refused: make(map[job.Process]string)}
	h.faults = &faults{desk: h.desk, members: h.members}
	h.plan = &plan{desk: h.desk, hosts: h.hosts, recovery: h.recovery, members: h.members, quiets: make(map[uint64]asked)}
	h.judge = &judge{desk: h.desk, recovery: h.recovery, members: h.members, plan: h.plan, outlasted: longAgo,
		differing: make(map[int]bool), diverged: make(map[int]string), disputes: make(map[int]*dispute), offenders: make(map[job.Endpoint]*offender)}
	h.deaths = &deaths{desk: h.desk, hosts: h.hosts, recovery: h.recovery, members: h.members, plan: h.plan, judge: h.judge}
	h.leaves = &leaves{desk: h.desk, recovery: h.recovery, members: h.members, asked: make(map[job.Endpoint]bool), notified: make(map[detect.ID]bool), freed: make(map[detect.ID]bool)}
	h.likelier = h.judge.orDiverged
	h.recovery.carryOut, h.recovery.caughtUp = h.plan.carryOut, h.members.releaseIfComplete
	return h
}

// Step handles an event and returns the actions to take, in order. The times of events
// never decrease.
func (h *Head) Step(e Event, now time.Duration) []Action {
	h.now = max(h.now, now)
	h.step(e)
	h.leaves.proceed()
	h.members.refill()
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
		h.members.begin()
	case Committed:
		h.committed(e.Entry)
		h.judge.watchOutlasting()
	case Suspected:
		h.hosts.suspected(e)
	case Disconnected:
		h.hosts.endings[e.Node] = e.Text
	case Retired:
		h.giveUp(e.Why)
	case Opened:
		h.plan.opened(e)
	case Published:
		h.plan.published(e)
	case Failed:
		h.members.refuse(e.Err)
	case Signalled:
		if !h.onNotice(e) {
			h.interrupt(e.Signal)
		}
	case Deadlocked:
		if h.phase == working {
			h.stop(ExitFailed, e.Text, byWord)
		}
	case StandApart:
		h.judge.standApart(e.Apart)
	case End:
		if h.MayEnd() {
			h.leaves.end(e.Reason, e.Within)
		}
	case Leave:
		h.leaves.request(e)
	case Noticed:
		h.notified(e.Node)
	case SetDegrees:
		h.setDegrees(e)
	case HostArrives:
		h.arrives(e)
	case Tick:
		h.tick()
	case Started:
		h.about(e.From, func(m *member) { h.members.started(m, e) })
	case Joined:
		h.about(e.From, func(m *member) { h.members.welcome(m, e.Hello) })
		h.judge.watchOutlasting() // the process may have run for long under an earlier head
	case Said:
		h.about(e.From, func(m *member) { h.receive(m, e.Message) })
	case Unreachable:
		h.about(e.From, func(m *member) { h.deaths.unreachable(m, e.Why, e.Text) })
	case Exited:
		h.about(e.From, func(m *member) { h.deaths.exited(m, e.Exit) })
	case ProgramGone:
		h.about(e.From, h.deaths.programGone)
	case Stopped:
		h.about(e.From, func(m *member) { h.judge.isStopped(m, e.For) })
	case Quiet:
		h.about(e.From, func(m *member) { h.plan.quiet(m, e) })
	case OutputSettled:
		h.about(e.From, h.members.settled)
	case Wrote:
		h.about(e.From, func(m *member) { m.wrote = h.now })
	case Continued:
		h.continued = h.now
	case Differs:
		h.judge.differs(e)
	}
}

// goOn begins the work of this head once all processes have begun. Some may have begun under
// an earlier head.
func (h *Head) goOn() {
	h.faults.armKills()
	h.faults.armWeibull()
	h.members.introduceArrived()
	h.members.releaseIfComplete()
}

// about calls f for the process that an event is about, if the head knows it.
func (h *Head) about(from From, f func(*member)) {
	if m := h.members.byAgent[from]; m != nil {
		f(m)
	}
}

// tick performs all actions that are due now.
func (h *Head) tick() {
	for len(h.timers) > 0 && h.timers[0].at <= h.now {
		t := h.timers[0]
		h.timers = h.timers[1:]
		switch t.kind {
		case killMember:
			h.kill(t.m)
		case killUnreachable:
			h.deaths.killUnreachable(t.m)
		case killEverybody:
			h.members.killAll()
		case abandonAll:
			h.abandoned = true
		case warnOfMissing:
			h.members.warnMissing()
		case judgeLink:
			h.judge.judge(t.link)
		case scheduledKill:
			h.faults.killOnRequest(t.kill)
		case scheduledInjection:
			h.faults.inject()
		case askAgain:
			h.recovery.notify((*recovery.Head).Conclude)
		case leaveLate: // proceed looks at the time
		case judgeEndless:
			h.judge.judgeOutlasting()
		}
	}
}

// Ended reports whether the head has nothing left to do or to wait for.
func (h *Head) Ended() bool {
	switch {
	case h.retired || h.abandoned:
		return true
	case len(h.asked) > 0 || h.plan.publishing > 0 || len(h.members.all) == 0:
		return false
	}
	return !slices.ContainsFunc(h.members.all, func(m *member) bool { return !m.settled })
}
