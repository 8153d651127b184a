package head

import (
	"fmt"
	"slices"
	"time"

	"github.com/intrahpc/intra/internal/job"
)

// linkDoubt is the report of a process (of) that its link to another one (about) has ended.
type linkDoubt struct {
	of, about *member
	text      string
	since     time.Duration // the first report since the link was last restored
	until     time.Duration // until then the head waits for a replacement
}

// suspect handles a report of m that its link to p, in that incarnation, has ended without
// a verdict on p.
func (h *Head) suspect(m *member, p job.Process, incarnation uint32, text string) {
	other := h.places[p]
	if other == nil || other == m || other.incarnation != incarnation {
		return
	}
	h.detailf("%v has lost its link to %v: %s", m.process, p, text)
	d := linkDoubt{of: m, about: other, text: text, since: h.now, until: h.now + replaceTime}
	if i := slices.IndexFunc(h.doubts, d.sameLink); i >= 0 {
		d.since = h.doubts[i].since
	}
	h.trust(m, other)
	h.doubts = append(h.doubts, d)
	h.after(suspectAfter, timer{kind: judgeLink, link: d})
}

// mended handles a report of m that its link to p has a connection again.
func (h *Head) mended(m *member, p job.Process) {
	h.detailf("%v has restored its link to %v", m.process, p)
	if other := h.places[p]; other != nil {
		h.trust(m, other)
	}
}

func (h *Head) trust(m, other *member) {
	h.doubts = slices.DeleteFunc(h.doubts, linkDoubt{of: m, about: other}.sameLink)
}

// sameLink reports whether two doubts come from one process and are about one link.
func (d linkDoubt) sameLink(o linkDoubt) bool { return o.of == d.of && o.about == d.about }

// judge fences one end of a broken link, unless an end is dying anyway.
//
// If the host of an end may be lost, judge waits for that to be decided: the end on the
// other host would be the wrong one to kill. If both ends are the last replicas of their
// ranks, judge fences one that the job can lose, since a backup replaces it. Otherwise it
// waits if one of the ranks gets a second replica soon; else the job ends. It also waits
// while a decision of recovery is being kept, since that may change the answer.
func (h *Head) judge(d linkDoubt) {
	m, other := d.of, d.about
	if h.phase != working || !m.state.there() || !other.state.there() || m.ending != nil || other.ending != nil {
		return
	}
	// A link that was restored, and has ended again, is judged later.
	if !slices.ContainsFunc(h.doubts, func(o linkDoubt) bool { return o.sameLink(d) && o.since == d.since }) {
		return
	}
	// A stopped process does not answer on its links; isStopped decides about it.
	v := h.victim(m, other)
	if v == nil {
		v = h.expendable(m, other)
	}
	if h.doubtful(m) || h.doubtful(other) || h.stoppedNow(m) || h.stoppedNow(other) ||
		v == nil && (h.recovery.keeping || h.filling(m.process.Rank, other.process.Rank) && h.now < d.until) {
		h.after(suspectAfter, timer{kind: judgeLink, link: d})
		return
	}
	if v == nil {
		h.stop(ExitLost, fmt.Sprintf("the link between %v and %v broke (%s), and neither has another replica", m.process, other.process, d.text), byWord)
		return
	}
	h.fence(v, ending{job.CauseLink, fmt.Sprintf("the link between %v and %v broke: %s", m.process, other.process, d.text)})
}

func (h *Head) doubtful(m *member) bool {
	return h.config.Doubtful != nil && h.config.Doubtful(m.from.Node)
}

// isStopped handles the report that a process has been stopped for d. It fences the process
// if another replica of its rank runs and would have to wait for it.
func (h *Head) isStopped(m *member, d time.Duration) {
	m.stopped = h.now
	if d < fenceAfter || !m.state.there() || m.ending != nil || h.phase == over {
		return
	}
	for _, peer := range h.all {
		if peer.process.Rank == m.process.Rank && peer != m && peer.role == First && peer.state.there() && peer.ending == nil && !h.stoppedNow(peer) {
			h.fence(m, ending{job.CauseFenced, fmt.Sprintf("stopped for %.1f s while %v was running", d.Seconds(), peer.process)})
			return
		}
	}
}
