package head

import (
	"fmt"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// difference is about a rank whose replicas have different states, where it is not known
// whose is right.
type difference struct {
	job.Apart            // what was decided on last
	times     int        // that they differed, since the rank last came further than ever
	told      *job.Apart // nothing is decided yet
}

// apart: a process goes no further since the states of the replicas of its rank differ.
func (h *Head) apart(m *member, a *job.Apart) {
	rank := m.process.Rank
	if h.phase != working || !m.state.there() || m.ending != nil {
		return
	}
	d := h.recovery.apart[rank]
	if d == nil {
		if h.recovery.apart == nil {
			h.recovery.apart = make(map[int]*difference)
		}
		d = new(difference)
		h.recovery.apart[rank] = d
	}
	if d.times > 0 && a.Generation <= d.Generation {
		return
	}
	if d.told = a; h.recovery.decides == nil {
		d.decide()
		h.unrepairable(rank, "there is no backup to go back to")
		return
	}
	h.notify(news{kind: newsDoubted, process: m.process})
}

// decide: what was told is decided on now.
func (d *difference) decide() {
	if d.told.Point > d.Point {
		d.times = 0
	}
	d.Apart, d.times, d.told = *d.told, d.times+1, nil
}

// doubted decides what follows, unless the job goes back anyway: if it does not after
// all, the processes tell again. All go back to the last backup, at which the states were
// alike, and nobody has to die for that. If they differ again before the rank has come
// further, one of its processes may err again and again: others take the places of them
// all. If that does not help either, the job ends.
func (h *Head) doubted(rank int) []recovery.Action {
	r, d := &h.recovery, h.recovery.apart[rank]
	back := r.decides
	if d.told == nil || h.phase != working || d.told.Generation != back.Generation() || back.Returning() || h.rankEnds() {
		return nil
	}
	d.decide()
	switch {
	case !back.Standing():
		h.unrepairable(rank, "there is no backup to go back to")
	case d.times == 1:
		h.warnf("rank %d: %s: the job goes back to its last backup", rank, d.Text)
		if len(r.losses) == 0 {
			r.lossAt = h.elapsed()
		}
		return back.Doubt(rank, h.elapsed())
	case d.times > 2:
		h.unrepairable(rank, "the job has gone back for that twice, the last time with other processes in the places of all")
	case !h.returns(rank):
		h.unrepairable(rank, "the job has gone back for that once, and cannot go on with other processes in the places of all")
	default:
		h.warnf("rank %d: %s, again: other processes take the places of all its replicas, and the job goes back to its last backup", rank, d.Text)
		for replica := range h.config.Degrees[rank] {
			if o := h.places[job.Process{Rank: rank, Replica: replica}]; o != nil && (o.state == running || o.state == finished) {
				h.fence(o, ending{job.CauseFenced, fmt.Sprintf("its state differs from that of another replica at safe point %d", d.Point)})
			}
		}
	}
	return nil
}

// unrepairable ends the job for the states of a rank.
func (h *Head) unrepairable(rank int, why string) {
	h.stop(ExitDiverged, fmt.Sprintf("silent corruption of rank %d: %s, and %s", rank, h.recovery.apart[rank].Text, why), byWord)
}

// rankEnds: all replicas of a rank are about to end, or have, and it is not done without.
func (h *Head) rankEnds() bool {
	for rank := range h.config.Degrees {
		lasting := h.state.Drained[rank]
		for replica := range h.config.Degrees[rank] {
			o := h.places[job.Process{Rank: rank, Replica: replica}]
			lasting = lasting || o != nil && o.ending == nil && o.alive()
		}
		if !lasting {
			return true
		}
	}
	return false
}
