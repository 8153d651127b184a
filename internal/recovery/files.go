package recovery

import (
	"fmt"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Files says how often the state of the job is put into files. Its zero value
// does so never.
type Files struct {
	Every uint64 // safe points from one set of files to the next
	First uint64 // number of the first set
}

// saving is the set that is being written: by one process of each rank, and
// then, once every rank has its file, by the head, which makes it complete.
type saving struct {
	set     uint64 // 0: none
	cut     uint64
	writers []holder // rank by rank; stored: its file is written
	files   []checkpoint.File
	whole   bool // every rank has its file
}

// save plans the files of the cut that is being left. While the set before is
// still being written there are none.
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

// saved: a process has written its file, or could not.
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

// abandon gives up the set that is being written.
func (h *Head) abandon(why string) {
	if h.saving.set == 0 || h.saving.whole {
		return
	}
	h.acts = append(h.acts, Action{Kind: Abandon, Set: h.saving.set, Why: why})
	h.saving = saving{}
}

// writerDeath: a process has died, perhaps in the middle of its file.
func (h *Head) writerDeath(p job.Process, incarnation uint32) {
	for _, w := range h.saving.writers {
		if w.process == p && w.incarnation == incarnation && !w.stored {
			h.abandon(fmt.Sprintf("%v has died before its file was written", p))
			return
		}
	}
}

// Published says that the head has made the set complete, or could not.
func (h *Head) Published(set uint64) {
	if h.saving.set == set {
		h.saving = saving{}
	}
}
