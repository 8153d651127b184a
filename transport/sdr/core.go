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

// Limits bounds the memory that messages take. Zero values mean the defaults.
type Limits struct {
	Eager  int // largest message that is sent without being requested (32 KiB; at most 1 MiB)
	Window int // bytes of unmatched eager messages at a receiver, per sending process (1 MiB)
	Retain int // bytes of copies kept per destination rank (4 MiB)
	// Detach is the size up to which larger messages are copied as well, once only other
	// replicas still have to send them (0).
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
	incarnation   uint32       // of the live process, or of the last one
	rest          *rest        // the last long causal history that came from it
	early         early        // frames of an incarnation that was not announced yet
	credit        int          // eager bytes that may still be sent to it
	held          int          // eager bytes of its messages that no receive has taken yet
	owed          int          // eager bytes of its messages consumed and not yet returned
	awaited       int          // its messages that receives wait for and that come unrequested
	wanted        bool         // it has been notified that this process waits for its acknowledgements
	short         []*outStream // streams with messages that were offered to it for lack of room, oldest first
	busy          bool         // a wait for its credit was in vain, and it has returned none since
	// sent is the number of payloads and hashes sent to the process. asked is the number up
	// to which this process has requested a confirmation, and arrived the number that the
	// other process has confirmed.
	sent, asked, arrived uint64
}

// rankState is what a core knows about one rank.
type rankState struct {
	first      int    // index of its replica 0 in processes
	degree     int    // replicas at the start
	live       uint64 // its live replicas
	retained   int    // bytes of copies kept for it
	unfinished int    // messages to it that are kept
	waiting    int    // small ones among them whose request waits for acknowledgements
	impatient  uint64 // replicas that wait for acknowledgements
	told       bool   // some replica may have been notified that this process waits for its acknowledgements
	through    bool   // it has finished, and no process lacks what it sent, should it have lost its last replica
}

// Core is the protocol of one process. Its methods must not be called concurrently.
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
	threads       []*thread          // clock domains, in order of creation
	threadOf      map[uint64]*thread // nil value: closed
	causal        bool               // messages carry their causal history
	noAny         bool               // no rank receives or probes from any source
	used          bool               // the program has begun an operation, or looked for a message from any source
	reference     Reference          // nil: none
	recorder      Recorder           // nil: none
	aside         []*Context         // contexts with messages that are held back from a receive from any source
	ahead         []*past            // causal histories of messages that the program saw before they were deliverable
	hidden        bool               // a probe or a test has skipped a message that is held back
	age           uint64             // number of times that the count of operations has restarted
	changes       uint64             // number of changes in all clock domains
	others        others             // the last encoding of the other clock domains
	clock         uint64             // numbers receives and arrivals
	unfinished    int                // messages kept
	draining      bool
	asks          []ask    // from processes that wait for this rank to finish
	ends          uint64   // number of deaths, and of reports on ranks that have finished
	news          bool     // a waiter has to look again: at messages, decisions, or confirmations
	cuts          *Context // of the bookmarks
	cut           *cut     // the one that is being passed, or nil
	newest        uint64   // the last cut that was begun
	passed        uint64   // the last cut that was passed
	buffers       buffers
	messages      []*Message // for reuse
	arrivals      []*arrival // for reuse
	pasts         []*past    // for reuse
	incoming      *past      // causal history of the current frame, for reuse
	actions       []Action
	spare         []Action
	completed     []*Request
	// now, if set, hands a frame to its link at once, and reports whether the link has
	// taken it. If not, the frame becomes an action. now is called only while there are no
	// other actions.
	now         func(a *Action) bool
	direct      Action                      // for SendNow
	observer    Observer                    // nil: none
	sum         func(payload []byte) uint64 // nil: messages are not compared
	assertedAt  string                      // where the program calls AssertSendDeterministic, if sum is set for that
	point       func() uint64               // the safe point of the program; nil: not known
	differences []*Difference
	telling     int        // frames with hashes that the links have yet to send
	spent       bool       // some process may lack room for the next small message
	agreed      *agreement // nil: the replicas of this rank make no decisions
}

// NewCore returns the core of process rank.replica in a job with these degrees. All
// processes are live and have this incarnation.
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

// Process returns the index that identifies a process in events and actions, or -1.
func (c *Core) Process(rank, replica int) int {
	if rank < 0 || rank >= len(c.ranks) || replica < 0 || replica >= c.ranks[rank].degree {
		return -1
	}
	return c.ranks[rank].first + replica
}

// source returns the replica that acts for the given one: that replica itself if it lives,
// otherwise the next live one in cyclic order, or -1. Among deaths, only that of the result
// changes it [SDR, Algorithm 1, line 19].
func source(live uint64, degree, replica int) int {
	if live == 0 {
		return -1
	}
	at := replica
	if at >= degree { // a division would cost as much as the rest
		at %= degree
	}
	if up := live >> at; up != 0 {
		return at + bits.TrailingZeros64(up)
	}
	return bits.TrailingZeros64(live)
}

// server returns the live replica of rank that sends to replica k of rank dst in contexts
// of one kind: replica k, or the one that acts for it. If the sender has more replicas than
// the destination, the additional ones take a share.
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

// served returns the subset of replicas of rank dst to which this process sends.
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

// Drain records that the program has returned. From now on the core requests
// acknowledgements while it keeps messages.
func (c *Core) Drain() {
	c.draining = true
	c.tellAll()
	for _, ctx := range c.order {
		for _, s := range ctx.out {
			if s != nil {
				c.neverSent(s)
			}
		}
	}
	for rank := range c.ranks {
		c.updateWant(rank)
	}
	c.answer()
}

// Drained reports whether no message is kept: every live destination has all that this
// process sent, or would have to send in place of another replica.
func (c *Core) Drained() bool { return c.unfinished == 0 }

// Retained returns how many messages are kept, and the bytes of their copies.
func (c *Core) Retained() (messages, bytes int) {
	for i := range c.ranks {
		bytes += c.ranks[i].retained
	}
	return c.unfinished, bytes
}

// refused reports whether a frame must be ignored, because the incarnation that sent it has
// been declared dead. This is the only reason to ignore a frame: a live sender may know of
// more or of fewer deaths than this process.
func (c *Core) refused(p int, h *transport.Header) bool {
	pr := &c.processes[p]
	return h.Incarnation < pr.incarnation || h.Incarnation == pr.incarnation && !pr.alive
}

func violation(p *process, h *transport.Header, what string) error {
	return fmt.Errorf("%w from %d.%d: %s (kind %d, context %x, number %d)", ErrProtocol, p.rank, p.replica, what, h.Kind, h.Args[0], h.Args[1])
}
