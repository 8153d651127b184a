package sdr

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/intrahpc/intra/transport"
)

// MaxReplicas bounds the number of replicas of one rank.
const MaxReplicas = 64

const (
	maxTag    = 1 << 30
	maxEager  = 1 << 20 // no process sends more than this without asking
	frameCost = 128     // what a message counts beside its payload
	ackEvery  = 32      // messages that may wait for a lazy acknowledgement
	ackBytes  = 64 << 10
)

var (
	errContextUsed = errors.New("context in use already")
	errUsed        = errors.New("after messages were sent, or received from any source")
)

// MaxPurpose bounds what the messages of an exact context may say of their
// purpose.
const MaxPurpose = 1<<62 - 1

// Limits bounds the memory that messages take. Zero values mean the defaults.
type Limits struct {
	Eager  int // bytes that a message may have to be sent without asking (32 KiB; at most 1 MiB)
	Window int // bytes of unmatched eager messages at a receiver, per sending process (1 MiB)
	Retain int // bytes of copies kept per destination rank (4 MiB)
	// Detach is how many bytes a larger message may have to be copied as well, once only
	// other replicas have to send it yet (0).
	Detach int
}

func (l Limits) withDefaults() Limits {
	set := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	set(&l.Eager, 32<<10)
	set(&l.Window, 1<<20)
	set(&l.Retain, 4<<20)
	l.Eager = min(l.Eager, maxEager)
	return l
}

// process is what a core knows about one physical process of the job.
type process struct {
	rank, replica int
	alive         bool
	incarnation   uint32       // of its life, or of its last one
	rest          *rest        // of the past that came from it last, if that was long
	early         early        // frames of a life that was not announced yet
	credit        int          // eager bytes that may still be sent to it
	held          int          // eager bytes of its messages that no receive has taken yet
	owed          int          // eager bytes of its messages consumed and not yet returned
	awaited       int          // messages of its that receives wait for and that come unasked
	wanted        bool         // we told it that we wait for its acknowledgements
	short         []*outStream // those of which something was offered to it for want of room, in that order
	busy          bool         // it was waited for in vain when there was no credit, and has given none since
	// Payloads and hashes that were sent to it, those after which it was asked whether
	// all have arrived, and those of which it has said so.
	sent, asked, arrived uint64
}

// rankState is what a core knows about one rank.
type rankState struct {
	first      int    // index of its replica 0 in processes
	degree     int    // replicas at the start
	live       uint64 // those that live
	retained   int    // bytes of copies kept for it
	unfinished int    // messages to it that are kept
	waiting    int    // of them small ones whose request waits for acknowledgements
	impatient  uint64 // replicas that wait for acknowledgements
	told       bool   // some replica may have been told that we wait for its acknowledgements
	through    bool   // it had finished, and nobody lacks what it sent, should it have lost its last replica
}

// Core is the protocol of one process. Its methods are called one at a time.
type Core struct {
	rank, replica int
	incarnation   uint32
	mirror        bool
	limits        Limits
	ranks         []rankState
	processes     []process
	contexts      map[uint64]*Context // nil value: closed
	order         []*Context          // the open ones, in order of creation
	recent        *Context
	replicated    bool
	threads       []*thread          // in order of creation
	threadOf      map[uint64]*thread // nil value: closed
	causal        bool               // messages carry their past
	noAny         bool               // no rank receives or probes from any source
	used          bool               // an operation was begun, or a message from any source looked for
	reference     Reference          // nil: nobody compares
	aside         []*Context         // those in which a receive from any source had to leave a message
	ahead         []*past            // pasts of messages that were seen before their time
	hidden        bool               // a probe or a test had to leave out a message
	age           uint64             // how often operations were counted anew
	changes       uint64             // how often what is known of any thread has changed
	others        others             // that was encoded last
	clock         uint64             // numbers receives and arrivals
	unfinished    int                // messages kept
	draining      bool
	asks          []ask    // by processes that wait for this rank to finish
	ends          uint64   // how often something was heard of ranks that have finished
	news          bool     // there is something new for probes to see, or an answer that all has arrived
	cuts          *Context // of the bookmarks
	cut           *cut     // the one that is being passed, or nil
	newest        uint64   // cut that was begun last
	passed        uint64   // cut that was passed last
	buffers       buffers
	messages      []*Message // for reuse
	arrivals      []*arrival // for reuse
	pasts         []*past    // for reuse
	incoming      *past      // of the frame that is taken now, for reuse
	actions       []Action
	spare         []Action
	completed     []*Request
	// now, if set, hands a frame to its link at once, or reports that this cannot
	// be: then it is an action like others. It is called while there are no others.
	now         func(a *Action) bool
	direct      Action                      // for SendNow
	observer    Observer                    // nil: nobody
	sum         func(payload []byte) uint64 // nil: messages are not compared
	assertedAt  string                      // where the program calls AssertSendDeterministic, if sum is set for that
	point       func() uint64               // the safe point of the program; nil: not known
	differences []*Difference
	telling     int        // frames with hashes that are on their way to their links, or there
	spent       bool       // some process may be low
	agreed      *agreement // nil: the replicas of this rank decide nothing together
}

