package recovery

import (
	"encoding/json"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// DecisionKind names a decision about recovery.
type DecisionKind string

// These are the decisions, with the fields that each one sets. A Decision is kept before
// the head acts on it.
const (
	Asked      DecisionKind = "asked"      // processes stop at their next safe point until they know the cut
	CutAt      DecisionKind = "cut"        // Number: the cut is at this safe point
	Admitted   DecisionKind = "admitted"   // Number, Joined, Departed, Stood: these joiners are live from this cut on, and these processes leave
	Left       DecisionKind = "left"       // Number, Backup, Files, NextSet, Set, Savers, Oldest, Entire, Unlike: the cut is over
	Complete   DecisionKind = "complete"   // Number, Outputs, Trusted, Older: rollbacks go to this backup from now on
	RolledBack DecisionKind = "rolledback" // Number, Since, Incarnation, Joined: all processes roll back to this safe point, in the next Generation
	Resumed    DecisionKind = "resumed"    // Number, Backup, Files: the rollback is over
)

// Decision is one decision of a Head that its successor needs.
type Decision struct {
	Kind       DecisionKind `json:"kind"`
	Generation uint32       `json:"generation,omitempty"` // number of rollbacks so far; RolledBack includes its own
	Number     uint64       `json:"number,omitempty"`
	Backup     uint64       `json:"backup,omitempty"`  // the next cut for a backup, 0: none
	Files      uint64       `json:"files,omitempty"`   // the next cut for files, 0: none
	NextSet    uint64       `json:"nextset,omitempty"` // number of the next set of files
	Set        uint64       `json:"set,omitempty"`     // the set of files that is written in this cut, 0: none
	Savers     []int        `json:"savers,omitempty"`  // by rank: the replica that writes the file
	Oldest     uint64       `json:"oldest,omitempty"`  // the job rolls back to no safe point before this one; 0: unknown
	Unlike     bool         `json:"unlike,omitempty"`  // replicas of a rank had different states in the cut of a backup
	Entire     bool         `json:"entire,omitempty"`  // tasks are sampled, but replicas compare all tasks from this cut on
	Reason
	Trusted     bool         `json:"trusted,omitempty"`     // the comparison found every process sound up to the backup
	Older       []Generation `json:"older,omitempty"`       // older backups that are kept
	Incarnation uint32       `json:"incarnation,omitempty"` // the incarnation in the frames of all processes after the rollback
	Scattered   []int        `json:"scattered,omitempty"`   // ranks whose replicas are on several hosts afterwards
	Joined      []Joined     `json:"joined,omitempty"`
	// Departed are the processes that leave their ranks in the cut, because these ranks have too
	// many replicas.
	Departed []job.Endpoint `json:"departed,omitempty"`
	// Stood is the time when the last process reached the cut. The program stands still from
	// then on.
	Stood time.Duration `json:"stood,omitempty"`
	// Outputs is opaque to this package. It holds the position of each rank's output at the
	// backup. The driver sets it in Complete and reads it from the Snapshot.
	Outputs json.RawMessage `json:"outputs,omitempty"`
}

// Reason is why a rollback began.
type Reason struct {
	Since    int           `json:"since,omitempty"`     // the rank that caused it: by its loss, unless Disputed or Blamed is set
	Disputed bool          `json:"doubt,omitempty"`     // a dispute in rank Since caused it, and no process was blamed
	Blamed   *job.Endpoint `json:"convicted,omitempty"` // this process was blamed and caused it: its other results may be wrong, too
}

// Generation is a complete backup that is older than the last one and still kept.
type Generation struct {
	Number  uint64 `json:"number"`
	Trusted bool   `json:"trusted,omitempty"` // the comparison found every process sound up to it
}

// Joined is a joiner that becomes live.
type Joined struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Donor       job.Process `json:"donor"` // the process that sent its state
	Bytes       int64       `json:"bytes,omitempty"`
	Relieves    bool        `json:"relieves,omitempty"` // it takes over from the live process in its slot, which is dead from then on
	// Output is opaque to this package: the driver's position in the donor's output.
	Output json.RawMessage `json:"output,omitempty"`
}
