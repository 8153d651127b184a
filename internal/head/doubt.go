package head

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// doubt is about a rank of which something may be wrong, and it is not known whose fault
// that is: its replicas have come to different things, or its program has failed.
type doubt struct {
	job.Doubt               // what was decided on last
	by        *member       // who has told of it
	times     int           // that there was one, since the rank last came further than ever
	furthest  uint64        // the safe point at which that was
	stands    bool          // the job does not go back for it
	told      *job.Doubt    // nothing is decided yet
	since     time.Duration // when that was told first
}

// storingTime is how long a doubt waits for a backup that is being stored, if there is no
// other to go back to.
const storingTime = 5 * time.Second

// doubt: a process goes no further. It tells so again until the job goes back, or ends.
func (h *Head) doubt(m *member, told *job.Doubt) {
	rank := m.process.Rank
	if h.phase != working || !m.state.there() || m.ending != nil {
		return
	}
	d := h.recovery.doubts[rank]
	if d == nil {
		if h.recovery.doubts == nil {
			h.recovery.doubts = make(map[int]*doubt)
		}
		d = new(doubt)
		h.recovery.doubts[rank] = d
	}
	if d.times > 0 && told.Generation <= d.Generation && !d.older(told) {
		if d.stands && told.Generation == d.Generation {
			h.letFail(m, told)
		}
		return
	}
	if d.told == nil || d.told.Generation != told.Generation || d.told.Below == 0 || told.Below > 0 && told.Below < d.told.Below {
		if d.told == nil {
			d.since = h.elapsed()
		}
		d.told, d.by = told, m // else something older waits to be decided on
	}
	if h.recovery.decides == nil {
		d.decide()
		h.stand(rank, "there is no backup to go back to")
		return
	}
	h.notify(news{kind: newsDoubted, process: m.process})
}

// decide: what was told is decided on now.
func (d *doubt) decide() {
	if d.told.Point > d.furthest {
		d.times, d.furthest = 0, d.told.Point
	} else if d.times > 0 && d.older(d.told) {
		d.times-- // it is of the same time
	}
	d.Doubt, d.times, d.stands, d.told = *d.told, d.times+1, false, nil
}

// doubtedStill looks again at what waits to be decided on, since there is another backup.
func (h *Head) doubtedStill() {
	for _, rank := range slices.Sorted(maps.Keys(h.recovery.doubts)) {
		if d := h.recovery.doubts[rank]; d.told != nil {
			h.recovery.events = append(h.recovery.events, news{kind: newsDoubted, process: d.by.process})
		}
	}
}

// older reports whether what is told is wrong since a safe point before that of what was
// decided on.
func (d *doubt) older(told *job.Doubt) bool {
	return told.Generation == d.Generation && told.Below > 0 && (d.Below == 0 || told.Below < d.Below)
}

// doubted decides what follows, unless the job goes back anyway: if it does not after
// all, the processes tell again. All go back to a backup from before anything was wrong,
// and nobody has to die for that. If it happens again before the rank has come further,
// one of its processes may err again and again: others take the places of them all. If
// that does not help either, the job ends. A program that fails again has done so by
// itself.
func (h *Head) doubted(rank int) []recovery.Action {
	r, d := &h.recovery, h.recovery.doubts[rank]
	back := r.decides
	switch {
	case d.told == nil || h.phase != working || h.rankEnds():
		return nil
	case back.Returning():
		return h.doubtedOnTheWay(rank)
	case d.told.Generation != back.Generation():
		return nil
	case !back.Repairable(d.told.Below) && back.Storing(d.told.Below) && h.elapsed() < d.since+storingTime:
		return nil // decided once that is complete, or told again
	}
	d.decide()
	what, _, _ := strings.Cut(d.Text, "\n")
	switch {
	case !back.Repairable(d.Below):
		h.stand(rank, h.notBack())
		return nil
	case d.times == 1 && !d.Differs():
		h.warnf("rank %d: %s: %s: a wrong result may have led to that, and the job goes back to a backup", rank, d.Kind, what)
	case d.times == 1:
		h.warnf("rank %d: %s: the job goes back to its last backup", rank, what)
	case !d.Differs():
		h.stand(rank, "")
		return nil
	case d.times > 2:
		h.stand(rank, "the job has gone back for that twice, the last time with other processes in the places of all")
		return nil
	case !back.RepairableWithout(d.Below, h.leaves(rank)):
		h.stand(rank, "the job has gone back for that once, and cannot go on with other processes in the places of all")
		return nil
	default:
		h.warnf("rank %d: %s, again: other processes take the places of all its replicas, and the job goes back to its last backup", rank, what)
		for replica := range h.config.Degrees[rank] {
			if o := h.places[job.Process{Rank: rank, Replica: replica}]; o != nil && (o.state == running || o.state == finished) {
				h.fence(o, ending{job.CauseFenced, fmt.Sprintf("what its rank has come to by safe point %d differs from that of another replica", d.Point)})
			}
		}
		return back.Doubt(rank, d.Below, true, h.elapsed())
	}
	if len(r.losses) == 0 {
		r.lossAt = h.elapsed()
	}
	return back.Doubt(rank, d.Below, false, h.elapsed())
}

// doubtedOnTheWay: the job goes back already, perhaps to a backup that is not from before
// what is wrong. Nobody tells of that again: it was in the generation that is over.
func (h *Head) doubtedOnTheWay(rank int) []recovery.Action {
	d, back := h.recovery.doubts[rank], h.recovery.decides
	if d.told.Below == 0 || back.Before(d.told.Below) {
		return nil
	}
	d.Doubt, d.times, d.told = *d.told, max(d.times, 1), nil
	if !back.Repairable(d.Below) {
		h.stop(ExitDiverged, fmt.Sprintf("silent corruption of rank %d: %s, and %s", rank, d.Text, h.notBack()), byWord)
		return nil
	}
	what, _, _ := strings.Cut(d.Text, "\n")
	h.warnf("rank %d: %s: the job goes back to an older backup", rank, what)
	return back.Doubt(rank, d.Below, false, h.elapsed())
}

// notBack says why the job cannot go back for what is in doubt.
func (h *Head) notBack() string {
	switch {
	case h.state.Backups == 0:
		return "there is no backup to go back to"
	case h.recovery.decides.Repairable(0):
		return "there is no backup to go back to from before that"
	}
	return "there is no backup to go back to of which it is known that nothing is wrong in it"
}

// stand: the job does not go back for what is in doubt about a rank. The states of a rank
// end it then; a program that has failed fails.
func (h *Head) stand(rank int, why string) {
	d := h.recovery.doubts[rank]
	if d.stands = true; d.Kind == "" {
		h.stop(ExitDiverged, fmt.Sprintf("silent corruption of rank %d: %s, and %s", rank, d.Text, why), byWord)
		return
	}
	if why != "" {
		h.detailf("rank %d: %s, and %s", rank, d.Kind, why)
	}
	h.letFail(d.by, &d.Doubt)
}

// letFail has a process, whose program has failed, say so and end.
func (h *Head) letFail(m *member, d *job.Doubt) {
	if d.Kind != "" {
		h.send(m, &job.Message{Kind: job.KindOrder, Order: &job.Order{Kind: job.OrderFail, Generation: d.Generation}})
	}
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
