package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// linkDoubt is the report of one process (of) that its link to another one (about) has ended.
type linkDoubt struct {
	of, about *member
	text      string
	since     time.Duration // when the link was first reported as broken since it was last restored
	until     time.Duration // end of the wait for a second replica of one of the ranks
}

// suspect handles a report of m: its link to that incarnation of p has ended without a verdict on
// p.
func (j *judge) suspect(m *member, p job.Process, incarnation uint32, text string) {
	other := j.members.holder(p, incarnation)
	if other == nil || other == m || other.role == Spare || other.state >= dead {
		return
	}
	j.detailf("%v has lost its link to %v: %s", m.process, p, text)
	d := linkDoubt{of: m, about: other, text: text, since: j.now, until: j.now + replaceTime}
	if i := slices.IndexFunc(j.links, d.sameLink); i >= 0 {
		d.since = j.links[i].since
	}
	j.trust(m, other)
	j.links = append(j.links, d)
	j.after(suspectAfter, timer{kind: judgeLink, link: d})
}

// mended handles a report of m that its link to p is connected again.
func (j *judge) mended(m *member, p job.Process, incarnation uint32) {
	j.detailf("%v has restored its link to %v", m.process, p)
	if other := j.members.holder(p, incarnation); other != nil {
		j.trust(m, other)
	}
}

func (j *judge) trust(m, other *member) {
	j.links = slices.DeleteFunc(j.links, linkDoubt{of: m, about: other}.sameLink)
}

// sameLink reports whether two reports come from one process and are about one link.
func (d linkDoubt) sameLink(o linkDoubt) bool { return o.of == d.of && o.about == d.about }

// broken counts the reports that a link of m is broken.
func (j *judge) broken(m *member) (n int) {
	for _, d := range j.links {
		if d.of == m || d.about == m {
			n++
		}
	}
	return n
}

// judge fences one end of a broken link, unless an end is dying anyway.
//
// If the host of an end may be lost, judge waits for that decision: to kill the end on the
// other host would be wrong. If both ends are the last replicas of their ranks, judge fences
// an end that the job can lose, since a backup replaces it. If there is no such end, it waits
// if one of the ranks gets a second replica soon; else the job ends. It also waits while a
// decision of recovery is being kept, since that may change the answer.
func (j *judge) judge(d linkDoubt) {
	m, other := d.of, d.about
	if j.phase != working || !m.state.there() || !other.state.there() || m.ending != nil || other.ending != nil {
		return
	}
	// A link that was restored and has ended again is judged later.
	if !slices.ContainsFunc(j.links, func(o linkDoubt) bool { return o.sameLink(d) && o.since == d.since }) {
		return
	}
	// A stopped process does not answer on its links; isStopped decides about it.
	v := j.victim(m, other)
	if v == nil {
		v = j.plan.expendable(m, other)
	}
	if j.doubtful(m) || j.doubtful(other) || j.stoppedNow(m) || j.stoppedNow(other) ||
		v == nil && (j.recovery.keeping || j.members.filling(m.process.Rank, other.process.Rank) && j.now < d.until) {
		j.after(suspectAfter, timer{kind: judgeLink, link: d})
		return
	}
	if v == nil {
		j.stop(ExitLost, fmt.Sprintf("the link between %v and %v broke (%s), and neither has another replica", m.process, other.process, d.text), byWord)
		return
	}
	j.fence(v, ending{job.CauseLink, fmt.Sprintf("the link between %v and %v broke: %s", m.process, other.process, d.text)})
}

// isStopped handles the report that a process has been stopped for d. It fences the process
// if another replica of its rank runs and would have to wait for it.
func (j *judge) isStopped(m *member, d time.Duration) {
	m.stopped = j.now
	if d < fenceAfter || !m.state.there() || m.ending != nil || j.phase == over {
		return
	}
	for _, peer := range j.members.all {
		if peer.process.Rank == m.process.Rank && peer != m && peer.role == First && peer.state.there() && peer.ending == nil && !j.stoppedNow(peer) {
			j.fence(m, ending{job.CauseFenced, fmt.Sprintf("stopped for %.1f s while %v was running", d.Seconds(), peer.process)})
			return
		}
	}
}

// victim chooses which end of a broken link has to die. It prefers a joiner, since no process
// needs it yet. If the job can lose either end, it chooses the one with more broken links, since
// that end may be cut off from all others. Otherwise it chooses the end whose rank has more live
// replicas, and of two equals the higher one. It returns nil if both ends are the last of their
// ranks: a suspicion never kills those.
func (j *judge) victim(p, q *member) *member {
	if p.process.Compare(q.process) > 0 {
		p, q = q, p
	}
	if p.coming() {
		return p
	}
	if q.coming() {
		return q
	}
	a, b := j.members.alive(p.process.Rank), j.members.alive(q.process.Rank)
	if x, y := j.broken(p), j.broken(q); a > 1 && b > 1 && x != y {
		if x > y {
			return p
		}
		return q
	}
	switch {
	case a <= 1 && b <= 1:
		return nil
	case a > b:
		return p
	}
	return q
}
