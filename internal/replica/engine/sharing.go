package engine

import (
	"sync/atomic"
	"time"

	"github.com/intrahpc/intra/internal/base/counters"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/replica/fault"
	"github.com/intrahpc/intra/internal/replica/section"
	"github.com/intrahpc/intra/transport"
	"github.com/intrahpc/intra/update"
)

// inboxBytes bounds the updates kept for sections that were not entered yet, per peer.
const inboxBytes = 64 << 20

// sharing is the part of a process that works together with the other replicas of its
// rank: sections, and Once. The lock of the node guards all fields.
type sharing struct {
	*node
	peers   []transport.Link // links to the replicas of this rank; nil for itself and dead replicas
	receive job.Receive

	pending atomic.Int64 // number of frames that refer to the program's memory and were not handed over yet
	filling atomic.Int64 // number of updates that are being received into the program's memory

	machine   *section.Machine
	gathered  *section.Machine // the last machine for which gather has waited
	announced time.Duration    // when runAll has last informed the peers of its section
	once      onceCalls
	current   *Section       // the section, from its opening to its end
	open      *Section       // the section, while it is shared
	retired   bool           // the job rolls back: nothing may be received into the program's memory
	checker   update.Checker // finds tasks that use the same scratch space
	workers   []worker       // the first worker is the goroutine of the program
	rerun     inside         // used for tasks that the verifier runs again
	staged    buffers
	stats     stats
	notes     notes
	decisions decisions
	bandwidth bandwidth
	updates   updates
	stores    *stores      // nil: replicas share no memory
	verifier  *verifier    // nil: nothing is verified
	keeper    *keeper      // nil: nothing is kept on one replica only
	watch     *watcher     // nil: divergence is not checked
	scattered bool         // the replicas of the rank were on several hosts at the last join or rollback
	flips     *fault.Flips // nil: no flips were requested
	meter     *counters.Meter

	generation uint32 // number of rollbacks of the job
}

func newSharing(n *node, c Config) *sharing {
	self, replicas := n.setup.Self, n.setup.Degrees[n.setup.Self.Rank]
	h := &sharing{
		node:      n,
		peers:     make([]transport.Link, replicas),
		receive:   c.Receive,
		machine:   section.New(section.Config{Replica: self.Replica, Replicas: replicas, InboxBytes: inboxBytes}),
		once:      onceCalls{Once: section.NewOnce(self.Replica, replicas)},
		stats:     newStats(),
		decisions: newDecisions(),
	}
	h.decisions.never = c.Share
	h.updates.sharing = h
	h.verifier, h.watch, h.flips = newVerifier(h), newWatcher(h), fault.NewFlips(n.setup.Flips)
	h.meter = counters.New(n.setup.Counters, self.Replica, replicas)
	for _, c := range h.meter.Counters() {
		if c.From != counters.FromPerf {
			h.notes.add("-counters: %s", c)
		}
	}
	h.workers = newWorkers(h, Threads(n.setup))
	if n.setup.Limit > 0 {
		h.bandwidth.limit(n.setup.Limit)
	}
	for p, l := range c.Links {
		if p.Rank == self.Rank && !n.setup.Joiner {
			h.peers[p.Replica] = l
		}
	}
	return h
}

// Replicated reports whether the rank of this process began with more than one
// replica.
func (h *sharing) Replicated() bool { return len(h.peers) > 1 }

// Turn returns the index of this process among the live replicas of its rank, and their
// number. The replicas may know of different deaths, so their values may be inconsistent.
func (h *sharing) Turn() (place, of int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.peers {
		if h.machine.Live(p) {
			if p < h.setup.Self.Replica {
				place++
			}
			of++
		}
	}
	return place, of
}

// Serial reports whether tasks run when they are launched. This requires that no other
// replica and no other worker shares them, and that none is verified.
func (h *sharing) Serial() bool { return len(h.peers) == 1 && len(h.workers) == 1 && h.verifier == nil }

// Opened is called when the program opens s. It gives s its number.
func (h *sharing) Opened(s *Section) {
	h.faults.At(job.KillSection)
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Number = h.machine.Number()
	h.current = s
	if h.trace != nil {
		s.begun = h.now()
	}
}

// Closed counts a section that was completed.
func (h *sharing) Closed(s *Section) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stats.total.Sections++
	h.current = nil
	h.keeper.completed()
	if h.Serial() { // its tasks ran when they were launched
		signature := signatureOf(s)
		h.countShort(s)
		if h.trace != nil {
			h.trace.section(s, s.begun, h.now())
		}
		if err := h.pass(s, signature); err != nil {
			h.fail(err)
		}
	}
	h.notes.completed(s)
}

