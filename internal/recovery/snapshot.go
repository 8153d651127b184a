package recovery

import (
	"encoding/json"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Snapshot holds everything that the successor of a Head needs: the fates of the
// processes, and the decisions. It is folded from the records of both, in the order in
// which they were kept. The zero value belongs to a job whose first processes all live.
//
// A decision may be kept after deaths that the Head did not know of when it decided. Then
// it applies to the live processes only.
type Snapshot struct {
	Places       map[job.Process]Place  `json:"places,omitempty"`  // a slot without an entry has its first process, which lives
	Reliefs      map[job.Process]uint32 `json:"reliefs,omitempty"` // incarnations of joiners that take over from live processes
	Generation   uint32                 `json:"generation,omitempty"`
	Frames       uint32                 `json:"frames,omitempty"`       // the incarnation in the frames of all processes after the last rollback
	Incarnations uint32                 `json:"incarnations,omitempty"` // the highest incarnation given to a process or a rollback; 0 means 1
	Rest         bool                   `json:"rest,omitempty"`         // a process has finished
	Through      map[int]bool           `json:"through,omitempty"`      // finished ranks whose messages have all been received

	// The cut. The phase is given by the last of Asking, CutAt and Admitting that is set.
	Cut       uint64 `json:"cut,omitempty"`       // the last cut that all processes were ordered to leave, or to which they have rolled back
	Round     uint64 `json:"round,omitempty"`     // counts the requests for positions
	Asking    bool   `json:"asking,omitempty"`    // all processes were asked for their position
	CutAt     uint64 `json:"cutat,omitempty"`     // the announced cut, 0: none
	Admitting bool   `json:"admitting,omitempty"` // all processes are in the cut, and admit joiners
	// Orders holds the orders that some processes may not have received. Every process has
	// received and executed the earlier ones.
	Orders []job.Order `json:"orders,omitempty"`

	Backup  uint64 `json:"backup,omitempty"`  // the next cut for a backup, 0: none
	Files   uint64 `json:"files,omitempty"`   // the next cut for files, 0: none
	NextSet uint64 `json:"nextset,omitempty"` // number of the next set of files
	Unlike  bool   `json:"unlike,omitempty"`  // replicas of a rank had different states in the cut of a backup
	Entire  bool   `json:"entire,omitempty"`  // tasks are sampled, but replicas compare all tasks since the last cut

	Writing
	// These fields describe the last complete backup.
	Complete uint64          `json:"complete,omitempty"` // its number, 0: no backup
	Taken    uint32          `json:"taken,omitempty"`    // the generation in which it was taken
	Outputs  json.RawMessage `json:"outputs,omitempty"`  // as in the Decision
	Trusted  bool            `json:"trusted,omitempty"`  // the comparison found every process sound up to it
	Older    []Older         `json:"older,omitempty"`    // the older backups that are kept, ascending

	// These fields describe a rollback to that backup, until all processes have rolled back.
	Rolling bool `json:"rolling,omitempty"`
	Reason

	Failures Failures     `json:"failures,omitzero"` // deaths of processes that were live
	Last     job.Endpoint `json:"last,omitzero"`     // the live process that died last
}

// Writing is the set of files that is being written.
type Writing struct {
	Set    uint64            `json:"set,omitempty"`    // its number; 0: none
	At     uint64            `json:"at,omitempty"`     // its cut
	Savers []int             `json:"savers,omitempty"` // by rank: the replica that writes the file
	Torn   *job.Process      `json:"torn,omitempty"`   // a writer that has died
	Whole  []checkpoint.File `json:"whole,omitempty"`  // the files, once every rank has written one
}

// Older is a complete backup from before the last one.
type Older struct {
	Generation
	Taken   uint32          `json:"taken,omitempty"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
}

// Place describes the latest process of a slot.
type Place struct {
	Incarnation uint32          `json:"incarnation"`
	Status      Status          `json:"status"`
	Attempts    int             `json:"attempts,omitempty"` // replacements in a row that have not become live
	Itself      bool            `json:"itself,omitempty"`   // it was live, and ended without being killed
	Output      json.RawMessage `json:"output,omitempty"`   // as in Joined, for a process that has joined
}

// Status is the state of a process in a Snapshot.
type Status string

const (
	Joining Status = "joining" // a replacement without a state
	Lives   Status = "lives"
	Ended   Status = "ended" // live, and its program has returned
	Gone    Status = "gone"
)

// place returns the record of the latest process of a slot. A slot without a record has its
// first process, which lives.
func (p *Snapshot) place(q job.Process) Place {
	if at, ok := p.Places[q]; ok {
		return at
	}
	return Place{Incarnation: 1, Status: Lives}
}

func (p *Snapshot) put(q job.Process, at Place) {
	if p.Places == nil {
		p.Places = make(map[job.Process]Place)
	}
	p.Places[q] = at
}

func (at *Place) alive() bool { return at.Status == Lives || at.Status == Ended }

// Placed records that a process is placed into a slot. An earlier process in the slot is
// dead.
func (p *Snapshot) Placed(q job.Process, incarnation uint32) {
	p.Incarnations = max(p.Incarnations, incarnation)
	if at := p.place(q); incarnation > at.Incarnation {
		p.put(q, Place{Incarnation: incarnation, Status: Joining, Attempts: at.Attempts + 1})
	}
}

// Vacant records that a slot has no process at the start.
func (p *Snapshot) Vacant(q job.Process) { p.put(q, Place{Incarnation: 1, Status: Gone}) }

// Died records that a process is dead. itself means that it ended without being killed.
func (p *Snapshot) Died(q job.Process, incarnation uint32, itself bool, now time.Duration) {
	if p.Reliefs[q] == incarnation {
		delete(p.Reliefs, q)
		return
	}
	if at := p.place(q); at.Incarnation == incarnation && at.Status != Gone {
		p.put(q, Place{Incarnation: incarnation, Status: Gone, Attempts: at.Attempts, Itself: itself && at.alive()})
		if next := p.Reliefs[q]; next > 0 { // the joiner now replaces a dead process
			delete(p.Reliefs, q)
			p.Placed(q, next)
		}
		if at.alive() {
			p.Failures.failed(now)
			p.Last = job.Endpoint{Process: q, Incarnation: incarnation}
			if p.Set > 0 && q.Rank < len(p.Savers) && p.Savers[q.Rank] == q.Replica {
				p.Torn = &q
			}
		}
	}
}

// Withdrawn records that a requested process could not be started, or was dismissed. This
// does not count as a failed replacement.
func (p *Snapshot) Withdrawn(q job.Process, incarnation uint32, now time.Duration) {
	at := p.place(q)
	if p.Died(q, incarnation, false, now); at.Incarnation == incarnation && at.Status == Joining {
		p.put(q, Place{Incarnation: incarnation, Status: Gone, Attempts: max(0, at.Attempts-1)})
	}
}

// Finished records that the program has returned in a process, in that generation.
func (p *Snapshot) Finished(q job.Process, incarnation, generation uint32) {
	at := p.place(q)
	if at.Incarnation != incarnation || at.Status != Lives || generation != p.Generation || p.Rolling {
		return
	}
	at.Status = Ended
	p.put(q, at)
	p.Rest = true
}

// Drained records that every message of a finished process has been received.
func (p *Snapshot) Drained(q job.Process, incarnation, generation uint32) {
	if at := p.place(q); at.Incarnation == incarnation && at.Status == Ended && generation == p.Generation {
		p.through(q.Rank)
	}
}

func (p *Snapshot) through(rank int) {
	if p.Through == nil {
		p.Through = make(map[int]bool)
	}
	p.Through[rank] = true
}

// Wrote records that every rank has written its file of a set.
func (p *Snapshot) Wrote(set uint64, files []checkpoint.File) {
	if p.Set == set {
		p.Whole = files
	}
}

// End records that a set is complete or abandoned.
func (p *Snapshot) End(set uint64) {
	if p.Set == set {
		p.Writing = Writing{}
	}
}

// Apply records a decision. It ignores a decision of an earlier generation.
func (p *Snapshot) Apply(d Decision) {
	begins := uint32(0)
	if d.Kind == RolledBack {
		begins = 1
	}
	if d.Generation != p.Generation+begins {
		return
	}
	o := job.Order{Generation: d.Generation, Number: d.Number}
	switch d.Kind {
	case Asked:
		p.Round++
		p.Asking = true
		p.repeat(job.Order{Kind: job.OrderAsk, Generation: d.Generation, Round: p.Round})
	case CutAt:
		p.CutAt = d.Number
		o.Kind = job.OrderCutAt
		p.repeat(o)
	case Admitted: // all processes are in the cut, so they have received all earlier orders
		p.take(d.Joined)
		p.join(d.Joined)
		if joined := p.effective(d.Joined); len(joined) > 0 { // otherwise the cut continues without joiners
			p.CutAt, p.Admitting = d.Number, true
			o.Kind, o.Joined, o.Scattered = job.OrderAdmit, peers(joined), d.Scattered
			p.Orders = []job.Order{o}
		}
	case Left:
		p.plan(d)
		if p.NextSet = d.NextSet; d.Set > 0 {
			p.save(d)
		}
		p.Entire, p.Unlike = d.Entire, d.Unlike
		o.Kind, o.Next, o.Entire = job.OrderGo, earlier(p.Backup, p.Files), d.Entire
		o.Oldest = d.Oldest
		p.Orders = []job.Order{o}
	case Complete:
		p.backup(d)
	case RolledBack:
		p.Generation, p.Incarnations = d.Generation, max(p.Incarnations, d.Incarnation)
		p.Rolling, p.Reason, p.Rest, p.Through, p.Frames = true, d.Reason, false, nil, d.Incarnation
		p.goTo(d.Number)
		p.plan(d)
		p.Entire = false
		p.Orders = nil
		for q, at := range p.Places {
			if at.Status == Ended {
				at.Status = Lives
				p.put(q, at)
			}
		}
		p.join(d.Joined)
	case Resumed:
		p.Rolling = false
		p.plan(d)
		for q, at := range p.Places {
			if at.alive() {
				at.Attempts = 0
				p.put(q, at)
			}
		}
		o.Kind, o.Number, o.Next = job.OrderResume, 0, earlier(p.Backup, p.Files)
		p.Orders = []job.Order{o}
	}
}

// backup records a complete backup, and keeps the earlier ones that the decision lists.
func (p *Snapshot) backup(d Decision) {
	all := append(p.Older, Older{Generation{p.Complete, p.Trusted}, p.Taken, p.Outputs})
	p.Older = nil
	for _, g := range d.Older {
		for _, old := range all {
			if old.Number == g.Number {
				old.Generation = g
				p.Older = append(p.Older, old)
			}
		}
	}
	p.Complete, p.Trusted, p.Taken, p.Outputs = d.Number, d.Trusted, d.Generation, d.Outputs
}

// goTo makes the backup with that number the last complete one; younger ones are void.
func (p *Snapshot) goTo(number uint64) {
	for i, old := range p.Older {
		if old.Number == number {
			p.Complete, p.Trusted, p.Taken, p.Outputs = old.Number, old.Trusted, old.Taken, old.Outputs
			p.Older = p.Older[:i]
			return
		}
	}
}

func (p *Snapshot) repeat(o job.Order) { p.Orders = append(p.Orders, o) }

// plan ends the cut, which is over or void, and records the next planned cuts.
func (p *Snapshot) plan(d Decision) {
	p.Cut, p.Asking, p.CutAt, p.Admitting = d.Number, false, 0, false
	p.Backup, p.Files = d.Backup, d.Files
}

// join marks the joiners live, except those that have died since.
func (p *Snapshot) join(joined []Joined) {
	for _, j := range joined {
		at := p.place(j.Process)
		if at.Incarnation == j.Incarnation && at.Status == Joining {
			p.put(j.Process, Place{Incarnation: j.Incarnation, Status: Lives, Output: j.Output})
		}
	}
}

func (p *Snapshot) save(d Decision) {
	p.Writing = Writing{Set: d.Set, At: d.Number, Savers: d.Savers}
	for _, q := range p.savers() {
		if at := p.place(q); !at.alive() {
			p.Torn = &q
		}
	}
}

// savers returns the processes that write the files.
func (p *Snapshot) savers() (all []job.Process) {
	for rank, replica := range p.Savers {
		all = append(all, job.Process{Rank: rank, Replica: replica})
	}
	return all
}

// peers returns the joiners in the form that orders carry.
func peers(joined []Joined) (all []job.Peer) {
	for _, j := range joined {
		all = append(all, job.Peer{Process: j.Process, Incarnation: j.Incarnation})
	}
	return all
}
