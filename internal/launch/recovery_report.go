package launch

import (
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/runreport"
)

// report returns the part of the report on recovery.
func (c *recoveryDriver) report() runreport.Recovery {
	s := runreport.Recovery{Replacements: []runreport.Replacement{}, Rollbacks: []runreport.Rollback{}}
	if c != nil {
		s.Spares, s.Backup = c.config.Spares, c.Backup
		s.Replacements, s.Rollbacks = append(s.Replacements, c.Replacements...), append(s.Rollbacks, c.Rollbacks...)
	}
	return s
}

// replaced tells of a joiner that has got its place.
func (c *recoveryDriver) replaced(m *member, at uint64) {
	now := c.elapsed()
	away := (now - m.before.died).Round(time.Millisecond).Seconds()
	r := runreport.Replacement{Process: m.process, Incarnation: m.incarnation, Host: m.hostName(), Donor: m.donor.process, SafePoint: at, Bytes: m.bytes,
		Died: m.before.died.Seconds(), Joined: now.Seconds(), Seconds: (now - m.before.died).Seconds()}
	c.Replacements = append(c.Replacements, r)
	c.warnf("%v is replaced by another process on %s: it joined at safe point %d with the state of %v (%.1f MB), %.3f s after the death",
		m.process, r.Host, at, r.Donor, float64(r.Bytes)/1e6, away)
}

// stored counts the copies that were taken.
func (c *recoveryDriver) stored(r job.Reply) {
	if c.Backup != nil && r.Bytes > 0 {
		c.Backup.Bytes += r.Bytes
		c.Backup.Seconds += r.Seconds / float64(len(c.config.Degrees))
	}
}

// completed: everybody hears of a backup that can be gone back to.
func (c *recoveryDriver) completed(number uint64) {
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
func (c *recoveryDriver) lostRank(m *member) bool {
	rank := m.process.Rank
	if c.ledger.decided || c.ledger.alive(rank) > 0 || c.ledger.drained[rank] || slices.Contains(c.losses, rank) {
		return false
	}
	if c.losses = append(c.losses, rank); len(c.losses) == 1 {
		c.lossAt = m.died
	}
	return true
}

// rolledBack: the order to go back is given, to everybody.
func (c *recoveryDriver) rolledBack(o job.Order) {
	if n := len(c.Rollbacks); n > 0 && c.Rollbacks[n-1].Generation == o.Generation {
		return
	}
	lost := slices.Clone(c.losses)
	slices.Sort(lost)
	c.Rollbacks = append(c.Rollbacks, runreport.Rollback{At: c.elapsed().Seconds(), Lost: lost, SafePoint: o.Number, Generation: o.Generation, Since: c.lossAt})
	c.warnf("the job goes back to safe point %d", o.Number)
}

// resumed: all are back, and go on.
func (c *recoveryDriver) resumed() {
	if n := len(c.Rollbacks); n > 0 && c.Rollbacks[n-1].Seconds == 0 {
		last := &c.Rollbacks[n-1]
		last.Seconds = (c.elapsed() - last.Since).Seconds()
	}
	c.losses, c.lossAt = nil, 0
}
