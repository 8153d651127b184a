package recovery

import (
	"fmt"
	"slices"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Files sets how often the job writes its state to files. The zero value means never.
type Files struct {
	Every uint64 // safe points from one set of files to the next
	First uint64 // number of the first set
}

// saving is the set that is being written. One process of each rank writes a file; once
// every rank has its file, the head makes the set complete.
type saving struct {
	set     uint64 // its number; 0: none
	cut     uint64
	writers []holder // by rank; stored means that the file is written
	files   []checkpoint.File
	whole   bool // every rank has written its file
}

// sets orders processes to write sets of files, one after another.
type sets struct {
	*desk
	replicas *replicas
	saving   saving
	set      uint64   // the number of the next set of files
	last     bool     // one more set is to be written at the next safe point
	done     []uint64 // the cuts of the last sets that this head has made complete
}

// save plans the files of the cut that is being left. It plans none while the previous
// set is still being written.
func (st *sets) save(number uint64) (set uint64, savers []job.Process) {
	if st.saving.set != 0 {
		return 0, nil
	}
	s := saving{set: st.set, cut: number, files: make([]checkpoint.File, len(st.config.Degrees))}
	for rank := range st.config.Degrees {
		source := st.replicas.source(rank)
		if source == nil {
			return 0, nil
		}
		s.writers = append(s.writers, holder{process: source.process, incarnation: source.incarnation})
		savers = append(savers, source.process)
	}
	st.saving = s
	st.set++
	return s.set, savers
}

// saved records that a process has written its file, or abandons the set if it could not.
func (st *sets) saved(s *replica, r job.Reply) {
	if r.Set == 0 || r.Set != st.saving.set || st.saving.whole {
		return
	}
	w := &st.saving.writers[s.process.Rank]
	switch {
	case w.process != s.process || w.incarnation != s.incarnation:
	case r.File == nil:
		st.abandon(r.Text)
	default:
		w.stored, st.saving.files[s.process.Rank] = true, *r.File
		st.saving.files[s.process.Rank].Rank = s.process.Rank
		for _, w := range st.saving.writers {
			if !w.stored {
				return
			}
		}
		st.saving.whole = true
		st.acts = append(st.acts, st.saving.publish())
	}
}

// writing reports whether a process has yet to write its file of the set.
func (st *sets) writing(s *replica) bool {
	return slices.ContainsFunc(st.saving.writers, func(w holder) bool {
		return w.process == s.process && w.incarnation == s.incarnation && !w.stored
	})
}

func (s *saving) publish() Action {
	return Action{Kind: Publish, Set: s.set, Cut: s.cut, Files: s.files}
}

// abandon abandons the set that is being written.
func (st *sets) abandon(why string) {
	if st.saving.set == 0 || st.saving.whole {
		return
	}
	st.acts = append(st.acts, Action{Kind: Abandon, Set: st.saving.set, Why: why})
	st.saving = saving{}
}

// writerDeath abandons the set if a process has died before its file was written.
func (st *sets) writerDeath(p job.Process, incarnation uint32) {
	for _, w := range st.saving.writers {
		if w.process == p && w.incarnation == incarnation && !w.stored {
			st.abandon(fmt.Sprintf("%v has died before its file was written", p))
			return
		}
	}
}

// Published reports whether the driver has completed the set.
func (st *sets) Published(set uint64, complete bool) {
	if st.saving.set != set {
		return
	}
	if complete {
		st.done = append(st.done, st.saving.cut)
		st.done = st.done[max(0, len(st.done)-checkpoint.KeptSets):]
	}
	st.saving = saving{}
}

// resumeFiles continues with the set of files that was being written under the lost head.
func (st *sets) resumeFiles(p *Snapshot) {
	if p.Set == 0 {
		return
	}
	st.saving = saving{set: p.Set, cut: p.At, files: make([]checkpoint.File, len(st.config.Degrees))}
	for _, q := range p.savers() {
		st.saving.writers = append(st.saving.writers, holder{process: q, incarnation: p.place(q).Incarnation})
	}
	if p.Whole != nil {
		st.saving.whole, st.saving.files = true, p.Whole
		st.acts = append(st.acts, st.saving.publish())
	} else if p.Torn != nil {
		st.abandon(fmt.Sprintf("%v has died, and whether its file was written is lost with the head", *p.Torn))
	}
}
