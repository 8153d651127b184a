package runreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Recovery is what was done about lost processes.
type Recovery struct {
	Spares       int           `json:"spares"` // asked for
	Replacements []Replacement `json:"replacements"`
	Backup       *Backups      `json:"backup,omitempty"` // nil: not asked for
	Rollbacks    []Rollback    `json:"rollbacks"`
}

// Replacement is a process that took the place of a dead one.
type Replacement struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Host        string      `json:"host"`
	Donor       job.Process `json:"donor"`
	SafePoint   uint64      `json:"safe_point"`     // at which it joined
	Bytes       int64       `json:"bytes"`          // of state; 0 in a rollback
	Died        float64     `json:"died_seconds"`   // when the one before was declared dead
	Joined      float64     `json:"joined_seconds"` // when it got its place
	Seconds     float64     `json:"seconds"`        // from the one to the other
}

// Backups is what was done for the case that a rank is lost.
type Backups struct {
	Every    string  `json:"every"`      // safe points, or auto
	Complete int     `json:"complete"`   // how many there were
	Last     uint64  `json:"safe_point"` // of the last one
	Bytes    int64   `json:"bytes"`      // copied, of all ranks
	Seconds  float64 `json:"seconds"`    // that the copying has held up the ranks, on average
}

// Rollback is a way back to a backup.
type Rollback struct {
	At        float64      `json:"at_seconds"`          // when it began
	Lost      []int        `json:"lost"`                // ranks
	Differed  []int        `json:"differed,omitempty"`  // ranks of which something differed, and nobody could be convicted, or whose program had failed
	Convicted *job.Process `json:"convicted,omitempty"` // a process that may have come to wrong results before
	SafePoint uint64       `json:"safe_point"`
	Seconds   float64      `json:"seconds"` // from the loss of the rank until the program went on; 0 if it did not

	Generation uint32        `json:"-"` // its number
	Since      time.Duration `json:"-"` // when the first of the ranks was lost, since all had joined
}

// Why says for what the job went back.
func (b Rollback) Why() string {
	var all []string
	if b.Convicted != nil {
		all = append(all, fmt.Sprintf("%v was convicted of a wrong result", b.Convicted))
	}
	if len(b.Differed) > 0 {
		all = append(all, fmt.Sprintf("there was a doubt about rank %d", b.Differed[0]))
	}
	if len(b.Lost) > 0 || len(all) == 0 {
		all = append(all, fmt.Sprintf("ranks %v were lost", b.Lost))
	}
	return "as " + strings.Join(all, " and ")
}
