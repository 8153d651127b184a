package recovery

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

type status uint8

const (
	empty    status = iota // there is no process
	starting               // the head has requested a process
	arrived                // a process waits for its state
	live
	finished // live, and its program has returned
)

// replica is the slot of one replica of a rank, and the process in it.
type replica struct {
	process     job.Process
	status      status
	state       State
	incarnation uint32        // incarnation of the process
	frames      uint32        // incarnation in the frames of the process: its own, or that of the last rollback
	attempts    int           // replacements in a row that have not become live
	itself      bool          // the last process ended by itself; a replacement would do the same
	refused     string        // why the last request for a process failed, "" if it succeeded
	tries       int           // failed requests in a row
	after       time.Duration // no request is made before this time
	hopeless    bool          // further requests would fail too, so a lost rank does not wait
	safe        bool          // has reached a safe point
	leaves      bool          // live, but another process will relieve it
	repeating   bool          // live, but its agent has not yet repeated all its replies to this head
	hash        uint64        // hash of its registered state in the last cut; 0: not computed
	sure        uint64        // the last safe point at which it reported the processes of its rank sound

	// These fields describe a joiner.
	relieves bool                  // it takes over from the live process in its slot, and is listed in reliefs
	spare    bool                  // spares was reduced for the joiner; Returned gives the spare back
	linked   map[job.Endpoint]bool // peers that have their end of the link to the joiner
	links    map[job.Endpoint]bool // peers to which the joiner has its own end
	donor    job.Process
	asked    bool  // the donor was ordered to copy state to it, ahead of the cut
	copied   bool  // the donor has sent all of this state
	moving   bool  // in the cut: the donor was ordered to transfer the rest of the state
	joined   bool  // in the cut: the joiner has its whole state
	bytes    int64 // size of its state

	// Progress in a cut or a rollback.
	counted, drained, admitted, ready bool
}

// replicas records the process in each slot: whether it lives, its cut, its links and its
// state.
type replicas struct {
	*desk
	slots   []*replica // in the order of their processes (rank, replica)
	of      map[job.Process]*replica
	targets []int      // by rank: how many replicas it is to have
	reliefs []*replica // joiners that take over from live processes
	spares  int        // processes that wait without a rank
	// through holds the finished ranks whose messages have all been received. The job does
	// not need the processes of these ranks any more, unless it rolls back.
	through map[int]bool
}

