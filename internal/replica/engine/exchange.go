package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/sched"
)

// exchange completes a section among the replicas of a rank: it assigns the tasks to
// replicas and distributes their results. The caller holds the lock, except when it calls
// along, and no method releases it.
type exchange interface {
	// enter begins s, whose tasks have all been launched.
	enter(s *Section, signature uint64) error
	// next returns the next step of w in s.
	next(w *worker, s *Section) (step, error)
	// along returns a function that replaces the body of t. It computes the results, and
	// stores them into the arrays of peers at the same time. along returns nil if the body
	// of t itself is to run. The caller does not hold the lock.
	along(w *worker, s *Section, t *Task) (body func())
	// ran records that the body of a task has returned on w.
	ran(w *worker, s *Section, task int)
	// first reports whether the frames that result from t are sent before anything else is
	// done.
	first(t *Task) bool
	// binding reports whether a claim holds as soon as a task begins. Otherwise it holds only
	// once the peers have received a frame.
	binding() bool
	// adopted reports whether a task belonged to a dead replica.
	adopted(s *Section, task int) bool
	// missing returns a task whose result is missing, -1 if there is none.
	missing() int
	// leave ends s, which is complete.
	leave(s *Section)
	// describe describes, for the user, what s is waiting for.
	describe() string
}

// announcer is an exchange that needs its peers in the section. So each replica announces
// that it has entered the section, and meet waits for late peers.
type announcer interface {
	meet(s *Section, yield func(func())) error
}

// step is the next action of a worker in a section.
type step struct {
	kind  stepKind
	task  int
	until time.Duration // wait: check again at that time, or earlier after a change; 0: no time limit
	move  func()        // copies results between replicas; called without the lock
	moved func()        // called after move, with the lock
	seen  uint64        // wait: the count of changes that were already considered
}

type stepKind uint8

const (
	runTask stepKind = iota
	moveResults
	waitForPeer
	allHere
)

// schedule chooses the policy and the exchange by which the tasks of s are completed.
func (h *sharing) schedule(s *Section) error {
	if s.exchange == nil {
		s.exchange = &h.updates
	}
	if s.decision != nil { // runsAll has decided
		return nil
	}
	if s.keeps() {
		s.Policy = sched.Static
		return nil
	}
	if h.setup.Sched != "" {
		var err error
		if s.Policy, err = sched.Parse(h.setup.Sched); err != nil {
			return err
		}
	}
	switch {
	case s.Agree != nil, len(h.peers) == 1:
		s.Policy = sched.Replicate
	case s.verifier != nil && len(s.verifier.tasks) == len(s.Tasks): // no task is left to share
		s.Policy = sched.Replicate
	case s.Policy == sched.Adaptive:
		h.choose(s)
	case s.Policy == sched.Replicate && h.verifier.samples():
		h.verifier.sampleAll(s)
	}
	return nil
}

// common reports whether the replicas of the rank run on one host and share memory to
// agree in. All replicas must get the same result. So it uses only facts that all of them
// know: the hosts on which they began, and their hosts at the last join or rollback.
func (h *sharing) common() bool { return h.stores != nil && h.setup.Together && !h.scattered }

// ownersOnly reports whether a task that is not sampled runs on one replica only, unless
// that replica dies. If two replicas ran it, a wrong result would stay on one of them.
// Their states would differ, and the sound replica could be blamed. Between hosts
// ownersOnly requires sharing every section. This is worthwhile only with backups: they
// can repair an error that is on all replicas.
func (h *sharing) ownersOnly() bool {
	v := h.verifier
	return v != nil && v.setup.Verify.Samples() && (v.backups || h.common())
}

// choose decides whether to share s, and in which way.
func (h *sharing) choose(s *Section) {
	s.decision, s.bytes = h.decisions.about(s)
	c := candidates{send: true, bytes: s.bytes, transfer: h.bandwidth.atBest(s.bytes * (len(h.peers) - 1) / len(h.peers))}
	c.costs.send = h.decisions.costs.send.of(s.bytes)
	if s.bytes < alongFrom { // larger results may be stored while tasks run, so another kind of section predicts nothing
		c.costs.store = h.decisions.costs.store.of(s.bytes)
	}
	switch {
	case h.ownersOnly() && !h.common(): // replicas that decide independently may decide differently
		s.decision.propose(c) // propose also counts the section
		s.way = direct.Send
	case h.stores != nil && h.stores.begun():
		s.way = h.stores.agree(s, c)
	default:
		if s.way = s.decision.propose(c); h.verifier.samples() && h.common() {
			s.way = h.stores.agreeToSend(s)
		}
	}
	switch s.way {
	case direct.Replicate:
		s.Policy = sched.Replicate
		if h.verifier.samples() && h.common() {
			h.verifier.sampleAll(s)
		}
	case direct.Store:
		s.exchange = h.stores
	default:
		if h.ownersOnly() {
			s.Policy = sched.Static
		}
		s.tries = s.decision.tries && h.verifier == nil
	}
}
