package launch

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/arbiter"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/output"
	"github.com/intrahpc/intra/internal/runreport"
)

// Times that the head allows.
const (
	fenceAfter   = time.Second            // a replica may be stopped this long while a peer lives
	lastWords    = 2 * time.Second        // from the announcement of a death to the death
	settleTime   = 300 * time.Millisecond // from a failure of an agent until what failed with it is known
	suspectAfter = 500 * time.Millisecond // from a lost link to fencing
	replaceTime  = 10 * time.Second       // from a lost link between last replicas to the end, while one is being replaced
	endGrace     = 300 * time.Millisecond // from End to SIGKILL
	termGrace    = 2 * time.Second        // from SIGTERM to SIGKILL
	releaseGrace = 10 * time.Second       // from Release to SIGKILL
	joinWarning  = 10 * time.Second
)

// phase is how far the job is.
type phase int

const (
	joining phase = iota
	working
	released // all live processes have finished and may go
	over     // it has been decided, or a signal has come: all have to go
)

// head owns the state of the job. All its methods run in the goroutine of
// loop, except post.
type head struct {
	config  *Config
	console *output.Console
	trace   *runreport.Timeline // nil if there is none
	secret  job.Secret
	began   time.Time // when it started to start processes
	joined  time.Time // when all had joined

	phase     phase
	ledger    *ledger
	members   map[job.Process]*member // who is in each place now
	ids       map[job.Process]*member // by what their agents know them by
	writers   sync.Map                // their *output.Process, by the same, for all goroutines
	remotes   []*remote               // the agents, in a job on several hosts
	lost      map[agent]bool
	recovery  *recoveryDriver // nil: what is lost stays lost
	doubts    map[doubt]bool  // links that are reported to be without a connection
	order     []*member       // all that there ever were
	direct    []int           // ranks whose replicas store into each other's arrays
	left      int             // members not gone
	failures  []runreport.Failure
	kills     []scheduledKill
	injected  *runreport.Injection // nil: not asked for
	files     *files               // nil: there are none
	signalled os.Signal
	finished  time.Time
	stdin     output.Input
	record    *record // of what is decided; nil if nobody could take the head's place
	retired   bool    // another head carries on, or may

	posts chan func()
	done  chan struct{}
}

// post has f run by the head. It gives up when the head has ended.
func (h *head) post(f func()) {
	select {
	case h.posts <- f:
	case <-h.done:
	}
}

func (h *head) after(d time.Duration, f func()) {
	time.AfterFunc(d, func() { h.post(f) })
}

// loop runs the job until every process is gone.
func (h *head) loop() {
	defer close(h.done)
	for h.left > 0 || h.record.waits() {
		(<-h.posts)()
	}
	h.finished = time.Now()
}

// elapsed is the time since all had joined.
func (h *head) elapsed() time.Duration {
	if h.joined.IsZero() {
		return 0
	}
	return time.Since(h.joined)
}

// eventf tells of an event with -v.
func (h *head) eventf(format string, args ...any) {
	if h.config.Verbose {
		h.console.Notef("intrarun: %8.3f %s", h.elapsed().Seconds(), fmt.Sprintf(format, args...))
	}
}

// warnf tells of what the user should know of.
func (h *head) warnf(format string, args ...any) {
	if !h.config.Quiet {
		h.console.Notef("intrarun: "+format, args...)
	}
}

