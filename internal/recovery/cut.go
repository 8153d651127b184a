package recovery

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// cut is the consistent cut under way: all processes stop at the same safe point and wait
// until no message from before it is in flight.
type cut struct {
	phase  cutPhase
	number uint64        // its safe point, once known
	most   uint64        // while asking: the highest safe point that a process has entered
	stood  time.Duration // when the last process reached it
	joined []Joined      // while deciding: the joiners
	// while deciding: the processes that leave their ranks
	departed []job.Endpoint
}

// cutPhase is the phase of a cut.
type cutPhase uint8

const (
	idle      cutPhase = iota // no cut is under way; one may be planned
	asking                    // every process is asked for its position, to choose a safe point that none has passed
	draining                  // each process stops at the safe point and waits for messages from before it
	deciding                  // the decision to admit the joiners is being kept
	admitting                 // no message is in flight, and the processes make links to the joiners
)

// donate orders the lowest live replica of each joiner's rank to copy state to the joiner
// before the cut, while the computation goes on.
func (h *Head) donate() {
	for s := range h.replicas.joiners() {
		if s.status != arrived || !h.replicas.connected(s) {
			continue
		}
		donor := h.replicas.first(s.process.Rank, (*replica).alive)
		if s.relieves { // the process that it relieves sends the state itself
			donor = h.replicas.of[s.process]
		}
		if !s.asked {
			s.donor, s.asked = donor.process, true
			h.replicas.send(donor, job.Order{Kind: job.OrderDonate, Process: s.process})
		}
	}
}

// plan begins a cut when a joiner is ready for one, when processes are to leave their ranks, or
// when a last set of files is to be written. It also begins one when the first backup is complete:
// after that cut replicas compare only a share of the tasks.
func (h *Head) plan() {
	if h.cut.phase != idle || h.rest {
		return
	}
	ready := h.backups.entire && h.backups.complete != nil || h.sets.last && h.sets.saving.set == 0 || len(h.departing()) > 0
	for s := range h.replicas.joiners() {
		ready = ready || s.status == arrived && s.copied && !h.writes(s)
	}
	if !ready {
		return
	}
	h.open(asking)
	h.round++
	h.keep(Decision{Kind: Asked})
	h.replicas.tell(live, job.Order{Kind: job.OrderAsk, Round: h.round})
}

func (h *Head) open(phase cutPhase) {
	h.cut = cut{phase: phase}
	for _, s := range h.replicas.slots {
		s.counted, s.drained, s.admitted, s.moving, s.joined = false, false, false, false, false
	}
	for _, s := range h.reliefs {
		s.moving, s.joined = false, false
	}
}

// counted records that process s has entered n safe points. The process stops at its next
// safe point until it knows the number of the cut.
func (h *Head) counted(s *replica, n uint64) {
	if h.cut.phase == asking && s.alive() {
		s.counted = true
		h.cut.most = max(h.cut.most, n)
	}
}

// drained records that process s is in the cut and has received every message that was
// sent before it.
func (h *Head) drained(s *replica, number uint64) {
	if h.rest || !s.alive() {
		return
	}
	// Processes enter the planned cut without being asked. A process may reach it before it has
	// answered a request for its position.
	if number == h.next && (h.cut.phase == idle || h.cut.phase == asking) {
		h.pace.rate.reached(number, h.now)
		asked := h.cut.phase == asking
		h.open(draining)
		h.cut.number = number
		if asked {
			h.announce(number)
		}
	}
	if h.cut.phase == draining && number == h.cut.number {
		h.pace.rate.reached(number, h.now)
		s.drained = true
	}
}

// progress begins the next phase of the cut once the present phase is done.
func (h *Head) progress() {
	if h.rest {
		return
	}
	if h.cut.phase == asking && h.replicas.all(func(s *replica) bool { return s.counted }) {
		n := h.cut.most + 1
		if h.next > 0 {
			n = min(n, h.next)
		}
		h.cut.phase, h.cut.number = draining, n
		h.announce(n)
	}
	if h.cut.phase == draining {
		h.transfer()
		if h.replicas.all(func(s *replica) bool { return s.drained }) {
			if h.cut.stood == 0 {
				h.cut.stood = h.now
			}
			if h.replicas.transferred() {
				h.admit()
			}
		}
	}
	if h.cut.phase == admitting && h.replicas.all(func(s *replica) bool { return s.admitted }) {
		h.leave()
	}
}

// announce sends the number of the cut to the processes that were asked for their
// position.
func (h *Head) announce(number uint64) {
	h.keep(Decision{Kind: CutAt, Number: number})
	h.replicas.tell(live, job.Order{Kind: job.OrderCutAt, Number: number})
}

// transfer orders the drained donors to send the joiners all changes since the copy ahead
// of the cut. A joiner whose donor dies waits for a later cut and another donor.
func (h *Head) transfer() {
	for s := range h.replicas.joiners() {
		if s.status != arrived || s.moving || !s.copied || !h.replicas.connected(s) || h.writes(s) {
			continue
		}
		if donor := h.replicas.of[s.donor]; donor.drained {
			s.moving = true
			h.replicas.send(donor, job.Order{Kind: job.OrderTransfer, Number: h.cut.number, Process: s.process})
		}
	}
}

