package recovery

import (
	"encoding/json"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Snapshot is all that a Head needs which takes the place of another one: what has
// become of the processes, and what was decided. It is folded from both in the
// order in which they were kept. Its zero value is that of a job whose first
// processes all live. A decision may be kept behind deaths of which the Head
// that made it had not heard; it holds for those that live.
type Snapshot struct {
	Places       map[job.Process]Place `json:"places,omitempty"` // without an entry: the first process lives there
	Generation   uint32                `json:"generation,omitempty"`
	Incarnations uint32                `json:"incarnations,omitempty"` // the highest that was given to a process or to a rollback, 0: 1
	Rest         bool                  `json:"rest,omitempty"`         // somebody has finished
	Through      map[int]bool          `json:"through,omitempty"`      // ranks that have, and nobody lacks any of their messages

	// Cuts. Of two fields for the same cut the later one counts.
	Cut       uint64 `json:"cut,omitempty"`       // the last one that all were to leave, or have gone back to
	Round     uint64 `json:"round,omitempty"`     // how often all were asked how far they are
	Asking    bool   `json:"asking,omitempty"`    // they are
	CutAt     uint64 `json:"cutat,omitempty"`     // the one under way was announced, 0: none was
	Admitting bool   `json:"admitting,omitempty"` // all are in it
	// Orders are those that some may not have heard. Others have, and have
	// done what they say.
	Orders []job.Order `json:"orders,omitempty"`

	Backup  uint64 `json:"backup,omitempty"`  // the next cut for a backup, 0: none
	Files   uint64 `json:"files,omitempty"`   // and for files
	NextSet uint64 `json:"nextset,omitempty"` // number of the next set of files
	Unlike  bool   `json:"unlike,omitempty"`  // replicas of a rank had different states where a backup was taken
	Entire  bool   `json:"entire,omitempty"`  // all tasks are compared since the last cut

	// The files that are being written.
	Set    uint64            `json:"set,omitempty"`    // 0: none
	At     uint64            `json:"at,omitempty"`     // the cut of that set
	Savers []int             `json:"savers,omitempty"` // which replica of each rank writes it
	Torn   *job.Process      `json:"torn,omitempty"`   // who of them has died
	Whole  []checkpoint.File `json:"whole,omitempty"`  // once every rank has its own

	// The last backup that is complete.
	Complete uint64          `json:"complete,omitempty"` // its number, 0: there is none
	Taken    uint32          `json:"taken,omitempty"`    // the generation in which it was
	Outputs  json.RawMessage `json:"outputs,omitempty"`  // as in the Decision
	Trusted  bool            `json:"trusted,omitempty"`  // no process was defective before it
	Older    []Older         `json:"older,omitempty"`    // that are kept too, ascending

	// The rollback to it, of which some may have heard, while not all are back.
	Rolling   bool          `json:"rolling,omitempty"`
	Since     int           `json:"since,omitempty"`     // the rank whose loss began it
	Doubt     bool          `json:"doubt,omitempty"`     // not its loss, as in the Decision
	Convicted *job.Endpoint `json:"convicted,omitempty"` // likewise

	Failures Failures     `json:"failures,omitzero"` // of processes that lived
	Last     job.Endpoint `json:"last,omitzero"`     // who of them died last
}

// Older is a complete backup from before the last one.
type Older struct {
	Generation
	Taken   uint32          `json:"taken,omitempty"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
}

// Place is what has become of the latest process of a place.
type Place struct {
	Incarnation uint32          `json:"incarnation"`
	Status      Status          `json:"status"`
	Attempts    int             `json:"attempts,omitempty"` // processes in a row that were to replace one and have not come to live
	Itself      bool            `json:"itself,omitempty"`   // it lived, and ended without being killed
	Output      json.RawMessage `json:"output,omitempty"`   // of one that has joined, as in the Decision
}

// Status says what has become of a process.
type Status string

// The states.
const (
	Joining Status = "joining" // it is to replace another one, and has no state yet
	Lives   Status = "lives"
	Ended   Status = "ended" // it lives, and its program has returned
	Gone    Status = "gone"
)

// place returns what there is in a place.
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

// Born says that a process is to take a place. One that was there before is
// gone.
func (p *Snapshot) Born(q job.Process, incarnation uint32) {
	p.Incarnations = max(p.Incarnations, incarnation)
	if at := p.place(q); incarnation > at.Incarnation {
		p.put(q, Place{Incarnation: incarnation, Status: Joining, Attempts: at.Attempts + 1})
	}
}

// Died says that a process is dead. itself: it ended without being killed.
func (p *Snapshot) Died(q job.Process, incarnation uint32, itself bool, now time.Duration) {
	if at := p.place(q); at.Incarnation == incarnation && at.Status != Gone {
		p.put(q, Place{Incarnation: incarnation, Status: Gone, Attempts: at.Attempts, Itself: itself && at.alive()})
		if at.alive() {
			p.Failures.failed(now)
			p.Last = job.Endpoint{Process: q, Incarnation: incarnation}
			if p.Set > 0 && q.Rank < len(p.Savers) && p.Savers[q.Rank] == q.Replica {
				p.Torn = &q
			}
		}
	}
}

// Withdrawn says that a process could not be had, or left because nobody needed it any
// more: that is no failed attempt to replace another one.
func (p *Snapshot) Withdrawn(q job.Process, incarnation uint32, now time.Duration) {
	at := p.place(q)
	if p.Died(q, incarnation, false, now); at.Incarnation == incarnation && at.Status == Joining {
		p.put(q, Place{Incarnation: incarnation, Status: Gone, Attempts: max(0, at.Attempts-1)})
	}
}

// Finished says that the program has returned in a process, in that generation.
func (p *Snapshot) Finished(q job.Process, incarnation, generation uint32) {
	at := p.place(q)
	if at.Incarnation != incarnation || at.Status != Lives || generation != p.Generation || p.Rolling {
		return
	}
	at.Status = Ended
	p.put(q, at)
	p.Rest = true
}

// Drained says that nobody lacks anything that a process has sent, in which the
// program has returned.
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

// Wrote says that every rank has its file of a set.
func (p *Snapshot) Wrote(set uint64, files []checkpoint.File) {
	if p.Set == set {
		p.Whole = files
	}
}

// End says that a set is complete or given up.
func (p *Snapshot) End(set uint64) {
	if p.Set == set {
		p.Set, p.At, p.Savers, p.Torn, p.Whole = 0, 0, nil, nil, nil
	}
}

// Apply takes in a decision. One about a generation that is over changes nothing.
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
	case Admitted: // all are in the cut, and so have heard all that was before
		p.CutAt, p.Admitting = d.Number, true
		p.join(d.Joined)
		o.Kind, o.Joined, o.Scattered = job.OrderAdmit, peers(d.Joined), d.Scattered
		p.Orders = []job.Order{o}
	case Left:
		p.plan(d)
		if p.NextSet = d.NextSet; d.Set > 0 {
			p.save(d)
		}
		p.Entire, p.Unlike = d.Entire, d.Unlike
		o.Kind, o.Next, o.Entire = job.OrderGo, earlier(p.Backup, p.Files), d.Entire
		p.Orders = []job.Order{o}
	case Complete:
		p.backup(d)
	case RolledBack:
		p.Generation, p.Incarnations = d.Generation, max(p.Incarnations, d.Incarnation)
		p.Rolling, p.Since, p.Doubt, p.Convicted, p.Rest, p.Through = true, d.Since, d.Doubt, d.Convicted, false, nil
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

// backup: one more is complete. Those before it stay that are kept too.
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

// goTo: all go back to the backup with that number, and younger ones are void.
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

// plan: the cut is over, or void.
func (p *Snapshot) plan(d Decision) {
	p.Cut, p.Asking, p.CutAt, p.Admitting = d.Number, false, 0, false
	p.Backup, p.Files = d.Backup, d.Files
}

// join: the joiners that have not died since are live.
func (p *Snapshot) join(joined []Joined) {
	for _, j := range joined {
		at := p.place(j.Process)
		if at.Incarnation == j.Incarnation && at.Status == Joining {
			p.put(j.Process, Place{Incarnation: j.Incarnation, Status: Lives, Output: j.Output})
		}
	}
}

func (p *Snapshot) save(d Decision) {
	p.Set, p.At, p.Savers, p.Torn, p.Whole = d.Set, d.Number, d.Savers, nil, nil
	for _, q := range p.savers() {
		if at := p.place(q); !at.alive() {
			p.Torn = &q
		}
	}
}

// savers are the processes that write the files.
func (p *Snapshot) savers() (all []job.Process) {
	for rank, replica := range p.Savers {
		all = append(all, job.Process{Rank: rank, Replica: replica})
	}
	return all
}

// peers are joiners as the others hear of them.
func peers(joined []Joined) (all []job.Peer) {
	for _, j := range joined {
		all = append(all, job.Peer{Process: j.Process, Incarnation: j.Incarnation})
	}
	return all
}
