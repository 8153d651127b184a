package head

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/job"
)

// phase is the phase of the job. It only advances.
type phase uint8

const (
	joining  phase = iota
	working        // all processes have joined, or the head has proposed that entry
	released       // all live processes have finished and may exit, or the head has proposed that entry
	over           // the end is decided or proposed: all processes have to exit
)

// desk contains the data that all parts of a head share: the configuration, the kept
// decisions, the phase and the outcome of the job, the clock, and the actions of the present
// step. It has no list of processes: callers pass them.
type desk struct {
	config    Config
	state     *decision.State  // the kept entries
	asked     []decision.Entry // entries that are proposed and not kept yet, in order of proposal
	successor bool             // this head has replaced another one
	retired   bool             // this head may not decide any more; a successor may continue the job

	phase    phase
	outcome  *outcome              // nil: nothing has ended the job yet
	likelier func(outcome) outcome // replaces an outcome if replicas are known to differ: divergence is the likelier cause

	now       time.Duration
	joinedAt  time.Duration // when all processes had joined
	hasBegun  bool          // all processes have joined
	continued time.Duration // when the job was last continued after a stop; longAgo: never
	timers    []timer       // sorted by time; timers of the same time keep the order in which they were set
	acts      []Action
}

// outcome is how the job ends. It is set once: the first cause counts.
type outcome struct {
	code int
	text string
	by   job.Endpoint // the process whose end has ended the job; zero if the job ended for another reason
	how  farewell
}

// farewell is the way in which the head ends the processes when the job has ended.
type farewell uint8

const (
	byWord   farewell = iota // the head sends a message, and kills the processes a while later
	atOnce                   // the head kills the processes: they would not understand a message
	bySignal                 // the head has sent a signal, and kills the processes a while later
)

func (k *desk) act(a Action) { k.acts = append(k.acts, a) }

// elapsed returns the time since all processes had joined.
func (k *desk) elapsed() time.Duration {
	if !k.hasBegun {
		return 0
	}
	return k.now - k.joinedAt
}

// detailf logs a detail, for users who request all messages.
func (k *desk) detailf(format string, args ...any) { k.logf(Detail, format, args...) }

// warnf logs a warning to the user.
func (k *desk) warnf(format string, args ...any) { k.logf(Warning, format, args...) }

func (k *desk) logf(l Level, format string, args ...any) {
	k.act(Log{Level: l, At: k.elapsed(), Text: fmt.Sprintf(format, args...)})
}

// send sends a message to a process.
func (k *desk) send(m *member, msg *job.Message) { k.act(Send{m.from, msg}) }

// kill kills a process if it still lives.
func (k *desk) kill(m *member) {
	if m.state.there() {
		k.act(Kill{m.from, syscall.SIGKILL})
	}
}

// fence kills a process before it is declared dead, so that it cannot act after the verdict.
func (k *desk) fence(m *member, e ending) {
	if !m.state.there() || m.ending != nil {
		return
	}
	k.detailf("%s is fenced: %s", m.name(), e.detail)
	m.ending, m.end, m.fenced = &e, "fenced", k.elapsed()
	k.kill(m)
}

// propose requests that an entry be kept. Once it is kept, the driver returns it as Committed,
// and committed acts on it.
func (k *desk) propose(e decision.Entry) {
	if k.retired {
		return
	}
	e.At, e.Text = k.elapsed(), decision.Shorten(e.Text)
	k.asked = append(k.asked, e)
	k.act(Propose{e})
}

// decide sets the outcome of the job if none is set. by is the process whose end is the cause,
// zero if the cause is another one.
func (k *desk) decide(code int, text string, by job.Endpoint) {
	if k.outcome == nil {
		if code == ExitLost { // a host was taken away before the last set was complete
			if restartable, more, ok := k.restartable("; " + text); ok {
				code, text = restartable, more
			}
		}
		o := k.likelier(outcome{code: code, text: text, by: by})
		o.text = decision.Shorten(o.text)
		k.outcome = &o
	}
}

