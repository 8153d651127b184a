package runreport

import (
	"fmt"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// Recovery is the record of replacements, backups and rollbacks.
type Recovery struct {
	Spares       int           `json:"spares"`       // number of spares, from -spares
	Replacements []Replacement `json:"replacements"` // processes that replaced dead ones
	Drains       []Drain       `json:"drains"`       // hosts and processes that were to leave on notice
	Joins        []Join        `json:"joins"`        // hosts that joined the running job
	// each change of the number of replicas of a rank
	Degrees   []DegreeChange `json:"degrees_over_time"`
	Backup    *Backups       `json:"backup,omitempty"` // copies of states in memory, with -backup
	Rollbacks []Rollback     `json:"rollbacks"`        // rollbacks to a backup
}

// Replacement is a process that replaced a dead one.
type Replacement struct {
	Process     job.Process `json:"process"`        // its slot
	Incarnation uint32      `json:"incarnation"`    // its number in that slot; the first process has 1
	Host        string      `json:"host"`           // where it runs
	Donor       job.Process `json:"donor"`          // the process whose state it received
	SafePoint   uint64      `json:"safe_point"`     // the safe point at which it joined
	Bytes       int64       `json:"bytes"`          // size of the state; 0 in a rollback
	Died        float64     `json:"died_seconds"`   // when the earlier process was declared dead
	Joined      float64     `json:"joined_seconds"` // when it took its slot
	Seconds     float64     `json:"seconds"`        // time from died_seconds to joined_seconds
}

// Drain is a host, or one process, that left on notice or was to leave.
type Drain struct {
	Host    string       `json:"host"`              // the host that was to leave, or the host of the process
	Process *job.Process `json:"process,omitempty"` // the process, unless a whole host was to leave
	Reason  string       `json:"reason"`            // who requested it, and why
	At      float64      `json:"at_seconds"`        // when it was requested
	Ranks   []int        `json:"ranks"`             // ranks whose processes have moved
	Bytes   int64        `json:"bytes"`             // size of the states that have moved
	Stall   float64      `json:"stall_ms"`          // how long the program was stopped for the moves, from the arrival of the last process in the cut, in milliseconds
	Seconds float64      `json:"seconds"`           // time from the notice until no process was left; 0 if some were left
}

// DegreeChange is a change of the number of replicas of a rank.
type DegreeChange struct {
	At      float64     `json:"at_seconds"` // when it was
	Process job.Process `json:"process"`    // the process that has joined or died
	Degree  int         `json:"degree"`     // the number of replicas of its rank from then on
}

// Join is a host that joined the running job.
type Join struct {
	Host  string  `json:"host"`       // its name
	Slots int     `json:"slots"`      // the number of processes that it has room for
	At    float64 `json:"at_seconds"` // when it joined
}

// Backups is a summary of the copies of states in memory.
type Backups struct {
	Every    string  `json:"every"`      // safe points from one backup to the next, or auto
	Complete int     `json:"complete"`   // number of complete backups
	Last     uint64  `json:"safe_point"` // safe point of the last complete backup
	Bytes    int64   `json:"bytes"`      // bytes copied by all ranks together
	Seconds  float64 `json:"seconds"`    // average time that copying has cost a rank
}

// Rollback is a rollback to a backup.
type Rollback struct {
	At   float64 `json:"at_seconds"` // when it began
	Lost []int   `json:"lost"`       // ranks that had no replica left
	// ranks with a dispute (-sdc): their replicas differed and no process could be blamed, or
	// the program had failed; see docs/corruption.md#unresolved-disputes
	Differed []int `json:"differed,omitempty"`
	// the process that was blamed for a wrong result, and may have computed other wrong
	// results before (-sdc sample)
	Blamed    *job.Process `json:"convicted,omitempty"`
	SafePoint uint64       `json:"safe_point"` // the safe point to which the job rolled back
	Seconds   float64      `json:"seconds"`    // time from the loss of the rank, or from the difference, until the program continued; 0 if it did not

	Generation uint32        `json:"-"` // the generation that began with this rollback
	Since      time.Duration `json:"-"` // when the first of the ranks was lost, as time since all processes had joined
}

// Why returns in words why the job rolled back.
func (b Rollback) Why() string {
	var all []string
	if b.Blamed != nil {
		all = append(all, fmt.Sprintf("%v was convicted of a wrong result", b.Blamed))
	}
	if len(b.Differed) > 0 {
		all = append(all, fmt.Sprintf("there was a doubt about rank %d", b.Differed[0]))
	}
	if len(b.Lost) > 0 || len(all) == 0 {
		all = append(all, fmt.Sprintf("ranks %v were lost", b.Lost))
	}
	return "as " + strings.Join(all, " and ")
}