// NewCore returns the core of process rank.replica in a job with these
// degrees, in which all processes live with this incarnation.
func NewCore(rank, replica int, incarnation uint32, degrees []int, mirror bool, limits Limits) *Core {
	c := &Core{
		rank: rank, replica: replica, incarnation: incarnation, mirror: mirror,
		limits: limits.withDefaults(), contexts: make(map[uint64]*Context), threadOf: make(map[uint64]*thread),
	}
	for r, d := range degrees {
		d = min(max(d, 1), MaxReplicas)
		c.replicated = c.replicated || d > 1
		c.ranks = append(c.ranks, rankState{first: len(c.processes), degree: d, live: 1<<d - 1})
		for k := range d {
			c.processes = append(c.processes, process{rank: r, replica: k, alive: true, incarnation: incarnation, credit: c.limits.Window})
		}
	}
	c.causal = c.replicated
	c.cuts = c.context(cutContext, true)
	c.cuts.joined = true
	return c
}

// Process returns the index by which events and actions name a process, or
// -1.
func (c *Core) Process(rank, replica int) int {
	if rank < 0 || rank >= len(c.ranks) || replica < 0 || replica >= c.ranks[rank].degree {
		return -1
	}
	return c.ranks[rank].first + replica
}

// source returns the replica that acts for the one numbered replica: that one
// itself if it lives, else the next in cyclic order that does, or -1. It
// changes only by the death of the one it was [SDR, Algorithm 1, line 19].
func source(live uint64, degree, replica int) int {
	if live == 0 {
		return -1
	}
	at := replica
	if at >= degree { // a division takes as long as the rest
		at %= degree
	}
	if up := live >> at; up != 0 {
		return at + bits.TrailingZeros64(up)
	}
	return bits.TrailingZeros64(live)
}

// server returns the replica among live ones of rank that sends to replica k of
// rank dst in contexts of one kind: replica k. Where the sender has more
// replicas than the destination, those beyond take a share.
func (c *Core) server(live uint64, rank, dst, k int, exact bool) int {
	degree, to := c.ranks[rank].degree, c.ranks[dst].degree
	if k < degree && to < degree {
		share := (degree-1-k)/to + 1 // the replicas k, k+to, k+2*to ...
		turn := dst
		if exact {
			turn++
		}
		k += to * (turn % share)
	}
	return source(live, degree, k)
}

// serves reports whether this process sends to replica k of rank dst.
func (c *Core) serves(dst, k int, exact bool) bool {
	own := &c.ranks[c.rank]
	return c.mirror || own.degree == 1 || c.server(own.live, c.rank, dst, k, exact) == c.replica
}

// served returns those of some replicas of rank dst to which this process sends.
func (c *Core) served(dst int, replicas uint64, exact bool) (set uint64) {
	own := &c.ranks[c.rank]
	switch {
	case c.mirror || own.degree == 1:
		return replicas
	case own.degree <= c.ranks[dst].degree: // no shares: the others that live serve themselves
		set = replicas & (1 << c.replica)
		replicas &^= own.live
	}
	for d := range each(replicas) {
		if c.serves(dst, d, exact) {
			set |= 1 << d
		}
	}
	return set
}

// each yields the replicas of a set in ascending order.
func each(set uint64) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// Drain says that the program has returned: from now on acknowledgements are
// asked for whenever something is kept.
func (c *Core) Drain() {
	c.draining = true
	c.tellAll()
	for rank := range c.ranks {
		c.updateWant(rank)
	}
	c.answer()
}

// Drained reports whether nothing is kept: every live destination has all
// that this process sent or would have to send for another.
func (c *Core) Drained() bool { return c.unfinished == 0 }

// Retained returns how many messages are kept, and the bytes of their copies.
func (c *Core) Retained() (messages, bytes int) {
	for i := range c.ranks {
		bytes += c.ranks[i].retained
	}
	return c.unfinished, bytes
}

// refused reports whether a frame must not be looked at because the life of
// the process in which it was sent has been declared dead. Nothing else is
// held against a frame: whoever lives may know of more or of fewer deaths than
// this process.
func (c *Core) refused(p int, h *transport.Header) bool {
	pr := &c.processes[p]
	return h.Incarnation < pr.incarnation || h.Incarnation == pr.incarnation && !pr.alive
}

func violation(p *process, h *transport.Header, what string) error {
	return fmt.Errorf("%w from %d.%d: %s (kind %d, context %x, number %d)", ErrProtocol, p.rank, p.replica, what, h.Kind, h.Args[0], h.Args[1])
}
