package head

import (
	"slices"
	"strings"
	"time"

	"github.com/intrahpc/intra/internal/head/runreport"
	"github.com/intrahpc/intra/internal/job"
	"github.com/intrahpc/intra/internal/recovery"
)

// Summary describes a job at its end.
type Summary struct {
	Code      int
	Text      string        // why the job has failed, "" if it has not
	By        job.Endpoint  // the process whose end has ended the job, as far as this head knows; zero if the job ended for another reason
	Started   bool          // a process has been started
	Joined    time.Duration // when all processes had joined, on the clock of Step
	HasJoined bool
	Degrees   []int // replicas of each rank at the start
	Direct    []int // ranks whose replicas store into each other's arrays

	Failures  []runreport.Failure
	Kills     []runreport.Kill
	Weibull   *runreport.Weibull // nil: no random kills were requested
	Recovery  runreport.Recovery
	Files     *runreport.Checkpoint // nil: the job writes no files
	FirstSet  uint64                // the number of the first set of files that this job wrote
	Restart   *runreport.Restart    // nil: the job did not begin from files
	MPI       *runreport.MPI        // nil: the links are intrarun's own
	SDC       *runreport.Corruption // nil: no task was verified
	Flips     []runreport.Flip
	Diverge   *runreport.Diverge // nil: no states were compared
	Processes []Process
	Retired   bool // this head retired, and a successor may continue the job
}

// Process describes one process at the end of the job.
type Process struct {
	runreport.Process
	Stats job.Stats
	Tag   bool // the program was built with the intra tag, as far as this head knows
	Known bool // the process has joined, as far as this head knows
}

// Code returns the exit code of the job, or ExitOK if its end is not decided yet.
func (h *Head) Code() int {
	if h.outcome == nil {
		return ExitOK
	}
	return h.outcome.code
}

// Joined returns when all processes had joined, on the clock of Step. ok is false if they have
// not.
func (h *Head) Joined() (at time.Duration, ok bool) { return h.joinedAt, h.hasBegun }

// Summary returns a description of the job at this time.
func (h *Head) Summary() Summary {
	s := Summary{Code: h.Code(), Joined: h.joinedAt, HasJoined: h.hasBegun, Direct: h.members.direct, Retired: h.retired,
		Failures: append([]runreport.Failure{}, h.deaths.failures...), Kills: []runreport.Kill{}, Recovery: h.recoverySummary()}
	s.Degrees, s.Recovery.Degrees = h.degrees()
	if h.outcome != nil {
		s.Text, s.By = h.outcome.text, h.outcome.by
	}
	for i, k := range h.config.Kills {
		_, fired := h.state.Fired[i]
		s.Kills = append(s.Kills, runreport.Kill{Process: k.Process, When: k.When(), Fired: fired})
	}
	if w := h.config.Weibull; w != nil && h.hasBegun {
		s.Weibull = &runreport.Weibull{Shape: w.Shape, MTBF: w.MTBF.Seconds(), Seed: w.Seed, Injections: []runreport.Injection{}}
		for _, b := range h.state.Injections {
			if b.Incarnation > 0 {
				s.Weibull.Injections = append(s.Weibull.Injections, runreport.Injection{Process: b.Process, At: b.At.Seconds()})
			}
		}
	}
	if f := h.state.Opened; f != nil && f.Write != nil {
		s.Files, s.FirstSet = h.filesSummary(), f.First
	}
	if f := h.state.Opened; f != nil && f.Restart != nil {
		s.Restart = &runreport.Restart{Dir: f.Restart.Dir, Set: f.Restart.Number, Point: f.Restart.Cut, Refused: append([]string{}, f.Restart.Refused...)}
	}
	s.SDC, s.Flips = h.judge.corruption()
	s.Diverge = h.judge.divergence()
	s.MPI = h.members.mpiSummary()
	for _, m := range h.members.all {
		if m.pid != 0 {
			s.Started = true
		}
		if m.pid == 0 || m.role == Spare { // the process could not be started, or is an unused spare
			continue
		}
		p := Process{Process: runreport.Process{Process: m.process, Incarnation: m.incarnation, Host: m.node.Name, PID: m.pid, End: m.end, Clone: h.members.tool(m)}, Stats: m.stats}
		if m.exit != nil {
			p.Status = m.exit.Text
		}
		if m.hello != nil {
			p.Known, p.Tag = true, m.hello.Tag
		}
		s.Processes = append(s.Processes, p)
	}
	return s
}