// opened returns the section of that number if it is open, nil otherwise.
func (h *sharing) opened(number uint64) *Section {
	if h.open != nil && h.open.Number == number {
		return h.open
	}
	return nil
}

// pass moves the section machine past s, which is completed without it.
func (h *sharing) pass(s *Section, signature uint64) error {
	var now time.Duration // a replica alone waits for no peer
	if len(h.peers) > 1 {
		now = h.now()
	}
	acts, err := h.machine.Pass(len(s.Tasks), signature, now)
	if err != nil {
		return err
	}
	return h.perform(s, acts)
}

// dead marks a process dead, if it is a replica of this rank.
func (h *sharing) dead(p job.Process) {
	if p.Rank != h.setup.Self.Rank {
		return
	}
	h.peers[p.Replica] = nil
	if h.stores != nil {
		h.stores.died(p.Replica)
	}
	h.machine.Dead(p.Replica)
	h.performOnce(h.once.Dead(p.Replica))
	if v := h.verifier; v != nil {
		v.dead(p.Replica)
	}
	h.watch.dead(p.Replica)
	h.keeper.dead()
}

// admit marks another replica live, at a cut.
func (h *sharing) admit(p job.Process) {
	h.machine.Alive(p.Replica)
	h.once.Alive(p.Replica)
	if h.verifier != nil {
		h.verifier.admit(p.Replica)
	}
	h.peers[p.Replica] = h.linkTo(p)
	h.watch.admit(p.Replica)
	h.keeper.join()
	if h.stores != nil {
		h.stores.admit(p.Replica)
	}
	// All replicas have to measure again, at the same time, whether sharing pays.
	h.decisions = decisions{of: newDecisions().of, never: h.decisions.never}
}

// position returns the position of the replicas between two sections.
func (h *sharing) position() section.Position {
	at := h.machine.Position()
	h.once.Position(&at)
	return at
}

// resumeAt sets this replica to the position of its rank at a cut, in a generation. The
// live peers are those in incarnations.
func (h *sharing) resumeAt(at section.Position, generation uint32) {
	self, replicas := h.setup.Self, len(h.peers)
	h.machine = section.NewAt(section.Config{Replica: self.Replica, Replicas: replicas, InboxBytes: inboxBytes}, at)
	h.stats.total.Before = int64(at.Number) - h.stats.total.Sections
	h.once.Once = section.NewOnceAt(self.Replica, replicas, at)
	if h.verifier != nil {
		h.verifier.resumeAt(at.Deaths)
	}
	if h.watch != nil {
		h.watch.resume()
	}
	h.decisions = decisions{of: newDecisions().of, never: h.decisions.never}
	h.workers[0].inside.short.Store(nil)
	h.current, h.open, h.retired, h.once.inside, h.once.wanted, h.err, h.finished = nil, nil, false, false, false, nil, false
	for replica := range h.peers {
		p := job.Process{Rank: self.Rank, Replica: replica}
		h.peers[replica] = nil
		if _, live := h.incarnations[p]; live && p != self {
			h.peers[replica] = h.linkTo(p)
			h.machine.Alive(replica)
			h.once.Alive(replica)
			if h.verifier != nil {
				h.verifier.admit(replica)
			}
			h.watch.admit(replica)
		}
	}
	h.keeper.resume()
	if h.generation = generation; h.stores != nil {
		h.stores.begin()
	}
}

// describe describes, for the user, what the open section waits for. It returns "" if no
// section is open.
func (h *sharing) describe() string {
	if h.open == nil || h.open.exchange == nil {
		return h.keeper.describe()
	}
	return h.open.exchange.describe()
}

// retire ends all access of links and peers to the memory of a program that is about to
// begin again. From then on no update is received into that memory, and no peer stores
// into it. retire reports whether no link and no peer uses the memory any more. It is
// called again until it returns true.
func (h *sharing) retire() bool {
	h.mu.Lock()
	h.retired = true
	ended := h.stores == nil || h.stores.claims.Close()
	h.mu.Unlock()
	return ended && h.pending.Load() == 0 && h.filling.Load() == 0
}

// bye informs the other replicas that this one sends nothing more.
func (h *sharing) bye() {
	m := update.Message{Kind: update.KindBye, Section: h.machine.Number()}
	for replica, l := range h.peers {
		if l != nil {
			h.notify(replica, m)
		}
	}
}

// awaitChange waits for a change since seen, or until a time (0: without limit). The
// goroutine of the program calls it without the lock, after it has promised to poll.
func (h *sharing) awaitChange(seen uint64, until time.Duration) error {
	var deadline time.Time
	if until > 0 {
		deadline = h.start.Add(until)
	}
	return h.ended(h.poller.WaitAttending(h.runCtx, deadline, func() bool { return h.changedSince(seen) }))
}
