package launch

import (
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// stories is what of recovery is told, and stands in the report.
type stories struct {
	Replacements []replacement `json:"replacements"`
}

// told is what there is for the report.
func (c *comeback) told() stories {
	s := stories{Replacements: []replacement{}}
	if c != nil {
		s.Replacements = append(s.Replacements, c.Replacements...)
	}
	return s
}

// replacement is a process that took the place of a dead one.
type replacement struct {
	Process     job.Process `json:"process"`
	Incarnation uint32      `json:"incarnation"`
	Host        string      `json:"host"`
	Donor       job.Process `json:"donor"`
	SafePoint   uint64      `json:"safe_point"`     // at which it joined
	Bytes       int64       `json:"bytes"`          // of state
	Died        float64     `json:"died_seconds"`   // when the one before was declared dead
	Joined      float64     `json:"joined_seconds"` // when it got its place
	Seconds     float64     `json:"seconds"`        // from the one to the other
}

// replaced tells of a newcomer that has got its place.
func (c *comeback) replaced(m *member, at uint64) {
	now := c.elapsed()
	r := replacement{Process: m.process, Incarnation: m.birth, Host: m.hostName(), Donor: m.donor.process, SafePoint: at, Bytes: m.bytes,
		Died: m.before.died.Seconds(), Joined: now.Seconds(), Seconds: (now - m.before.died).Seconds()}
	c.Replacements = append(c.Replacements, r)
	c.warnf("%v is replaced: another process on %s takes part since safe point %d, with %.1f MB of state from %v, %.3f s after the death",
		m.process, r.Host, at, float64(r.Bytes)/1e6, r.Donor, (now - m.before.died).Round(time.Millisecond).Seconds())
}
