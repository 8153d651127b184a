package sdr

import (
	"fmt"
	"math/bits"

	"github.com/intrahpc/intra/transport"
)

// MaxReplicas bounds the number of replicas of one rank.
const MaxReplicas = 64

// Limits bounds the memory of messages. Zero values mean the defaults.
type Limits struct {
	Eager  int // size of the largest message that is sent without a request (32 KiB; at most 1 MiB)
	Window int // bytes of unmatched eager messages at a receiver, per sending process (1 MiB)
	Retain int // bytes of copies kept per destination rank (4 MiB)
	// Detach is the size up to which larger messages are copied as well, as soon as only other
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

// job is the knowledge of this process about all ranks and their processes.
type job struct {
	rank, replica int  // rank and replica of this process
	mirror        bool // every replica sends to every replica
	limits        Limits
	ranks         []rankState
	processes     []process
	replicated    bool // some rank began with several replicas
	draining      bool // the program has returned: acknowledgements are requested without delay
	spent         bool // some process may lack room for the next small message
}

// process is the knowledge of a core about one physical process of the job.
type process struct {
	rank, replica int
	alive         bool
	incarnation   uint32       // incarnation of the live process, or of the last one that was live
	early         early        // frames of an incarnation that was not announced yet
	credit        int          // eager bytes that this process may still send to it
	held          int          // eager bytes of its messages that no receive has matched yet
	owed          int          // eager bytes of its messages that are received and not yet returned as room
	awaited       int          // number of its messages that receives wait for and that are sent without a request
	wanted        bool         // it has been notified that this process waits for its acknowledgements
	short         []*outStream // streams with messages that were offered to it for lack of room, oldest first
	busy          bool         // a wait for its credit timed out, and it has returned no credit since
	sent          uint64       // number of payloads and hashes sent to it
	confirmations [confirmations]confirmation
	awaitsHashes  uint64 // number in its last question about hashes, while unanswered; 0: none
}

// rankState is the knowledge of a core about one rank.
type rankState struct {
	first      int    // index of its replica 0 in processes
	degree     int    // replicas at the start
	live       uint64 // its live replicas
	retained   int    // bytes of copies kept for it
	unfinished int    // messages to it that are kept
	waiting    int    // number of small ones among them whose request waits for acknowledgements
	impatient  uint64 // replicas that wait for acknowledgements
	notified   bool   // some replica may have been notified that this process waits for its acknowledgements
	through    bool   // it has finished, and all processes have received its messages even if it has lost its last replica
}

// newJob returns the state of a job with these degrees. All its processes are live and have
// this incarnation.
func newJob(rank, replica int, incarnation uint32, degrees []int, mirror bool, limits Limits) job {
	j := job{rank: rank, replica: replica, mirror: mirror, limits: limits.withDefaults()}
	for r, d := range degrees {
		d = min(max(d, 1), MaxReplicas)
		j.replicated = j.replicated || d > 1
		j.ranks = append(j.ranks, rankState{first: len(j.processes), degree: d, live: 1<<d - 1})
		for k := range d {
			j.processes = append(j.processes, process{rank: r, replica: k, alive: true, incarnation: incarnation, credit: j.limits.Window})
		}
	}
	return j
}

// index returns the index that identifies a process in events and actions, or -1.
func (j *job) index(rank, replica int) int {
	if rank < 0 || rank >= len(j.ranks) || replica < 0 || replica >= j.ranks[rank].degree {
		return -1
	}
	return j.ranks[rank].first + replica
}

// source returns the replica that acts for the given one: that replica itself if it is
// live, otherwise the next live one in cyclic order, or -1. The result changes only when
// the process that it names dies [SDR, Algorithm 1, line 19].
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
// the destination, the additional ones take a part of the work.
func (j *job) server(live uint64, rank, dst, k int, exact bool) int {
	degree, to := j.ranks[rank].degree, j.ranks[dst].degree
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
func (j *job) serves(dst, k int, exact bool) bool {
	own := &j.ranks[j.rank]
	return j.mirror || own.degree == 1 || j.server(own.live, j.rank, dst, k, exact) == j.replica
}

// served returns the subset of replicas of rank dst to which this process sends.
func (j *job) served(dst int, replicas uint64, exact bool) (set uint64) {
	own := &j.ranks[j.rank]
	switch {
	case j.mirror || own.degree == 1:
		return replicas
	case own.degree <= j.ranks[dst].degree: // nothing to share: the other live replicas serve their own receivers
		set = replicas & (1 << j.replica)
		replicas &^= own.live
	}
	for d := range each(replicas) {
		if j.serves(dst, d, exact) {
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

// siblings returns the other live replicas of this rank.
func (j *job) siblings() uint64 { return j.ranks[j.rank].live &^ (1 << j.replica) }

// refused reports whether a frame must be ignored, because the incarnation that sent it has
// been declared dead. This is the only reason to ignore a frame: a live sender may know of
// more or of fewer deaths than this process.
func (j *job) refused(p int, h *transport.Header) bool {
	pr := &j.processes[p]
	return h.Incarnation < pr.incarnation || h.Incarnation == pr.incarnation && !pr.alive
}

// setPeer sets whether a process is live. It must be called before any message is sent.
func (j *job) setPeer(p int, incarnation uint32, alive bool) {
	pr := &j.processes[p]
	pr.incarnation, pr.alive = incarnation, alive
	if !alive {
		j.ranks[pr.rank].live &^= 1 << pr.replica
	}
}

// spend subtracts from the credit at a process.
func (j *job) spend(pr *process, cost int) {
	pr.credit -= cost
	j.spent = j.spent || j.low(pr)
}

// low reports whether this process may lack room at pr for the next small message.
func (j *job) low(pr *process) bool { return pr.alive && pr.credit < j.limits.Eager+frameCost }

func (j *job) anyLow() bool {
	for i := range j.processes {
		if j.low(&j.processes[i]) {
			return true
		}
	}
	return false
}

// crowded returns the index of a process that has no room for a small message which this
// process sends to it, or -1.
func (j *job) crowded(dst, bytes int, exact bool) int {
	if dst == j.rank || bytes > j.limits.Eager {
		return -1
	}
	r := &j.ranks[dst]
	for d := range each(r.live) {
		if pr := &j.processes[r.first+d]; pr.credit < bytes+frameCost && !pr.busy && j.serves(dst, d, exact) {
			return r.first + d
		}
	}
	return -1
}

func violation(p *process, h *transport.Header, what string) error {
	return fmt.Errorf("%w from %d.%d: %s (kind %d, context %x, number %d)", ErrProtocol, p.rank, p.replica, what, h.Kind, h.Args[0], h.Args[1])
}
