package engine

import (
	"time"

	"github.com/intrahpc/intra/internal/replica/direct"
	"github.com/intrahpc/intra/sched"
)

// exchange is how the replicas of a rank complete one section: which of them
// runs which task, and how the results come to the others. Its methods are
// called with the lock held and keep it, but for along.
type exchange interface {
	// enter begins s, whose tasks have all been launched.
	enter(s *Section, signature uint64) error
	// next says what w does next in s.
	next(w *worker, s *Section) (step, error)
	// along returns a body that runs t and stores its results into the arrays of peers
	// meanwhile; nil: its own body runs. It is called without the lock.
	along(w *worker, s *Section, t *Task) (body func())
	// ran takes in that the body of a task has returned on w.
	ran(w *worker, s *Section, task int)
	// first reports whether what that leads to leaves before anything else is
	// done.
	first(t *Task) bool
	// adopted reports whether a task belonged to a replica that is dead.
	adopted(s *Section, task int) bool
	// missing returns a task whose result is not here, -1 if there is none.
	missing() int
	// leave ends s, which is complete.
	leave(s *Section)
	// describe says for people what s lacks.
	describe() string
}

// announcer is an exchange that needs its peers in the section, so that they
// have to be told who is there. meet waits for those that are behind.
type announcer interface {
	meet(s *Section, yield func(func())) error
}

// step is what a worker does next in a section.
type step struct {
	kind  stepKind
	task  int
	until time.Duration // wait: look again then, unless something happens first; 0: no limit
	move  func()        // copies results between replicas, without the lock
	moved func()        // says that they are copied
	seen  uint64        // wait: changes until then are taken into account
}

// stepKind tells the steps apart.
type stepKind uint8

const (
	runTask stepKind = iota
	moveResults
	waitForPeer
	allHere
)

// schedule decides how the tasks of s are completed: by which policy, and by
// which exchange.
func (h *sharing) schedule(s *Section) error {
	s.exchange = &h.updates
	if h.setup.Sched != "" {
		var err error
		if s.Policy, err = sched.Parse(h.setup.Sched); err != nil {
			return err
		}
	}
	switch {
	case s.Agree != nil, len(h.peers) == 1:
		s.Policy = sched.Replicate
	case s.verifier != nil && len(s.verifier.tasks) == len(s.Tasks): // nothing to share
		s.Policy = sched.Replicate
	case s.Policy == sched.Adaptive:
		h.choose(s)
	case s.Policy == sched.Replicate && h.verifier.samples():
		h.verifier.sampleAll(s)
	}
	return nil
}

// common reports whether all replicas of the rank have words in common, as all of them know
// alike: they began on one host, and when somebody came last, or all went back, they were.
func (h *sharing) common() bool { return h.stores != nil && h.setup.Together && !h.scattered }

// ownersOnly reports whether tasks that are not sampled run on one replica only, unless that
// dies: of two results the wrong one would stay where it is and make the replicas differ,
// and who has the right one could be convicted for it. Between hosts that takes that
// everything is shared, which only backups are worth: with them what is wrong everywhere can
// be repaired.
func (h *sharing) ownersOnly() bool {
	v := h.verifier
	return v != nil && v.setup.Verify.Samples() && (v.backups || h.common())
}

// choose decides whether sharing s pays, and in which way.
func (h *sharing) choose(s *Section) {
	s.decision, s.bytes = h.decisions.about(s)
	c := candidates{send: true, bytes: s.bytes, transfer: h.bandwidth.atBest(s.bytes * (len(h.peers) - 1) / len(h.peers))}
	c.costs.send, c.costs.store = h.decisions.costs.send.of(s.bytes), h.decisions.costs.store.of(s.bytes)
	switch {
	case h.ownersOnly() && !h.common(): // what one replica alone decides may not be what others do
		s.decision.propose(c) // counts
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
