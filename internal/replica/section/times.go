package section

import (
	"slices"
	"time"
)

// Times holds how long the tasks of one type take, on each replica. It keeps the last few
// durations of each replica and uses their median. So one interrupted task does not change
// the estimate, and a replica that has become slower is recognized after three tasks.
type Times struct {
	Transfer time.Duration // time of one update; 0: unknown
	of       []series      // by replica
}

// series holds the newest of a series of durations.
type series struct {
	last   [5]time.Duration
	n      int
	median time.Duration
}

// Took records that a replica took d for one task, from its claim until its
// update was made.
func (t *Times) Took(replica int, d time.Duration) {
	for len(t.of) <= replica {
		t.of = append(t.of, series{})
	}
	s := &t.of[replica]
	s.last[s.n%len(s.last)] = d
	s.n++
	sorted, n := s.last, min(s.n, len(s.last))
	slices.Sort(sorted[:n])
	s.median = sorted[n/2]
}

// typical returns the typical duration on a replica, 0 if unknown.
func (t *Times) typical(replica int) time.Duration {
	if t == nil || replica >= len(t.of) {
		return 0
	}
	return t.of[replica].median
}

// clock converts times of a peer's clock to those of this replica. It uses the recent
// frame that took the least time to arrive.
type clock struct {
	behind time.Duration // how far the peer's clock is behind this replica's clock, plus the delay of that frame
	known  bool
	last   time.Duration // time of the last comparison, by this replica's clock
}

// 1/drift bounds the relative difference in speed of two clocks.
const drift = 1 << 13

// compare records that a frame was made at time there and seen at time here, each by its
// own clock.
func (c *clock) compare(there, here time.Duration) {
	c.behind += (here - c.last) / drift
	c.last = here
	if d := here - there; !c.known || d < c.behind {
		c.behind, c.known = d, true
	}
}

// here converts a peer's time to the clock of this replica. The result is at most now.
func (c *clock) here(there, now time.Duration) time.Duration {
	if there <= 0 || !c.known {
		return now
	}
	return min(there+c.behind, now)
}

// worth returns the least gain for which this replica does not wait for a peer. A
// smaller gain may be an error of the estimate, and peers of equal speed would
// then both run a task.
func worth(own time.Duration) time.Duration { return own/4 + 20*time.Microsecond }

// timesOf returns the durations of the type of a task, nil if unknown.
func (m *Machine) timesOf(t int) *Times {
	if m.times == nil {
		return nil
	}
	return m.times(t)
}

// until returns when a claim expires. A peer that is known to be slower than this replica
// gets more time, by the difference.
func (m *Machine) until(t, p int) time.Duration {
	times := m.timesOf(t)
	more := times.typical(p) - times.typical(m.me)
	return m.tasks[t].claims[p].since + m.patience(t) + max(more, 0)
}

// believed reports whether peer p has claimed task t and may still send it.
func (m *Machine) believed(t, p int) bool {
	return m.tasks[t].claims[p].since > 0 && !m.gone(p) && m.until(t, p) > m.now
}

// slower reports whether p has claimed task t, but this replica would complete it
// earlier if it started now.
func (m *Machine) slower(t, p int) bool {
	times := m.timesOf(t)
	own, its := times.typical(m.me), times.typical(p)
	return own > 0 && its > 0 && m.now+own+worth(own) < m.tasks[t].claims[p].since+its
}

// sooner reports whether the peers can complete their present tasks and all open ones
// before this replica could complete one. It assumes that the open tasks take as long as
// t. Only peers that have claimed a task count. until is the time to check again, because
// the peers may be slower than expected.
func (m *Machine) sooner(t, open int) (until time.Duration, ok bool) {
	times := m.timesOf(t)
	own := times.typical(m.me)
	if own == 0 {
		return 0, false
	}
	last := m.now + own - worth(own) - times.Transfer
	could := 0 // number of tasks like t that the peers will have run by then
	for _, i := range m.claims {
		for p := range m.peers {
			its := times.typical(p)
			if p == m.me || its == 0 || !m.believed(i, p) {
				continue
			}
			at := max(m.tasks[i].claims[p].since+its, m.now) // time at which p completes i
			could += int(max(last-at, 0) / (its + times.Transfer))
			if end := m.until(i, p); until == 0 || end < until {
				until = end
			}
		}
	}
	if could < open {
		return 0, false
	}
	return until, true
}