// handle does what a process says.
func (h *head) handle(m *member, msg *job.Message) {
	switch msg.Kind {
	case job.KindListen:
		m.address = msg.Address
		h.startIfReady()
		h.recovery.arrived(m)
	case job.KindStats:
		m.stats = *msg.Stats
	case job.KindFired:
		m.stats = *msg.Stats
		h.fire(m, *msg.Kill)
	case job.KindSuspect:
		h.suspect(m, *msg.Process, msg.Incarnation, msg.Text)
	case job.KindHandled:
		h.handled(m, msg.Epoch, msg.Ago)
	case job.KindMended:
		h.mended(m, *msg.Process)
	case job.KindReply:
		h.recovery.reply(m, *msg.Reply)
	case job.KindFinish:
		m.stats, m.final = *msg.Stats, true
		generation, counts := h.recovery.generation(m)
		if !counts {
			return
		}
		h.eventf("%v has finished", m.process)
		h.decide(arbiter.Entry{Kind: arbiter.Finished, Process: m.process}, func() {
			if now, counts := h.recovery.generation(m); now != generation || !counts {
				return
			}
			h.recovery.finished(m)
			h.ledger.finish(m.process)
			h.compare(m)
			h.releaseIfComplete()
		})
	case job.KindDrained:
		generation, _ := h.recovery.generation(m)
		h.decide(arbiter.Entry{Kind: arbiter.Note, Key: drainedNote(m.process), Value: []byte("drained")}, func() {
			if now, _ := h.recovery.generation(m); now != generation {
				return
			}
			h.ledger.drain(m.process)
			h.recovery.drained(m)
		})
	case job.KindFail:
		m.stats = *msg.Stats
		h.runFailed(m, *msg.Failure)
	}
}

// compare looks whether m, which has finished, went through the same sections
// as the other replicas of its rank that have, as far as this head has heard.
func (h *head) compare(m *member) {
	for p, other := range h.members {
		if p.Rank != m.process.Rank || h.ledger.status[p] != finished || !other.final {
			continue
		}
		if how := m.stats.Diverged(&other.stats); how != "" {
			h.ledger.decide(ExitDiverged, fmt.Sprintf("divergence of %v and %v: %s", m.process, p, how))
			h.settle()
			return
		}
	}
}

// runFailed: run did not end well in m, which exits now.
func (h *head) runFailed(m *member, f job.Failure) {
	h.console.Notef("%s", strings.TrimRight(string(output.Prefix(m.process, []byte(fmt.Sprintf("%s: %s", f.Kind, f.Text)))), "\n"))
	m.end = "failed"
	m.ending = &ending{job.CauseExit, f.Text}
	switch f.Kind {
	case job.FailPanic:
		m.ending.cause = job.CausePanic
	case job.FailDivergence:
		h.ledger.decide(ExitDiverged, fmt.Sprintf("divergence, found by %v: %s", m.process, firstLine(f.Text)))
		h.settle()
	case job.FailFinding:
		h.ledger.decide(ExitFailed, fmt.Sprintf("finding of %v: %s", m.process, firstLine(f.Text)))
		h.settle()
	}
	h.after(lastWords, func() { h.kill(m) })
}

// kill ends a process that has not gone by itself.
func (h *head) kill(m *member) {
	if !m.gone {
		m.agent.Signal(m.id, syscall.SIGKILL)
	}
}

// fence kills a process before it is declared dead, so that it never acts
// again.
func (h *head) fence(m *member, e ending) {
	h.eventf("%v is fenced: %s", m.process, e.detail)
	m.ending, m.end, m.fenced = &e, "fenced", h.elapsed()
	h.kill(m)
}

// send hands a message to a process.
func (h *head) send(m *member, msg *job.Message) { m.agent.Send(m.id, msg) }

// gone: a process is no more, and all that it said is known.
func (h *head) gone(m *member) {
	m.gone = true
	status := h.ledger.status[m.process]
	clean := h.phase == released && status == finished && m.ending == nil
	switch {
	case m.dismissed:
		h.left--
		h.farewell(m)
		return
	case m.spare:
		h.left--
		h.spareGone(m)
		return
	}
	if clean || h.phase == over && m.ending == nil {
		if m.end = "ended"; clean {
			m.end = "finished"
		}
		h.settleOutput(m, !clean, false)
		return
	}
	e := m.cause()
	if m.end == "" {
		m.end = endBy(e.cause)
	}
	h.proposeDeath(m, e)
	itself := e.cause == job.CauseExit || e.cause == job.CausePanic
	h.settleOutput(m, true, itself)
}