// admit decides which joiners are live from this cut on, and which processes leave their ranks
// in it.
func (h *Head) admit() {
	var joined []Joined
	relieves := false
	for s := range h.replicas.joiners() {
		if s.joined {
			j := Joined{Process: s.process, Incarnation: s.incarnation, Donor: s.donor, Bytes: s.bytes, Relieves: s.relieves}
			switch {
			case s.relieves:
				j.Donor, relieves = s.process, true
			case !s.moving: // an earlier head chose the donor; Snapshot does not record the choice
				j.Donor = h.replicas.source(s.process.Rank).process
			}
			joined = append(joined, j)
		}
	}
	var departed []job.Endpoint
	for _, s := range h.departing() {
		departed = append(departed, s.endpoint())
	}
	if len(joined)+len(departed) == 0 {
		h.leave()
		return
	}
	h.cut.phase, h.cut.joined, h.cut.departed = deciding, joined, departed
	h.keep(Decision{Kind: Admitted, Number: h.cut.number, Joined: joined, Departed: departed, Scattered: h.replicas.scattered(joined), Stood: h.cut.stood})
	if !relieves && len(departed) == 0 { // otherwise the driver calls Admitted
		h.admitted(joined)
	}
}

// admitted announces the joiners to all processes. From here on they are live.
func (h *Head) admitted(joined []Joined) {
	h.cut.phase, h.cut.joined, h.cut.departed = admitting, nil, nil
	scattered := h.replicas.scattered(joined)
	for _, p := range joined {
		s := h.replicas.of[p.Process]
		s.status, s.attempts, s.tries, s.safe = live, 0, 0, true
		s.moving, s.joined, s.asked, s.copied, s.linked, s.links = false, false, false, false, nil, nil
		s.to(ReplaceRecover)
		s.to(Running)
	}
	h.replicas.tell(live, job.Order{Kind: job.OrderAdmit, Number: h.cut.number, Joined: peers(joined), Scattered: scattered})
	if h.backups.complete != nil {
		for _, p := range joined { // a joiner must know which copies it may not overwrite
			h.replicas.send(h.replicas.of[p.Process], job.Order{Kind: job.OrderComplete, Number: h.backups.complete.number, Older: numbers(h.backups.older)})
		}
	}
}

// leave ends the cut. In a planned cut it also plans the backup or the files.
func (h *Head) leave() {
	number := h.cut.number
	o := job.Order{Kind: job.OrderGo, Number: number}
	switch {
	case number == h.backupAt:
		h.pace.rate.backedUp(h.now)
		o.Plan = h.backups.take(number)
		h.backups.unlike = h.backups.unlike || h.replicas.differ()
		h.backupAt = h.config.compared(number + h.pace.interval())
	case h.config.Backup.Auto && h.backupAt > 0: // a cut for joiners: recent failures may require an earlier backup
		h.backupAt = min(h.backupAt, h.config.compared(number+h.pace.interval()))
	}
	if number == h.filesAt || h.sets.last && h.sets.saving.set == 0 {
		o.Set, o.Savers = h.sets.save(number)
		h.sets.last = h.sets.last && o.Set == 0
		h.filesAt = number + h.config.Files.Every
	}
	h.next = earlier(h.backupAt, h.filesAt)
	h.backups.entire = h.backups.entire && h.backups.complete == nil
	o.Next, o.Entire = h.next, h.backups.entire
	o.Oldest = h.oldest(number)
	h.pace.rate.left(number, h.now)
	h.cut = cut{}
	d := Decision{Kind: Left, Number: number, Backup: h.backupAt, Files: h.filesAt, NextSet: h.sets.set, Set: o.Set, Oldest: o.Oldest, Entire: h.backups.entire, Unlike: h.backups.unlike}
	for _, w := range o.Savers {
		d.Savers = append(d.Savers, w.Replica)
	}
	h.keep(d)
	h.replicas.tell(live, o)
}

// oldest returns the oldest safe point to which the job may roll back, or from which it
// may restart, once it has left the cut. It returns 0 if that safe point is unknown.
func (h *Head) oldest(cut uint64) uint64 {
	switch b := h.backups; {
	case h.backupAt == 0:
	case b.complete == nil:
		return 0
	default:
		cut = min(cut, b.complete.number)
		for _, one := range b.older {
			cut = min(cut, one.number)
		}
	}
	switch done := h.sets.done; {
	case h.filesAt == 0 && h.config.From == 0:
	case len(done) < checkpoint.KeptSets: // sets of an earlier job, or of an earlier head, may exist
		return 0
	default:
		cut = min(cut, done[0])
	}
	return cut
}

func (c cut) String() string { return fmt.Sprintf("%d at %d", c.phase, c.number) }

// storing completes the backup once all its holders have stored it. It renews the copies
// that only one process holds.
func (h *Head) storing() {
	if h.backups.attempt != nil && h.backups.finished() {
		h.plan()
	}
	if h.backups.complete != nil && h.replicas.allRepeated() {
		h.backups.renew(h.backups.complete)
		for _, b := range h.backups.older {
			h.backups.renew(b)
		}
	}
}
