package decision

import (
	"time"

	"github.com/intrahpc/intra/internal/base/detect"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Replaced is a replacement that has received its state.
type Replaced struct {
	Process     job.Process   `json:"process"`
	Incarnation uint32        `json:"incarnation"`
	Node        detect.ID     `json:"node"`
	Donor       job.Process   `json:"donor"`
	Number      uint64        `json:"number"` // number of the safe point where it joined
	Bytes       int64         `json:"bytes,omitempty"`
	Generation  uint32        `json:"generation,omitempty"` // the generation in which it became live
	At          time.Duration `json:"at"`
	// These are set if the process relieved a live one. Left is the node of the relieved process.
	// Stood is when all processes stood in the cut, and Stall is how long the program was stopped
	// there.
	Left  detect.ID     `json:"left,omitempty"`
	Stood time.Duration `json:"stood,omitempty"`
	Stall time.Duration `json:"stall,omitempty"`
}

// Rollback is a rollback to a backup.
type Rollback struct {
	At         time.Duration `json:"at"`
	Ranks      []int         `json:"ranks"`               // the lost ranks
	Blamed     *job.Endpoint `json:"convicted,omitempty"` // the blamed process, if its blame began the rollback
	Disputed   []int         `json:"doubt,omitempty"`     // ranks with a dispute that blames no process
	Since      time.Duration `json:"since"`               // when the first rank was lost, or the dispute or blame began
	Number     uint64        `json:"number"`
	Generation uint32        `json:"generation"`
	Resumed    time.Duration `json:"resumed,omitempty"` // when all processes had rolled back, 0: not yet
}

// recover applies a decision about recovery. A rollback restarts finished programs, so
// afterwards no rank is finished or drained.
func (s *State) recover(e Entry) (verdicts []job.Verdict) {
	d := e.Recovery
	left := make(map[job.Process]detect.ID)
	switch d.Kind {
	case recovery.Admitted:
		verdicts = append(s.depart(e), s.relieve(e, left)...)
		s.join(e, left)
	case recovery.Left:
		for i := range s.Replaced {
			if r := &s.Replaced[i]; r.Left != 0 && r.Stall == 0 && r.Number == d.Number && r.Generation == d.Generation {
				r.Stall = e.At - r.Stood
			}
		}
	case recovery.Complete:
		s.Backups, s.Backup = s.Backups+1, d.Number
	case recovery.RolledBack:
		b := Rollback{At: e.At, Ranks: e.Ranks, Since: e.Since, Number: d.Number, Generation: d.Generation}
		b.Blamed = d.Blamed
		if d.Disputed {
			b.Disputed = []int{d.Since}
		}
		s.Rollbacks = append(s.Rollbacks, b)
		s.join(e, left)
		clear(s.Through)
		clear(s.Drained)
		for p, at := range s.Places {
			if at.Status == Done {
				at.Status = Running
				s.Places[p] = at
			}
		}
	case recovery.Resumed:
		s.Rollbacks[len(s.Rollbacks)-1].Resumed = e.At
	}
	s.Recovery.Apply(*d)
	return verdicts
}

// join records the replacements that have received their state and not died since. left holds
// the nodes of relieved processes.
func (s *State) join(e Entry, left map[job.Process]detect.ID) {
	for _, j := range e.Recovery.Joined {
		if at := s.Places[j.Process]; at.Incarnation == j.Incarnation && at.Status == Running {
			s.Replaced = append(s.Replaced, Replaced{Process: j.Process, Incarnation: j.Incarnation, Node: at.Node, Donor: j.Donor,
				Number: e.Recovery.Number, Bytes: j.Bytes, Generation: e.Recovery.Generation, At: e.At,
				Left: left[j.Process], Stood: e.Recovery.Stood})
		}
	}
}
