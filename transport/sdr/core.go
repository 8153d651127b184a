package sdr

import (
	"errors"
)

const (
	maxTag    = 1 << 30
	maxEager  = 1 << 20 // largest message that a process sends unrequested
	frameCost = 128     // bytes that a message counts beside its payload
	ackEvery  = 32      // messages that may wait for a lazy acknowledgement
	ackBytes  = 64 << 10
)

var (
	errContextUsed = errors.New("context in use already")
	errUsed        = errors.New("after messages were sent, or received from any source")
)

// MaxPurpose bounds the purpose that messages of an exact context carry.
const MaxPurpose = 1<<62 - 1

// Core is the protocol of one process. Its methods must not be called concurrently.
type Core struct {
	job         job
	contexts    contexts
	out         outbox
	history     history
	noAny       bool       // no rank receives or probes from any source
	recorder    Recorder   // nil: none
	aside       []*Context // contexts with messages that are held back from a receive from any source
	hidden      bool       // a probe or a test has skipped a message that is held back
	clock       uint64     // numbers receives and arrivals
	unfinished  int        // messages kept
	draining    bool
	asks        []ask  // from processes that wait for this rank to finish
	cut         *cut   // the one that is being passed, or nil
	newest      uint64 // the last cut that was begun
	buffers     buffers
	messages    []*Message                  // for reuse
	arrivals    []*arrival                  // for reuse
	observer    Observer                    // nil: none
	sum         func(payload []byte) uint64 // nil: messages are not compared
	assertedAt  string                      // where the program calls AssertSendDeterministic, if sum is set for that
	point       func() uint64               // the safe point of the program; nil: not known
	differences []*Difference
	telling     int        // frames with hashes that the links have yet to send
	agreed      *agreement // nil: the replicas of this rank make no decisions
}

// NewCore returns the core of process rank.replica in a job with these degrees. All
// processes are live and have this incarnation.
func NewCore(rank, replica int, incarnation uint32, degrees []int, mirror bool, limits Limits) *Core {
	c := &Core{job: newJob(rank, replica, incarnation, degrees, mirror, limits)}
	c.out.incarnation = incarnation
	c.contexts.job, c.contexts.byID = &c.job, make(map[uint64]*Context)
	c.history = newHistory(&c.job)
	c.contexts.bookmarks = c.contexts.get(cutContext, true)
	c.contexts.bookmarks.joined = true
	return c
}

// Drain records that the program has returned. From now on the core requests
// acknowledgements while it keeps messages.
func (c *Core) Drain() {
	c.draining = true
	c.tellAll()
	for rank := range c.job.ranks {
		c.updateWant(rank)
	}
	c.answer()
}

// Drained reports whether no message is kept: every live destination has all that this
// process sent, or would have to send in place of another replica.
func (c *Core) Drained() bool { return c.unfinished == 0 }

// Retained returns how many messages are kept, and the bytes of their copies.
func (c *Core) Retained() (messages, bytes int) {
	for i := range c.job.ranks {
		bytes += c.job.ranks[i].retained
	}
	return c.unfinished, bytes
}

// NoAnySource asserts that no rank ever receives or probes from any source, so that
// messages carry no causal history. All ranks call it before they send anything or look for
// a message from any source.
func (c *Core) NoAnySource() error {
	if c.contexts.used {
		return errUsed
	}
	c.noAny, c.history.on = true, false
	return nil
}
