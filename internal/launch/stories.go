package launch

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// stories is what of recovery stands in the report.
type stories struct {
	Spares       int           `json:"spares"` // asked for
	Replacements []replacement `json:"replacements"`
	Backup       *backups      `json:"backup,omitempty"` // nil: not asked for
	Rollbacks    []rollback    `json:"rollbacks"`
}

// replacement is a process that took the place of a dead one.
type replacement struct {
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

// backups is what was done for the case that a rank is lost.
type backups struct {
	Every    string  `json:"every"`      // safe points, or auto
	Complete int     `json:"complete"`   // how many there were
	Last     uint64  `json:"safe_point"` // of the last one
	Bytes    int64   `json:"bytes"`      // copied, of all ranks
	Seconds  float64 `json:"seconds"`    // that the copying has held up the ranks, on average

	ranks int
}

// rollback is a way back to a backup.
type rollback struct {
	At        float64 `json:"at_seconds"` // when it began
	Lost      []int   `json:"lost"`       // ranks
	SafePoint uint64  `json:"safe_point"`
	Seconds   float64 `json:"seconds"` // from the loss of the rank until the program went on; 0 if it did not

	generation uint32
	since      time.Duration
}

// told is what there is for the report.
func (c *comeback) told() stories {
	s := stories{Replacements: []replacement{}, Rollbacks: []rollback{}}
	if c != nil {
		s.Spares, s.Backup = c.config.Spares, c.Backup
		s.Replacements, s.Rollbacks = append(s.Replacements, c.Replacements...), append(s.Rollbacks, c.Rollbacks...)
	}
	return s
}

// replaced tells of a newcomer that has got its place.
func (c *comeback) replaced(m *member, at uint64) {
	now := c.elapsed()
	away := (now - m.before.died).Round(time.Millisecond).Seconds()
	r := replacement{Process: m.process, Incarnation: m.birth, Host: m.hostName(), Donor: m.donor.process, SafePoint: at, Bytes: m.bytes,
		Died: m.before.died.Seconds(), Joined: now.Seconds(), Seconds: (now - m.before.died).Seconds()}
	c.Replacements = append(c.Replacements, r)
	c.warnf("%v is replaced by another process on %s: it takes part from safe point %d on, with the state of %v (%.1f MB), %.3f s after the death",
		m.process, r.Host, at, r.Donor, float64(r.Bytes)/1e6, away)
}

// stored counts the copies that were taken.
func (c *comeback) stored(r job.Reply) {
	if c.Backup != nil && r.Bytes > 0 {
		c.Backup.Bytes += r.Bytes
		c.Backup.Seconds += r.Seconds / float64(c.Backup.ranks)
	}
}

// completed: everybody hears of a backup that can be gone back to.
func (c *comeback) completed(number uint64) {
	if c.Backup == nil || c.Backup.Last == number {
		return
	}
	c.Backup.Complete++
	c.Backup.Last = number
	for n := range c.saved {
		if n < number {
			delete(c.saved, n)
		}
	}
}

// lostRank notes that a rank has nobody left, and reports whether that is so.
func (c *comeback) lostRank(m *member) bool {
	rank := m.process.Rank
	if c.ledger.decided || c.ledger.alive(rank) > 0 || c.ledger.through[rank] || slices.Contains(c.losses, rank) {
		return false
	}
	if c.losses = append(c.losses, rank); len(c.losses) == 1 {
		c.lossAt = m.died
	}
	return true
}

// rolledBack: the order to go back is given, to everybody.
func (c *comeback) rolledBack(o job.Order) {
	if n := len(c.Rollbacks); n > 0 && c.Rollbacks[n-1].generation == o.Generation {
		return
	}
	lost := slices.Clone(c.losses)
	slices.Sort(lost)
	c.Rollbacks = append(c.Rollbacks, rollback{At: c.elapsed().Seconds(), Lost: lost, SafePoint: o.Number, generation: o.Generation, since: c.lossAt})
	c.warnf("the job goes back to safe point %d", o.Number)
}

// resumed: all are back, and go on.
func (c *comeback) resumed() {
	if n := len(c.Rollbacks); n > 0 && c.Rollbacks[n-1].Seconds == 0 {
		last := &c.Rollbacks[n-1]
		last.Seconds = (c.elapsed() - last.since).Seconds()
	}
	c.losses, c.lossAt = nil, 0
}
