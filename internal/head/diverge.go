package head

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/head/stuck"
	"github.com/intrahpc/intra/internal/job"
)

// watched handles the differences between states of replicas that a process reports. The
// process first reports that hashes differ (Known). Once the values are compared, it reports
// how they differ.
func (j *judge) watched(m *member) {
	w := m.stats.Watched
	if w == nil {
		return
	}
	if w.Differed != "" {
		j.differed(m.process.Rank, w.Differed, foundBy(m, w.Differed))
	}
	if w.Known != "" {
		j.undescribed(m.process.Rank)
	}
}

// differed handles a difference between replicas of a rank. The job ends with the text whole.
// With -diverge warn, the user gets one warning for each rank instead.
func (j *judge) differed(rank int, text, whole string) {
	if j.diverged[rank] == "" {
		j.diverged[rank] = text
		if j.config.Setup.Diverge == job.DivergeWarn {
			j.warnf("warning: replicas diverged: %s", text)
		}
	}
	if j.config.Setup.Diverge == job.DivergeStrict {
		j.stop(ExitDiverged, whole, byWord)
	}
}

// standApart handles replicas that have taken different courses, so that one of them can never
// go on. It reports whether the job ends. With -sdc the job goes on: verification finds the
// wrong replica.
func (j *judge) standApart(a *stuck.Apart) bool {
	if d := j.config.Setup.Diverge; j.phase != working || j.config.Setup.Verify != nil || d != job.DivergeStrict && d != job.DivergeWarn {
		return false
	}
	rank, text := a.Process.Rank, fmt.Sprintf("%s: %s", a.Text, job.DivergeAdvice(j.config.Setup.Check))
	j.differed(rank, text, fmt.Sprintf("divergence of replicas of rank %d: %s", rank, text))
	return j.phase != working
}

func foundBy(m *member, text string) string {
	return fmt.Sprintf("divergence, found by %v: %s", m.process, text)
}

// undescribed handles a difference of hashes if no process of the rank can compare values any
// more. That is so if the processes that know of the difference are dead or have finished, or
// if the job rolls back. It reports whether there is such a difference.
func (j *judge) undescribed(rank int) bool {
	first := j.knows(rank)
	if first == nil || slices.ContainsFunc(j.members.all, func(m *member) bool {
		_, counts := j.recovery.generation(m)
		return m.process.Rank == rank && m.knows() && m.state.there() && m.state != finished && counts
	}) {
		return false
	}
	why := "the job rolled back before values were compared"
	switch {
	case first.state == finished:
		why = fmt.Sprintf("the program has returned on %v", first.process)
	case !first.state.there():
		why = fmt.Sprintf("%v died before values were compared", first.process)
	}
	text := j.known(first, why)
	j.differed(rank, text, foundBy(first, text))
	return true
}

// undescribedAnywhere calls undescribed for every rank, and reports whether the job ends
// because a rank has such a difference.
func (j *judge) undescribedAnywhere() (any bool) {
	for rank := range j.config.Degrees {
		any = j.undescribed(rank) || any
	}
	return any && j.phase == over
}

// knows returns the first process of a rank that has reported a difference of hashes. It returns
// nil if there is none, or if the difference has been handled.
func (j *judge) knows(rank int) *member {
	if i := slices.IndexFunc(j.members.all, func(m *member) bool { return m.process.Rank == rank && m.knows() }); i >= 0 && j.diverged[rank] == "" {
		return j.members.all[i]
	}
	return nil
}

// known returns the text about a difference of hashes, and why values were not compared.
func (j *judge) known(m *member, why string) string {
	return fmt.Sprintf("%s, since %s: %s", m.stats.Watched.Known, why, job.DivergeAdvice(j.config.Setup.Check))
}

