package recovery

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Files says how often the job writes its state to files. The zero value writes none.
type Files struct {
	Every uint64 // safe points from one set of files to the next
	First uint64 // number of the first set
}

// saving is the set that is being written. One process of each rank writes a file; once
// every rank has its file, the head makes the set complete.
type saving struct {
	set     uint64 // 0: none
	cut     uint64
	writers []holder // by rank; stored: its file is written
	files   []checkpoint.File
	whole   bool // every rank has its file
}

// save plans the files of the cut that is being left. It plans none while the previous
// set is still being written.
func (h *Head) save(number uint64) (set uint64, savers []job.Process) {
	if h.saving.set != 0 {
		return 0, nil
	}
	s := saving{set: h.set, cut: number, files: make([]checkpoint.File, len(h.config.Degrees))}
	for rank := range h.config.Degrees {
		source := h.source(rank)
		if source == nil {
			return 0, nil
		}
		s.writers = append(s.writers, holder{process: source.process, incarnation: source.incarnation})
		savers = append(savers, source.process)
	}
	h.saving = s
	h.set++
	return s.set, savers
}

// saved records that a process has written its file, or abandons the set if it could not.
func (h *Head) saved(s *replica, r job.Reply) {
	if r.Set == 0 || r.Set != h.saving.set || h.saving.whole {
		return
	}
	w := &h.saving.writers[s.process.Rank]
	switch {
	case w.process != s.process || w.incarnation != s.incarnation:
	case r.File == nil:
		h.abandon(r.Text)
	default:
		w.stored, h.saving.files[s.process.Rank] = true, *r.File
		h.saving.files[s.process.Rank].Rank = s.process.Rank
		for _, w := range h.saving.writers {
			if !w.stored {
				return
			}
		}
		h.saving.whole = true
		h.acts = append(h.acts, h.saving.publish())
	}
}

func (s *saving) publish() Action {
	return Action{Kind: Publish, Set: s.set, Cut: s.cut, Files: s.files}
}

// abandon abandons the set that is being written.
func (h *Head) abandon(why string) {
	if h.saving.set == 0 || h.saving.whole {
		return
	}
	h.acts = append(h.acts, Action{Kind: Abandon, Set: h.saving.set, Why: why})
	h.saving = saving{}
}

// writerDeath abandons the set if a process has died before its file was written.
func (h *Head) writerDeath(p job.Process, incarnation uint32) {
	for _, w := range h.saving.writers {
		if w.process == p && w.incarnation == incarnation && !w.stored {
			h.abandon(fmt.Sprintf("%v has died before its file was written", p))
			return
		}
	}
}

// Published reports that the head has made the set complete, or has failed to.
func (h *Head) Published(set uint64) {
	if h.saving.set == set {
		h.saving = saving{}
	}
}
