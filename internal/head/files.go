package head

import (
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/base/checkpoint"
	"github.com/intrahpc/intra/internal/head/decision"
	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/recovery"
)

// This file contains the head's handling of checkpoint files. The first process that joins
// determines the job to which the files have to belong (welcome). Then the driver looks for
// the files. All processes wait for their slots until the result is kept.

// opened handles Opened, the driver's answer about the files of the job.
func (pl *plan) opened(e Opened) {
	if pl.phase != joining {
		return
	}
	if e.Err != "" { // the processes still wait for their slots, and have done nothing wrong
		pl.stop(ExitRefused, "the job is refused: "+strings.ReplaceAll(e.Err, "\n", "; "), atOnce)
		return
	}
	if r := e.Found.Restart; r != nil {
		for _, why := range r.Refused {
			pl.warnf("warning: %s", why)
		}
	}
	pl.propose(decision.Entry{Kind: decision.Opened, Opened: e.Found})
}

// foundFolders acts on the kept answer about the files: the processes that have joined get
// their slots.
func (pl *plan) foundFolders() {
	if r := pl.state.Opened.Restart; r != nil {
		of := ""
		if r.Job.Run != "" {
			of = ", of the job begun " + checkpoint.Begun(r.Job.Run)
		}
		pl.warnf("the job continues from safe point %d, set %d of %s%s", r.Cut, r.Number, r.Dir, of)
		if r.Rebuilt {
			pl.warnf("warning: the program was built anew since set %d was written: its state must mean the same", r.Number)
		}
	}
	if pl.phase != joining {
		return
	}
	if pl.config.recovers() {
		pl.recovery.decides = recovery.NewHead(pl.members.recoveryConfig())
		for _, v := range pl.state.Verdicts {
			if m := pl.members.holder(v.Process, v.Incarnation); !m.vacant() {
				pl.died(m)
			}
		}
		pl.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
			pl.recovery.together = false
			return d.Conclude(now)
		})
	}
	for _, m := range pl.members.all {
		if m.state == joined {
			pl.members.assign(m)
		}
	}
	pl.members.startIfReady()
}

// keepSet proposes the decision that every rank has its file of a set. Once that is kept, the
// set is made complete.
func (pl *plan) keepSet(a recovery.Action) {
	if i := slices.IndexFunc(pl.state.Sets, func(s decision.Set) bool { return s.Number == a.Set }); i >= 0 { // an earlier head has proposed it
		pl.publish(&pl.state.Sets[i])
		return
	}
	pl.propose(decision.Entry{Kind: decision.SetWhole, Set: &decision.Set{Number: a.Set, Cut: a.Cut, Files: a.Files}})
}

// publish orders the driver to complete a set in the background. The job does not end before
// the driver has answered.
func (pl *plan) publish(s *decision.Set) {
	pl.publishing++
	f := pl.state.Opened.Write
	pl.act(Publish{Dir: f.Dir, Set: &checkpoint.Set{Job: f.Job, Number: s.Number, Cut: s.Cut, Files: s.Files}})
}

// published handles the driver's answer: the set is complete, or could not be completed.
func (pl *plan) published(e Published) {
	pl.publishing--
	if e.Err != "" {
		pl.abandonSet(e.Set.Number, e.Err)
		return
	}
	done := runreport.FileSet{Set: e.Set.Number, Point: e.Set.Cut, At: pl.elapsed().Seconds()}
	for _, file := range e.Set.Files {
		done.Bytes += file.Bytes
	}
	pl.propose(decision.Entry{Kind: decision.SetDone, Done: &done})
}

// setDone acts on the kept decision that a set is complete.
func (pl *plan) setDone(done *runreport.FileSet) {
	pl.detailf("checkpoint set %d is complete: safe point %d, %.1f MB", done.Set, done.Point, float64(done.Bytes)/1e6)
	pl.setEnded(done.Set, true)
}

// setEnded reports to recovery that the next set may be written, and whether this one is complete.
func (pl *plan) setEnded(set uint64, complete bool) {
	pl.recovery.notify(func(d *recovery.Head, now time.Duration) []recovery.Action {
		d.Published(set, complete)
		return d.Conclude(now)
	})
}

// abandonSet proposes the decision that a set will never be complete.
func (pl *plan) abandonSet(set uint64, why string) {
	pl.propose(decision.Entry{Kind: decision.SetAbandoned, Abandoned: &runreport.AbandonedSet{Set: set, Why: decision.Shorten(why)}})
}

// setAbandoned acts on the kept decision that a set will never be complete.
func (pl *plan) setAbandoned(gone *runreport.AbandonedSet) {
	pl.warnf("warning: checkpoint set %d is abandoned: %s", gone.Set, gone.Why)
	pl.act(Discard{Dir: pl.state.Opened.Write.Dir, Set: gone.Set})
	pl.setEnded(gone.Set, false)
}
