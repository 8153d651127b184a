package head

import (
	"strings"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file is the head's part in checkpoint files. Of which job they are is
// known once the first process has joined; until it is kept what was found,
// processes wait for their places.

// unopened reports whether it is unknown with which files the job begins.
func (h *Head) unopened() bool { return h.config.readsFiles() && h.state.Opened == nil }

// open has the driver look for files.
func (h *Head) open(hello *job.Hello) {
	if !h.opening {
		h.opening = true
		h.act(Open{hello.Files(len(h.config.Degrees))})
	}
}

// opened: this was found.
func (h *Head) opened(e Opened) {
	if h.phase != joining {
		return
	}
	if e.Err != "" { // the processes still wait for their places, and are not to blame
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

// foundFolders: it is kept what was found, so processes can have their places.
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

// describeFiles adds to what a process is told of its place.
func (h *Head) describeFiles(s *job.Setup) {
	f := h.state.Opened
	if f == nil {
		return
	}
	if s.Files = f.Write; !s.Joiner && f.Restart != nil {
		s.Restart = f.Restart.Setup()
	}
}

// keepSet has it kept that every rank has its file of a set, before the set is
// made complete.
func (h *Head) keepSet(a recovery.Action) {
	if s := h.set(a.Set); s != nil { // it is, by another head
		h.publish(s)
		return
	}
	h.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})
}

// set returns what is known of a set, nil if nothing is.
func (h *Head) set(number uint64) *decision.Set {
	for i := range h.state.Sets {
		if h.state.Sets[i].Number == number {
			return &h.state.Sets[i]
		}
	}
	return nil
}

// publish makes a set complete, beside what the head does otherwise. The job
// does not end before.
func (h *Head) publish(s *decision.Set) {
	h.publishing++
	f := h.state.Opened.Write
	h.act(Publish{Dir: f.Dir, Set: &checkpoint.Set{Job: f.Job, Number: s.Number, Cut: s.Cut, Files: s.Files}})
}

// published: a set is complete, or could not be made so.
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

// setDone: it is kept that a set is complete.
func (h *Head) setDone(done *runreport.FileSet) {
	h.detailf("checkpoint set %d is complete: safe point %d, %.1f MB", done.Set, done.Point, float64(done.Bytes)/1e6)
	h.notify(news{kind: newsPublished, set: done.Set})
}

// abandonSet has it kept that a set will never be complete.
func (h *Head) abandonSet(set uint64, why string) {
	h.propose(decision.Entry{Kind: decision.SetAbandoned, Abandoned: &runreport.AbandonedSet{Set: set, Why: decision.Shorten(why)}})
}

// setAbandoned: that is kept.
func (h *Head) setAbandoned(gone *runreport.AbandonedSet) {
	h.warnf("warning: checkpoint set %d is abandoned: %s", gone.Set, gone.Why)
	h.act(Discard{Dir: h.state.Opened.Write.Dir, Set: gone.Set})
	h.notify(news{kind: newsPublished, set: gone.Set})
}
