package recovery

import (
	"encoding/json"

	"github.com/intrahpc/intra/internal/job"
)

// DecisionKind names a decision about recovery.
type DecisionKind string

// The decisions. Each is kept before anything follows from it.
const (
	Asked      DecisionKind = "asked"      // processes stop at their next safe point, to hear where the cut is
	CutAt      DecisionKind = "cut"        // Number: the cut is at that safe point
	Admitted   DecisionKind = "admitted"   // Number, Joined: these joiners are live from that cut on
	Left       DecisionKind = "left"       // Number, Backup, Files, NextSet, Set, Savers, Entire, Unlike: the cut is over
	Complete   DecisionKind = "complete"   // Number, Outputs, Trusted, Older: that backup is what a rollback goes to
	RolledBack DecisionKind = "rolledback" // Number, Since, Incarnation, Joined: all go back to that safe point, in the next Generation
	Resumed    DecisionKind = "resumed"    // Number, Backup, Files: all are back
)

// Decision is what a Head has decided that another one needs which takes its
// place.
type Decision struct {
	Kind        DecisionKind  `json:"kind"`
	Generation  uint32        `json:"generation,omitempty"` // rollbacks so far, with that of RolledBack
	Number      uint64        `json:"number,omitempty"`
	Backup      uint64        `json:"backup,omitempty"`      // the next cut for a backup, 0: none
	Files       uint64        `json:"files,omitempty"`       // and for files
	NextSet     uint64        `json:"nextset,omitempty"`     // number of the next set of files
	Set         uint64        `json:"set,omitempty"`         // of the files of this cut, 0: none
	Savers      []int         `json:"savers,omitempty"`      // which replica of each rank writes them
	Unlike      bool          `json:"unlike,omitempty"`      // replicas of a rank had different states where a backup was taken
	Entire      bool          `json:"entire,omitempty"`      // where tasks are sampled: all are compared from this cut on
	Since       int           `json:"since,omitempty"`       // the rank whose loss began the rollback
	Doubt       bool          `json:"doubt,omitempty"`       // it was not lost: something is wrong there, and it is not known whose fault that is
	Convicted   *job.Endpoint `json:"convicted,omitempty"`   // neither: this process may have come to wrong results since
	Trusted     bool          `json:"trusted,omitempty"`     // the backup was
	Older       []Generation  `json:"older,omitempty"`       // and these are kept too
	Incarnation uint32        `json:"incarnation,omitempty"` // that of everybody's frames after the rollback
	Scattered   []int         `json:"scattered,omitempty"`   // ranks with replicas on several hosts from then on
	Joined      []Joined      `json:"joined,omitempty"`
	// Outputs is for the driver, which puts in what it wants to find in the
	// Snapshot: where the output of each rank stood at a backup that is complete.
	Outputs json.RawMessage `json:"outputs,omitempty"`
}

// Generation is a complete backup from before the last one, which is kept too.
type Generation struct {
	Number  uint64 `json:"number"`
	Trusted bool   `json:"trusted,omitempty"` // no process was defective before it, as far as comparing tells
}

// Joined is a joiner that becomes live.
type Joined struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Donor       job.Process `json:"donor"` // who gave it its state
	Bytes       int64       `json:"bytes,omitempty"`
	// Output is for the driver: where the output of the donor stood.
	Output json.RawMessage `json:"output,omitempty"`
}