// restartable returns the outcome of an interrupted job that ends before its last set is
// complete. ok is false if there are no files to continue from.
func (k *desk) restartable(more string) (code int, text string, ok bool) {
	e := k.state.Ending
	if e == nil {
		return 0, "", false
	}
	if set := k.state.Newest(); set != nil {
		return ExitInterrupted, interrupted(e, set.Done.Point, k.config.Checkpoint.Dir, more), true
	}
	if r := k.state.Opened.Restart; r != nil {
		return ExitInterrupted, interrupted(e, r.Cut, k.config.Restart, more), true
	}
	return 0, "", false
}

// stop ends the job if nothing has ended it before.
func (k *desk) stop(code int, text string, how farewell) {
	if k.phase == over {
		return
	}
	k.decide(code, text, job.Endpoint{})
	k.outcome.how = how
	k.settle()
}

// settle ends the job if its outcome is set.
func (k *desk) settle() {
	if k.outcome != nil && k.phase != over {
		k.phase = over
		k.propose(decision.Entry{Kind: decision.Decided, Code: k.outcome.code, Text: k.outcome.text})
	}
}

func (k *desk) doubtful(m *member) bool {
	return k.config.Doubtful != nil && k.config.Doubtful(m.from.Node)
}

// stoppedNow reports whether the process was seen stopped a moment ago.
func (k *desk) stoppedNow(m *member) bool { return k.now-m.stopped < stoppedFor }

// doing returns the activity that a process has last reported. It returns nil if there is no
// report, or the report is too old.
func (k *desk) doing(m *member) *job.Doing {
	if m.stats.Doing == nil {
		return nil
	}
	d := *m.stats.Doing
	old := k.now - m.statsAt
	if d.Idle += old; k.continued > longAgo {
		d.Idle = min(d.Idle, k.now-k.continued)
	}
	d.Waits = append([]job.Wait{}, d.Waits...)
	for i := range d.Waits {
		d.Waits[i].For += old
	}
	return &d
}

// unopened reports whether the files that the job begins with are still unknown.
func (k *desk) unopened() bool { return k.config.readsFiles() && k.state.Opened == nil }

// grows reports whether r is an additional replica, which replaces no process. Either its slot
// was vacant at the start and it is the first process there, or the last process there that had
// a state was let go because its rank was to have fewer replicas.
func (k *desk) grows(r decision.Replaced) bool {
	grows := k.config.vacant(r.Process)
	for _, v := range k.state.Verdicts {
		if v.Process == r.Process && v.Incarnation < r.Incarnation && !v.Withdrawn && (v.Incarnation == firstIncarnation || k.lived(v.Process, v.Incarnation)) {
			grows = v.Cause == job.CauseDropped
		}
	}
	return grows
}

// lived reports whether a replacement ever received its state.
func (k *desk) lived(p job.Process, incarnation uint32) bool {
	return slices.ContainsFunc(k.state.Replaced, func(r decision.Replaced) bool { return r.Process == p && r.Incarnation == incarnation })
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// Sightings lists the observers of a host, and the time since each of them last received
// something from it.
func (k *desk) Sightings(all []detect.Testimony) string {
	var s []string
	for _, t := range all {
		s = append(s, fmt.Sprintf("%.2f s by %s", t.Age.Seconds(), k.nodeName(t.Observer)))
	}
	return strings.Join(s, ", ")
}

func (k *desk) hostName(id detect.ID) string {
	if n := k.config.node(id); n != nil {
		return n.Name
	}
	return k.config.FirstHost
}

// nodeName names an observer.
func (k *desk) nodeName(id detect.ID) string {
	switch id {
	case k.config.Self:
		return "the head"
	case FirstHead:
		return "the first head"
	}
	return k.hostName(id)
}