// orDiverged returns the outcome of a job that is about to end with error o. If a difference of
// hashes is known, divergence is the likelier cause and becomes the outcome.
func (j *judge) orDiverged(o outcome) outcome {
	if j.config.Setup.Diverge != job.DivergeStrict || j.retired || o.code != ExitFailed && o.code != ExitLost {
		return o
	}
	for rank := range j.config.Degrees {
		if m := j.knows(rank); m != nil {
			j.diverged[rank] = j.known(m, fmt.Sprintf("the job ended before values were compared (%s)", o.text))
			return outcome{code: ExitDiverged, text: foundBy(m, j.diverged[rank])}
		}
	}
	return o
}

// divergence returns the report's section about divergence, or nil if no states were compared.
func (j *judge) divergence() *runreport.Diverge {
	mode := j.config.Setup.Diverge
	if mode == "" || mode == job.DivergeOff || j.config.Setup.Verify != nil || !slices.ContainsFunc(j.config.Degrees, func(d int) bool { return d > 1 }) {
		return nil
	}
	d := &runreport.Diverge{Mode: string(mode), Differed: []string{}}
	for _, m := range j.members.all {
		if w := m.stats.Watched; w != nil {
			d.Hashes, d.Compared, d.Seconds = d.Hashes+w.Hashes, d.Compared+w.Compared, d.Seconds+w.Seconds
		}
	}
	for rank := range j.config.Degrees {
		if text := j.diverged[rank]; text != "" {
			d.Differed = append(d.Differed, text)
		}
	}
	return d
}

// compare ends the job if m, which has finished, has diverged. It compares the sections of m
// with those of the other finished replicas of its rank. It also compares the count of safe
// points of m with those of finished processes of other ranks, if one of the two was restored.
func (j *judge) compare(m *member) {
	for other := range j.members.replicas(m.process.Rank) {
		if other == m || !other.final || !other.done { // a replica that has finished and died later counts, too
			continue
		}
		if how := m.stats.Diverged(&other.stats); how != "" {
			j.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v: %s", m.process, other.process, how), byWord)
			return
		}
	}
	for _, p := range job.Processes(j.config.Degrees) {
		other := j.members.places[p]
		if p.Rank == m.process.Rank || other == nil || !other.final || j.state.Places[p].Status != decision.Done {
			continue
		}
		if how := m.stats.Apart(&other.stats); how != "" {
			j.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v: %s", m.process, p, how), byWord)
			return
		}
	}
}

// divergedBefore ends the job if the sections that m ran before a cut differ from those of another
// replica of its rank. It reports whether it has ended the job.
func (j *judge) divergedBefore(m *member, r *job.Reply) bool {
	m.cut = r
	for other := range j.members.replicas(m.process.Rank) {
		if other == m || !other.alive() || other.cut == nil || other.cut.Number != r.Number || other.cut.Generation != r.Generation {
			continue
		}
		how := "their sections had different tasks, shapes or arguments"
		if o := other.cut; o.Sections == r.Sections && o.Signature == r.Signature {
			continue
		} else if o.Sections != r.Sections {
			how = fmt.Sprintf("the first left %d sections, the second %d", r.Sections, o.Sections)
		}
		j.stop(ExitDiverged, fmt.Sprintf("divergence of %v and %v at safe point %d: %s", m.process, other.process, r.Number, how), byWord)
		return true
	}
	return false
}

// differs handles a difference between the outputs of replicas of a rank. In checked mode the
// job ends. Otherwise the user is warned: the difference may be harmless, such as a printed
// time.
func (j *judge) differs(e Differs) {
	if j.differing[e.Rank] {
		return
	}
	j.differing[e.Rank] = true
	if j.config.Setup.Check {
		j.stop(ExitDiverged, fmt.Sprintf("divergence of replicas of rank %d: %s", e.Rank, e.Text), byWord)
		return
	}
	j.warnf("warning: %s: %s. Output must depend neither on such things (let intra.Once read them) nor on p.Replica() nor, in a job that rolls back, on the order of messages", e.Text, job.DivergeAdvice(false))
}