// Failed returns the ranks that have no live process and that the job still needs.
func (rs *replicas) Failed() []int {
	var ranks []int
	for rank := range rs.config.Degrees {
		if rs.failed(rank) {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

func (rs *replicas) failed(rank int) bool { return rs.alive(rank) == 0 && !rs.through[rank] }

func (s *replica) alive() bool { return s.status >= live }

// first returns the lowest replica of a rank for which fits returns true, or nil.
func (rs *replicas) first(rank int, fits func(*replica) bool) *replica {
	for _, s := range rs.slots {
		if s.process.Rank == rank && fits(s) {
			return s
		}
	}
	return nil
}

// each yields the replicas that have a process of at least this status.
func (rs *replicas) each(least status) func(yield func(*replica) bool) {
	return func(yield func(*replica) bool) {
		for _, s := range rs.slots {
			if s.status >= least && !yield(s) {
				return
			}
		}
	}
}

func (rs *replicas) send(to *replica, o job.Order) {
	o.Generation = rs.generation
	rs.acts = append(rs.acts, Action{Kind: Send, To: to.process, Incarnation: to.incarnation, Order: o})
}

func (rs *replicas) tell(least status, o job.Order) {
	for s := range rs.each(least) {
		rs.send(s, o)
	}
}

// all reports whether holds returns true for every live process.
func (rs *replicas) all(holds func(*replica) bool) bool {
	for s := range rs.each(live) {
		if !holds(s) {
			return false
		}
	}
	return true
}

// usable reports whether lost processes can still be replaced.
func (rs *replicas) usable() bool { return rs.config.Start || rs.spares > 0 }

// mayHave reports whether the head may request a process for s now.
func (rs *replicas) mayHave(s *replica) bool {
	if s.itself || s.attempts >= attempts || !rs.usable() {
		return false
	}
	return rs.spares > 0 || rs.now >= s.after && !(s.hopeless && rs.failed(s.process.Rank))
}

// pausing reports whether the head will request a process for a lost rank again after a
// pause.
func (rs *replicas) pausing(rank int) bool {
	return slices.ContainsFunc(rs.slots, func(s *replica) bool {
		return s.process.Rank == rank && s.status == empty && rs.now < s.after && !s.hopeless && !s.itself && s.attempts < attempts && rs.usable()
	})
}

// coming reports whether a process for the rank was requested and is not live yet.
func (rs *replicas) coming(rank int) bool {
	return slices.ContainsFunc(rs.slots, func(s *replica) bool {
		return s.process.Rank == rank && (s.status == starting || s.status == arrived)
	})
}

// reached reports whether a live replica of the rank has reached a safe point.
func (rs *replicas) reached(rank int) bool {
	return slices.ContainsFunc(rs.slots, func(s *replica) bool { return s.process.Rank == rank && s.alive() && s.safe })
}

// link makes the joiner start without any links.
func (s *replica) link() {
	s.linked, s.links = make(map[job.Endpoint]bool), make(map[job.Endpoint]bool)
}

// connected reports whether all links of a joiner have both their ends. A joiner without
// its own end would treat a live peer as dead.
func (rs *replicas) connected(s *replica) bool {
	for q := range rs.present() {
		if q != s && !(s.linked[q.endpoint()] && s.links[q.endpoint()]) {
			return false
		}
	}
	return true
}

// linked records that process s has its end of the link to another process.
func (rs *replicas) linked(s *replica, r job.Reply) {
	q := rs.find(r.Process, r.Incarnation)
	if q == nil {
		return
	}
	if q.linked != nil {
		q.linked[s.endpoint()] = true
	}
	if s.links != nil {
		s.links[q.endpoint()] = true
	}
}

// source returns the lowest live replica of the rank that has drained. A replica that
// joins in this cut has not drained and has nothing to copy.
func (rs *replicas) source(rank int) *replica {
	return rs.first(rank, func(s *replica) bool { return s.alive() && s.drained })
}

// allRepeated reports whether the holders of all copies are known. A successor knows them
// once the agents of all processes have repeated their replies (Repeated).
func (rs *replicas) allRepeated() bool { return rs.all(func(s *replica) bool { return !s.repeating }) }

// sure returns the last safe point at which the comparison found every process sound.
func (rs *replicas) sure() uint64 {
	sure := uint64(1<<64 - 1)
	for s := range rs.each(live) {
		sure = min(sure, s.sure)
	}
	return sure
}

// transferred reports whether every joiner of this cut has its state.
func (rs *replicas) transferred() bool {
	for s := range rs.joiners() {
		if s.moving && !s.joined {
			return false
		}
	}
	return true
}

// scattered returns the ranks whose replicas, including those that join, are on several
// hosts.
func (rs *replicas) scattered(joined []Joined) (ranks []int) {
	hosts := make([]map[string]bool, len(rs.config.Degrees))
	for rank := range hosts {
		hosts[rank] = make(map[string]bool)
	}
	for s := range rs.each(live) {
		hosts[s.process.Rank][rs.config.Host(s.process)] = true
	}
	for _, j := range joined {
		hosts[j.Process.Rank][rs.config.Host(j.Process)] = true
		if j.Relieves && rs.alive(j.Process.Rank) > 1 { // Host returns another host once the decision is kept
			hosts[j.Process.Rank]["that of the joiner"], hosts[j.Process.Rank]["that of another replica"] = true, true
		}
	}
	for rank := range hosts {
		if len(hosts[rank]) > 1 {
			ranks = append(ranks, rank)
		}
	}
	return ranks
}

// differ reports whether replicas of some rank have different states in the cut.
func (rs *replicas) differ() bool {
	return !rs.all(func(s *replica) bool {
		return s.hash == 0 || !s.drained || rs.all(func(q *replica) bool {
			return q.process.Rank != s.process.Rank || q.hash == 0 || !q.drained || q.hash == s.hash
		})
	})
}

func (rs *replicas) alive(rank int) int {
	n := 0
	for _, s := range rs.slots {
		if s.process.Rank == rank && s.alive() {
			n++
		}
	}
	return n
}

// taken returns the number of slots of a rank that have a process, or for which one was
// requested.
func (rs *replicas) taken(rank int) (n int) {
	for _, s := range rs.slots {
		if s.process.Rank == rank && s.status != empty {
			n++
		}
	}
	return n
}

// surplus returns how many live replicas a rank has more than its target.
func (rs *replicas) surplus(rank int) int { return rs.alive(rank) - rs.targets[rank] }