func (h *Head) filesSummary() *runreport.Checkpoint {
	c := &runreport.Checkpoint{Dir: h.state.Opened.Write.Dir, Sets: []runreport.FileSet{}, Abandoned: []runreport.AbandonedSet{}}
	for _, set := range h.state.Sets {
		if set.Done != nil {
			c.Sets = append(c.Sets, *set.Done)
		}
		if set.Abandoned != nil {
			c.Abandoned = append(c.Abandoned, *set.Abandoned)
		}
	}
	return c
}

// recoverySummary returns the replacements, backups and rollbacks.
func (h *Head) recoverySummary() runreport.Recovery {
	r := runreport.Recovery{Replacements: []runreport.Replacement{}, Drains: h.leaves.summary(), Joins: h.joins(), Rollbacks: []runreport.Rollback{}}
	if !h.config.recovers() {
		return r
	}
	r.Spares = len(h.config.Spares)
	if b := h.config.Backup; b != (recovery.Policy{}) {
		r.Backup = &runreport.Backups{Every: b.String(), Complete: h.state.Backups, Last: h.state.Backup, Bytes: h.plan.bytes, Seconds: h.plan.seconds}
	}
	for _, j := range h.state.Replaced {
		if j.Left != 0 || h.grows(j) { // this move is part of a drain, or the process replaces no other
			continue
		}
		died := h.plan.diedAt(j)
		r.Replacements = append(r.Replacements, runreport.Replacement{Process: j.Process, Incarnation: j.Incarnation, Host: h.hostName(j.Node), Donor: j.Donor,
			SafePoint: j.Number, Bytes: j.Bytes, Died: died.Seconds(), Joined: j.At.Seconds(), Seconds: (j.At - died).Seconds()})
	}
	for _, b := range h.state.Rollbacks {
		back := runreport.Rollback{At: b.At.Seconds(), Lost: append([]int{}, b.Ranks...), Differed: b.Disputed, SafePoint: b.Number, Generation: b.Generation, Since: b.Since}
		if b.Resumed > 0 {
			back.Seconds = (b.Resumed - b.Since).Seconds()
		}
		if c := b.Blamed; c != nil {
			back.Blamed = &c.Process
		}
		r.Rollbacks = append(r.Rollbacks, back)
	}
	return r
}

// Conclude returns the final warnings to the user: requested faults that never happened,
// options that had no effect, and how to continue the job.
func (h *Head) Conclude() []Action {
	s := h.Summary()
	if s.Started && h.phase == released || h.outcome != nil {
		for i, k := range s.Kills {
			if !k.Fired {
				h.warnf("warning: -kill %v was never reached", h.config.Kills[i])
			}
		}
		for i, f := range s.Flips {
			if !f.Fired && h.config.Flips[i].Rate == 0 {
				h.warnf("warning: -fault %s was never reached", h.config.Flips[i].Fault())
			}
		}
		for _, a := range h.config.Again {
			if !slices.ContainsFunc(s.Processes, func(p Process) bool { return p.Process.Process == a.Process && a.Happened(p.Stats.SecondRuns) }) {
				h.warnf("warning: -fault %s was never reached", a.Fault())
			}
		}
		h.warnIdle()
	}
	if s.Files != nil && !h.retired && s.Code != ExitOK && s.Code != ExitDiverged {
		if n := len(s.Files.Sets); n > 0 {
			h.warnf("the state at safe point %d is on disk: -restart %s continues from there", s.Files.Sets[n-1].Point, h.config.Checkpoint.Dir)
		}
	}
	acts := h.acts
	h.acts = nil
	return acts
}

// warnIdle warns about options that had no effect because the program reached no safe point.
func (h *Head) warnIdle() {
	c := &h.config
	if h.recovery.decides == nil || h.plan.safe || h.state.Recovery.Cut > 0 || c.Restart != "" { // a restarted program begins at a safe point
		return
	}
	const why = "because the program reached no safe point (intra.SafePoint)"
	missed := len(h.deaths.failures) > 0 && c.replaces()
	if missed {
		h.warnf("warning: no process could be replaced, %s", why)
	}
	var idle []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"-replace", c.Replace && !missed},
		{"-spares", len(c.Spares) > 0 && !missed},
		{"-backup", c.Backup != (recovery.Policy{})},
		{"-checkpoint", c.Checkpoint != nil},
	} {
		if f.given {
			idle = append(idle, f.name)
		}
	}
	if len(idle) > 0 {
		h.warnf("warning: %s had no effect, %s", enumerate(idle), why)
	}
}

// enumerate returns the words as in "a, b and c".
func enumerate(all []string) string {
	if n := len(all) - 1; n > 0 {
		return strings.Join(all[:n], ", ") + " and " + all[n]
	}
	return all[0]
}
