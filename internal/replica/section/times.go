package section

import (
	"slices"
	"time"
)

// Times is what a replica knows of how long the tasks of one type take, here
// and on each of its peers. Of each the last few are kept, of which the median
// counts: one task that was interrupted says nothing about the next, and a
// replica that has become slower is known to be so after three.
type Times struct {
	Transfer time.Duration // of one update; 0: not known
	of       []series      // by replica
}

// series holds the last few of a series of durations.
type series struct {
	last   [5]time.Duration
	n      int
	median time.Duration
}

// Took notes that a replica has run one in so long, from its claim to when its
// result was there.
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

// typical is how long one takes on a replica, 0 if that is not known.
func (t *Times) typical(replica int) time.Duration {
	if t == nil || replica >= len(t.of) {
		return 0
	}
	return t.of[replica].median
}

// clock tells the time here at which a peer did something from the time there:
// by the frame that took least to come, of those seen lately.
type clock struct {
	behind time.Duration // the clock there behind the one here, and what that frame took
	known  bool
	last   time.Duration // when it was compared, here
}

// drift bounds by how much clocks differ in speed, as its inverse.
const drift = 1 << 13

// compare takes in that a frame made at a time there was seen at a time here.
func (c *clock) compare(there, here time.Duration) {
	c.behind += (here - c.last) / drift
	c.last = here
	if d := here - there; !c.known || d < c.behind {
		c.behind, c.known = d, true
	}
}

// here returns the time here for one there, which was not later than now.
func (c *clock) here(there, now time.Duration) time.Duration {
	if there <= 0 || !c.known {
		return now
	}
	return min(there+c.behind, now)
}

// worth is the least that is gained by not waiting for a peer: less may be an
// error of the estimate, and peers of equal speed would both run a task.
func worth(own time.Duration) time.Duration { return own/4 + 20*time.Microsecond }

// timesOf is what is known of the type of a task, nil if nothing.
func (m *Machine) timesOf(t int) *Times {
	if m.times == nil {
		return nil
	}
	return m.times(t)
}

// until is when a claim is not believed any more. A peer that is known to be
// slower than this replica is given as much more time.
func (m *Machine) until(t, p int) time.Duration {
	times := m.timesOf(t)
	more := times.typical(p) - times.typical(m.me)
	return m.tasks[t].claims[p].since + m.patience(t) + max(more, 0)
}

// believed: peer p has claimed task t, and may still send it.
func (m *Machine) believed(t, p int) bool {
	return m.tasks[t].claims[p].since > 0 && !m.gone(p) && m.until(t, p) > m.now
}

// slower: p has claimed task t, but this replica, which has nothing else to
// do, would have it earlier.
func (m *Machine) slower(t, p int) bool {
	times := m.timesOf(t)
	own, its := times.typical(m.me), times.typical(p)
	return own > 0 && its > 0 && m.now+own+worth(own) < m.tasks[t].claims[p].since+its
}

// sooner reports whether the peers, after what they are at, will have run so
// many tasks like t before this replica could have run one; and if so when to
// look again, in case that they have not. Nobody waits for a peer that is not
// at work.
func (m *Machine) sooner(t, open int) (until time.Duration, ok bool) {
	times := m.timesOf(t)
	own := times.typical(m.me)
	if own == 0 {
		return 0, false
	}
	last := m.now + own - worth(own) - times.Transfer
	could := 0 // tasks like t that the peers will have run by then
	for _, i := range m.claims {
		for p := range m.peers {
			its := times.typical(p)
			if p == m.me || its == 0 || !m.believed(i, p) {
				continue
			}
			at := max(m.tasks[i].claims[p].since+its, m.now) // it is done with i
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
