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
	Number      uint64        `json:"number"` // of the safe point
	Bytes       int64         `json:"bytes,omitempty"`
	Generation  uint32        `json:"generation,omitempty"` // in which it became live
	At          time.Duration `json:"at"`
}

// Rollback is a rollback to a backup.
type Rollback struct {
	At         time.Duration `json:"at"`
	Ranks      []int         `json:"ranks"`               // the lost ranks
	Convicted  *job.Endpoint `json:"convicted,omitempty"` // the blamed process, if its blame began the rollback
	Doubt      []int         `json:"doubt,omitempty"`     // ranks with a dispute that blames no process
	Since      time.Duration `json:"since"`               // when the first rank was lost, or the dispute or blame began
	Number     uint64        `json:"number"`
	Generation uint32        `json:"generation"`
	Resumed    time.Duration `json:"resumed,omitempty"` // when all processes had rolled back, 0: not yet
}

// recover applies a decision about recovery. A rollback revives finished programs, so no
// rank is finished or drained after it.
func (s *State) recover(e Entry) {
	d := e.Recovery
	switch d.Kind {
	case recovery.Admitted:
		s.join(e)
	case recovery.Complete:
		s.Backups, s.Backup = s.Backups+1, d.Number
	case recovery.RolledBack:
		b := Rollback{At: e.At, Ranks: e.Ranks, Since: e.Since, Number: d.Number, Generation: d.Generation}
		b.Convicted = d.Convicted
		if d.Doubt {
			b.Doubt = []int{d.Since}
		}
		s.Rollbacks = append(s.Rollbacks, b)
		s.join(e)
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
}

// join records the replacements that have received their state, unless they have died since.
func (s *State) join(e Entry) {
	for _, j := range e.Recovery.Joined {
		if at := s.Places[j.Process]; at.Incarnation == j.Incarnation && at.Status == Running {
			s.Replaced = append(s.Replaced, Replaced{Process: j.Process, Incarnation: j.Incarnation, Node: at.Node, Donor: j.Donor,
				Number: e.Recovery.Number, Bytes: j.Bytes, Generation: e.Recovery.Generation, At: e.At})
		}
	}
}
