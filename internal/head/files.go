package head

import (
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file is the head's part in checkpoint files. The first process that joins tells which
// job the files have to belong to. Then the driver looks for them. All processes wait for
// their slots until the result is kept.

// unopened reports whether the files that the job begins with are still unknown.
func (h *Head) unopened() bool { return h.config.readsFiles() && h.state.Opened == nil }

// open has the driver look for files.
func (h *Head) open(hello *job.Hello) {
	if !h.opening {
		h.opening = true
		h.act(Open{hello.Files(len(h.config.Degrees))})
	}
}

// opened handles the driver's result.
func (h *Head) opened(e Opened) {
	if h.phase != joining {
		return
	}
	if e.Err != "" { // the processes still wait for their slots, and have done nothing wrong
		h.stop(ExitRefused, "the job is refused: "+strings.ReplaceAll(e.Err, "\n", "; "), atOnce)
		return
	}
	if r := e.Found.Restart; r != nil {
		for _, why := range r.Refused {
			h.warnf("warning: %s", why)
		}
	}
	h.propose(decision.Entry{Kind: decision.Opened, Opened: e.Found})
}

// foundFolders acts on the kept result: the processes that have joined get their slots.
func (h *Head) foundFolders() {
	if r := h.state.Opened.Restart; r != nil {
		of := ""
		if r.Job.Run != "" {
			of = ", of the job begun " + checkpoint.Begun(r.Job.Run)
		}
		h.warnf("the job continues from safe point %d, set %d of %s%s", r.Cut, r.Number, r.Dir, of)
		if r.Rebuilt {
			h.warnf("warning: the program was built anew since set %d was written: its state must mean the same", r.Number)
		}
	}
	if h.phase != joining {
		return
	}
	if h.config.recovers() {
		h.recovery.decides = recovery.NewHead(h.plan())
		for _, v := range h.state.Verdicts {
			h.died(h.holder(v.Process, v.Incarnation))
		}
	}
	for _, m := range h.all {
		if m.state == joined {
			h.assign(m)
		}
	}
	h.startIfReady()
}

// describeFiles adds the files to the Setup of a process.
func (h *Head) describeFiles(s *job.Setup) {
	f := h.state.Opened
	if f == nil {
		return
	}
	if s.Files = f.Write; !s.Joiner && f.Restart != nil {
		s.Restart = f.Restart.Setup()
	}
}

// keepSet has the decision kept that every rank has its file of a set. The set is made
// complete after that.
func (h *Head) keepSet(a recovery.Action) {
	if s := h.set(a.Set); s != nil { // an earlier head has done so
		h.publish(s)
		return
	}
	h.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})
}

// set returns the kept knowledge about a set, nil if there is none.
func (h *Head) set(number uint64) *decision.Set {
	for i := range h.state.Sets {
		if h.state.Sets[i].Number == number {
			return &h.state.Sets[i]
		}
	}
	return nil
}

// publish has the driver make a set complete in the background. The job does not end
// before that is done.
func (h *Head) publish(s *decision.Set) {
	h.publishing++
	f := h.state.Opened.Write
	h.act(Publish{Dir: f.Dir, Set: &checkpoint.Set{Job: f.Job, Number: s.Number, Cut: s.Cut, Files: s.Files}})
}

// published handles the result: the set is complete, or could not be completed.
func (h *Head) published(e Published) {
	h.publishing--
	if e.Err != "" {
		h.abandonSet(e.Set.Number, e.Err)
		return
	}
	done := runreport.FileSet{Set: e.Set.Number, Point: e.Set.Cut, At: h.elapsed().Seconds()}
	for _, file := range e.Set.Files {
		done.Bytes += file.Bytes
	}
	h.propose(decision.Entry{Kind: decision.SetDone, Done: &done})
}

// setDone acts on the kept decision that a set is complete.
func (h *Head) setDone(done *runreport.FileSet) {
	h.detailf("checkpoint set %d is complete: safe point %d, %.1f MB", done.Set, done.Point, float64(done.Bytes)/1e6)
	h.setEnded(done.Set)
}

// setEnded passes on that recovery may have the next set written.
func (h *Head) setEnded(set uint64) {
	h.notify(func(d *recovery.Head, _ time.Duration) []recovery.Action {
		d.Published(set)
		return nil
	})
}

// abandonSet has the decision kept that a set will never be complete.
func (h *Head) abandonSet(set uint64, why string) {
	h.propose(decision.Entry{Kind: decision.SetAbandoned, Abandoned: &runreport.AbandonedSet{Set: set, Why: decision.Shorten(why)}})
}

// setAbandoned acts on that decision.
func (h *Head) setAbandoned(gone *runreport.AbandonedSet) {
	h.warnf("warning: checkpoint set %d is abandoned: %s", gone.Set, gone.Why)
	h.act(Discard{Dir: h.state.Opened.Write.Dir, Set: gone.Set})
	h.setEnded(gone.Set)
}
