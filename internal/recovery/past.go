package recovery

import (
	"fmt"
	"time"

	"github.com/intrahpc/intra/internal/checkpoint"
	"github.com/intrahpc/intra/internal/job"
)

// Past is what a Head has decided that another one needs which takes its
// place, beside the deaths and who has finished. It is for jobs in which nobody
// was replaced so far.
type Past struct {
	Cut    uint64 `json:"cut"`              // the last one that all were to leave
	Backup uint64 `json:"backup,omitempty"` // the planned one for a backup, 0: none
	Files  uint64 `json:"files,omitempty"`  // and for files
	Number uint64 `json:"number"`           // of the next set of files
	Set    uint64 `json:"set,omitempty"`    // that is being written, 0: none
	At     uint64 `json:"at,omitempty"`     // the cut of that set
	Savers []int  `json:"savers,omitempty"` // which replica of each rank writes it

	// Whole are the files of Set once every rank has its own.
	Whole []checkpoint.File `json:"-"`
}

// Death is that of a process which was there from the beginning.
type Death struct {
	Process job.Process
	Itself  bool // it ended without being killed, so another one in its place would do the same
}

// Fate is what has become of the processes of a job whose head was lost.
type Fate struct {
	Dead     []Death       // in the order of the verdicts
	Finished []job.Process // in which the program has returned
	Through  []job.Process // of these, the ones of whose messages nobody lacks any
}

// past is that of this head.
func (h *Head) past(cut uint64) *Past {
	p := &Past{Cut: cut, Backup: h.backupAt, Files: h.filesAt, Number: h.set, Set: h.saving.set, At: h.saving.cut}
	for _, w := range h.saving.writers {
		p.Savers = append(p.Savers, w.process.Replica)
	}
	return p
}

// Resume returns the decisions for a job whose head was lost, and what is to be
// done at once. p is what was kept last, its zero value if nothing was. What processes have told the lost head
// they say again after this; what they hear again they have to ignore. Whether a
// process has written its file that has died since is not known, so that set is
// given up; nor is who holds backups, so the job goes back to none of them.
func Resume(c Config, p Past, f Fate, now time.Duration) (*Head, []Action) {
	h := NewHead(c)
	h.heir = true
	h.begin(now)
	if p.Cut > 0 {
		h.backupAt, h.filesAt, h.set = p.Backup, p.Files, p.Number
		h.next = earlier(h.backupAt, h.filesAt)
		h.rate.left(p.Cut, h.now)
		for s := range h.each(live) {
			s.safe = true
		}
	}
	if p.Set > 0 {
		h.saving = saving{set: p.Set, cut: p.At, files: make([]checkpoint.File, len(c.Degrees))}
		for rank, replica := range p.Savers {
			s := h.of[job.Process{Rank: rank, Replica: replica}]
			h.saving.writers = append(h.saving.writers, holder{process: s.process, birth: s.birth})
		}
		if p.Whole != nil {
			h.saving.whole, h.saving.files = true, p.Whole
			h.acts = append(h.acts, h.saving.publish())
		}
	}
	for _, d := range f.Dead {
		for _, w := range h.saving.writers {
			if w.process == d.Process {
				h.abandon(fmt.Sprintf("%v has died, and whether its file was written is lost with the head", d.Process))
				break
			}
		}
	}
	acts := h.acts
	for _, t := range f.Through {
		h.through[t.Rank] = true
	}
	for _, d := range f.Dead {
		acts = append(acts, h.Died(d.Process, h.of[d.Process].birth, d.Itself, now)...)
	}
	h.begin(now)
	if p.Cut > 0 {
		o := job.Order{Kind: job.OrderGo, Number: p.Cut, Next: h.next}
		if p.At == p.Cut {
			o.Set = p.Set
			for rank, replica := range p.Savers {
				o.Savers = append(o.Savers, job.Process{Rank: rank, Replica: replica})
			}
		}
		h.tell(live, o)
	}
	if len(f.Finished) > 0 { // after that, since some may still have to leave the cut
		h.cease()
	}
	return h, append(acts, h.acts...)
}

// End says that the set is complete or given up.
func (p *Past) End(set uint64) {
	if p.Set == set {
		p.Set, p.At, p.Savers, p.Whole = 0, 0, nil, nil
	}
}

// Fits reports whether p can be of a job with these degrees.
func (p *Past) Fits(degrees []int) bool {
	if p.Set == 0 {
		return len(p.Savers) == 0
	}
	for rank, replica := range p.Savers {
		if rank >= len(degrees) || replica < 0 || replica >= degrees[rank] {
			return false
		}
	}
	return len(p.Savers) == len(degrees)
}