// settleOutput lets the output of a process that is gone come to its end. Only
// then is the process out of the head's hands.
func (h *head) settleOutput(m *member, died, itself bool) {
	go func() {
		words := m.outputs.Finish(died, itself)
		if len(words) > 0 {
			h.console.Notef("%s", output.Prefix(m.process, words))
		}
		h.post(func() {
			h.left--
			m.settled = true
			h.recovery.recruit(m.process)
		})
	}()
}

// proposeDeath has a process declared dead that certainly is.
func (h *head) proposeDeath(m *member, e ending) {
	m.dying = &e
	if m.lost { // the verdict is part of that on its host
		h.markDead(m)
		return
	}
	h.decide(arbiter.Entry{Kind: arbiter.Died, Process: m.process, Cause: e.cause, Text: e.detail}, func() { h.markDead(m) })
}

// markDead makes the verdict on a dying process, tells the others, and draws the
// conclusion.
func (h *head) markDead(m *member) {
	if m.dead {
		return // its host was declared lost before that
	}
	m.dead = true
	at, e := h.elapsed(), *m.dying
	waited := h.ledger.status[m.process] == coming
	v := h.ledger.die(m.process, m.incarnation, e.cause, e.detail, at)
	m.died = at
	f := runreport.NewFailure(v, at)
	f.Fenced, f.Evidence = m.fenced.Seconds(), m.evidence.reported()
	h.failures = append(h.failures, f)
	h.trace.Dead(m.process, e.cause, e.detail)
	if left := h.ledger.alive(m.process.Rank); waited {
		h.warnf("the replacement for %v is dead (%s: %s)", m.process, e.cause, firstLine(e.detail))
	} else if left > 0 { // else the end of the job says it
		h.warnf("%v is dead (%s: %s), %d of %d replicas of rank %d left", m.process, e.cause, firstLine(e.detail),
			left, h.ledger.degrees[m.process.Rank], m.process.Rank)
	}
	h.tell(&v)
	h.recovery.died(m, e.cause)
	h.settle()
	h.startIfReady()
	h.releaseIfComplete()
}

// tell everybody about a death.
func (h *head) tell(v *job.Verdict) {
	for _, other := range h.order {
		if !other.gone && other.placed {
			h.send(other, &job.Message{Kind: job.KindVerdict, Verdict: v})
		}
	}
}

// settle ends the job once it is decided.
func (h *head) settle() {
	if h.ledger.decided && h.phase != over {
		h.phase = over
		h.decide(arbiter.Entry{Kind: arbiter.Decided, Code: h.ledger.code, Text: h.ledger.text}, func() {
			h.finish(h.ledger.code, h.ledger.text)
		})
	}
}

// finish has every process stop, by word and then by force.
func (h *head) finish(code int, text string) {
	h.warnf("%s", text)
	h.freeSpares()
	for _, m := range h.order {
		if !m.gone && !m.spare {
			h.send(m, &job.Message{Kind: job.KindEnd, Code: code, Text: text})
		}
	}
	h.after(endGrace, h.killAll)
}

func (h *head) killAll() {
	for _, m := range h.order {
		h.kill(m)
	}
}

// releaseIfComplete lets the processes go when all that live have finished.
func (h *head) releaseIfComplete() {
	if h.phase != working || !h.ledger.complete() {
		return
	}
	h.phase = released
	h.eventf("all have finished")
	h.freeSpares()
	h.decide(arbiter.Entry{Kind: arbiter.Released}, h.release)
}

// release lets the processes go.
func (h *head) release() {
	for _, m := range h.order {
		if !m.gone && !m.spare {
			h.send(m, &job.Message{Kind: job.KindRelease})
		}
	}
	h.after(releaseGrace, h.killAll)
}
